"""Text at the lane's speed: what a dialect prints of many records, written by compiled code from templates.

A template is learned from the dialect itself, by what it prints of probes, and proves itself on others; a class of records whose
template does not is printed by the dialect, record by record. So no rule about what is printed stands here.
"""

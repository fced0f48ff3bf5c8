"""Text at the lane's speed: compiled code writes a dialect's text of many records from templates.

A template is learned from what the dialect prints of some probes, and tested on others; a class of records whose template fails is
printed by the dialect, record by record. So this folder has no rules about what is printed.
"""

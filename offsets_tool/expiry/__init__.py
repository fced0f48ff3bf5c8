"""When committed offsets expire, which of them were removed, and why.

The rules follow the broker's release and a policy; removals are facts of the log, their causes are derived from both.
"""

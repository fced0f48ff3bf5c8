"""How far behind a committed offset was, in offsets and in time: end offsets, lag, time lag.

Every number says how it is known. Plain functions over sequences in the order of time, one partition of a topic at a time.
"""

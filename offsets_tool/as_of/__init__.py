"""State at a moment of the log: what counts up to a time or end offsets, and views of groups, members, offsets and transactions.

Receives decoded events, and knows nothing of the files that they came from.
"""

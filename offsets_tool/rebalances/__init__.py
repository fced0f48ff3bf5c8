"""Rebalances of groups: what each changed, why it came to be and how long it took, from the histories of one group.

Rows only, no live state and no sentences: findings and stories tell what is known here, the command and the lake show it.
"""

"""Rebalances of groups: what each changed, why it happened and how long it took, from the histories of one group.

It reads rows only, not the state, and makes no sentences: findings, stories, the command and the lake do.
"""

"""Findings about groups and their members: rebalances, members that died, partitions without an owner, conversions."""

"""Tombstones of offsets in a replay for histories and removals: those of one write go at once."""

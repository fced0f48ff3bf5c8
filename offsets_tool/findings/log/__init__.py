"""Findings about the log itself: clocks, misplaced groups, records that are unknown or contradict each other."""

"""Findings about transactions that commit offsets: how they ended, or that they did not."""

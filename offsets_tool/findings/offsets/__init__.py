"""Findings about committed offsets: lost, moved, standing still, written too often."""

"""Benchmarks against peers: inputs from a seed, ours and the peers in one run, equal results first, then a table of medians.

Run by `make bench`; not part of the wheel. Nothing in the toolkit imports it.
"""

"""Replay of one log partition: decoded events go in, changes come out, and the coordinator's state is known at any position.

Knows no files, commands or tables.
"""

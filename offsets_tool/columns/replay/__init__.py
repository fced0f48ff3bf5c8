"""Replay and histories of many records at a time: commits, markers and tombstones by column, others one at a time."""

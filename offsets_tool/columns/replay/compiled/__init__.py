"""Compiled: the state of a replay by column in tables, and the code that replays runs of rows."""

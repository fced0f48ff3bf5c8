"""Replay and histories of many records at a time: plain commits by column, everything else one at a time by the reference."""

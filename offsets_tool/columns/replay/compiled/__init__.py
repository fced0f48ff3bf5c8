"""Compiled: what a replay by column holds, and runs of rows that change it."""

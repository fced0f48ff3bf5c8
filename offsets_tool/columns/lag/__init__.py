"""Lag many at a time: rows of offset histories and samples of ends in, columns of `lag` out.

Decides nothing that offsets_tool.lag does not.
"""

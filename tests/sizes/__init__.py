"""Tests of offsets_tool.sizes."""

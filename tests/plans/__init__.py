"""Tests of offsets_tool/plans/."""

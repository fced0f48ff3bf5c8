"""Gather the review of a lake from its tables, as `offsets_tool.review` does for a log. Starts no Spark."""

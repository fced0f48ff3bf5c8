"""The review of a lake: what `offsets_tool.review` gathers of a log, from the lake's tables. Starts no Spark."""

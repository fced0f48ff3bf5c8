"""Streams: micro-batches of what a folder or a live topic has gained, each brought through all jobs of the lake."""

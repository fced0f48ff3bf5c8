"""Forensics for Kafka's `__consumer_offsets`: read it, decode it, replay it, ask what held at a moment."""

__version__ = "0.1.0"

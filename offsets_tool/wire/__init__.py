"""Bytes <-> values. Declarations (schema) and what is derived from them: codec (walk), Kafka's JSON (json), Arrow types (arrow).

Knows nothing about groups, topics or logs.
"""

"""Kafka's assignors: which member gets which partition, computed again or held against what each assignor guarantees.

Knows subscriptions and partitions by name, and nothing of records, logs or replay.
"""

"""Kafka's assignors: which member gets which partition, computed again, or audited by what each assignor guarantees.

Knows subscriptions and partitions by name, and nothing of records, logs or replay.
"""

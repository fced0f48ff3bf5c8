"""Compiled: from a value's bytes to Kafka's own JSON, by small programs that are made from the declarations."""

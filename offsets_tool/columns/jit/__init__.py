"""Compiles functions to machine code, keeps it in files and loads it, and has the instructions of the machine. Knows no Kafka."""

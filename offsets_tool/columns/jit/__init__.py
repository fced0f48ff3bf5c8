"""How machine code is made, kept and found again, and what compiled code asks of the machine. Knows nothing of Kafka."""

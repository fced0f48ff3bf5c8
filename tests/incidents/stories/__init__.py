"""The incidents, by what went wrong: offsets that went, offsets that moved, members, epochs, transactions, commits, and nothing."""

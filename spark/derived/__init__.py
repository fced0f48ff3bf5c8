"""The jobs that derive tables from histories and checkpoints: ends, lag, expiry."""

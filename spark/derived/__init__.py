"""Tables that are derived from histories and checkpoints: ends, lag, expiry."""

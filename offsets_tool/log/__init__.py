"""Where LogRecords come from: segments, broker directories, archives, live topics. Knows nothing about keys and values."""

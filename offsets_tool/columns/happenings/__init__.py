"""What happened to committed offsets in a log partition, by column, and its lines in JSON."""

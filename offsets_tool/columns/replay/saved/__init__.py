"""What a replay by column saves of its tables in a checkpoint."""

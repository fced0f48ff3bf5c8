"""Several copies of one partition's log: which branch they are on, what each has, and the one log that they make together."""

"""The way back to a moment, for a person to review and to run: what would be set, what speaks against it, and Kafka's own commands.

Nothing here runs anything or writes to a cluster.
"""

"""The way from events to histories: what becomes of committed offsets as a set computation, not one record at a time."""

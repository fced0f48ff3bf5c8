"""What the coordinator of one log partition believed: events in, changes out, state at any position."""

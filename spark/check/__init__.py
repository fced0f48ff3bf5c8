"""Check a lake against itself, from its files alone: what is not as it must be, and the command that mends it. Changes nothing."""

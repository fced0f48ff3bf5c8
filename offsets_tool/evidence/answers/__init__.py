"""Answers that take the evidence otherwise than by one replay to one moment."""

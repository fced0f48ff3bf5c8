"""Parses the texts that name a moment, and notes what to know about the moment that was replayed to."""

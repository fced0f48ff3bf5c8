"""Incidents made with real brokers: what was done to them, what a user would complain about, and what must be found.

`python -m tests.incidents [NAME...] --into FOLDER` makes them again; fixtures/incidents holds what it made.
"""

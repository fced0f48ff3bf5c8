"""What Changes of one log partition become: rows that hold from one record of the log to another, and who owned what when.

Knows no sources, and no rules of expiry.
"""

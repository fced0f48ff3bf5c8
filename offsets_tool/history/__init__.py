"""Changes of one log partition as rows that hold from one record of the log to another, and who owned which partition when.

Knows no sources, and no rules of expiry.
"""

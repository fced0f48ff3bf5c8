"""Histories of one log partition: rows that hold from one record to another, and rows of who owned which partition when.

Knows no sources, and no rules of expiry.
"""

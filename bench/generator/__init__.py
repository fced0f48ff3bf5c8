"""Logs as brokers write them, made from a seed: what clients and coordinators commit, framed in batches.

Knows nothing of who reads them, and is no part of any measured time.
"""

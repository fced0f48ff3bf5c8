"""Bytes of batches to LogRecords: headers, checksums, compression, every magic; and what of them cannot be right.

Knows no files.
"""

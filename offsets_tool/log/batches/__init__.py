"""Bytes of batches to LogRecords: headers, checksums, compression, every magic; and batches that are misplaced.

Knows no files.
"""

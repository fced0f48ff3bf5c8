"""Files of evidence: opened, read at a position, decompressed, found in tars; and the small files that Kafka keeps beside a log.

Knows no batches.
"""

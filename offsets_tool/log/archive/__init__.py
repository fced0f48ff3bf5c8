"""Archives of the topic: what someone exported from it as JSON lines, Parquet or Delta, read as LogRecords.

files.py finds them, lines.py and read.py yield their rows, columns.py makes a record of a row, read.py counts rows and records.
Imports none of them: who only looks for archives does not pay for Arrow.
"""

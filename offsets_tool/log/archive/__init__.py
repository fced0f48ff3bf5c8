"""Archives of the topic: what someone exported from it as JSON lines, Parquet or Delta, read as LogRecords.

files.py finds them, tables.py and lines.py give their rows, columns.py makes a row a record, read.py counts what becomes of each.
Imports none of them: who only looks for archives does not pay for Arrow.
"""

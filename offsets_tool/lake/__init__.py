"""A lake for its readers, with any engine: its tables, which of their rows count, and what is wrong with its files.

Writes nothing, and knows no engine: Spark's jobs, and the commands that query a lake without Spark, use it.
"""

"""Questions in SQL to a lake, answered by DuckDB in this process: no JVM, and nothing of the extra `spark`.

Queries and views are Spark's SQL, translated; what is not known to mean the same in both is refused, never guessed.
"""

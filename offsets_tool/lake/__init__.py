"""A lake as its readers see it, whichever engine asks: its tables, which of their rows count, and what is wrong with its files.

Writes nothing, and knows no engine: Spark's jobs and the commands that ask without it stand on this.
"""

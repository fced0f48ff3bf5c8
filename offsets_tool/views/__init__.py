"""The lake's views as SQL text, with the meaning of their columns. Knows no Spark and no session."""

"""The lake's views as SQL text, and what their columns mean. Knows no Spark and no session."""

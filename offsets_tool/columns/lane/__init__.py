"""The fast lane: compiled code from the bytes of magic 2 batches to tables. It may decline, never decide.

A batch, record or value that it does not finish is handed to the reference reader, which reads it or says exactly why not; so the
lane holds no error text and no corner case, and knows of UTF-8 only what has no fault. It differs in speed and never in meaning.
"""

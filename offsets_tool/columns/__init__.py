"""The verbs of the library on many records at a time: Arrow batches in, Arrow batches out. The only home of numpy and numba."""

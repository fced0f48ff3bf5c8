"""Benchmarks of the lake: ingests, all jobs, nights, many clusters, and memory."""

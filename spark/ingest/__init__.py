"""The ingest job: sources become rows of `log`, `events` and `sources`, incrementally and exactly once."""

"""The replay job: events of a lake become histories, anomalies and removals, incrementally and exactly once."""

"""Findings of an evidence: it is opened and replayed by evidence, and what is found is decided by offsets_tool.findings."""

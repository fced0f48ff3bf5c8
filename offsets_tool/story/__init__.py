"""What happened to a group, in sentences: its story from its rows and findings, its state, and the verdict. Opens no source.

The command line, notebooks and reports print these same sentences; names stay as they were decoded, whoever shows them makes them
visible.
"""

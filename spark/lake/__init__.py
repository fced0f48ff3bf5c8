"""The tables of a lake: declared, read, written, committed, compacted; and what their failures mean."""

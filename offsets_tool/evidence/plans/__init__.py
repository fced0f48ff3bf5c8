"""The way back to a moment: the evidence is replayed to it and to its end, and offsets_tool.plans says what is to be done."""

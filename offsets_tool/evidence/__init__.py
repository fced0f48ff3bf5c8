"""What a command or a notebook opens: sources, what of them is asked for, the replay of them, and where data partitions end.

Gives events, states and rows, and sentences for people as values or to a listener. Parses no options and prints nothing.
"""

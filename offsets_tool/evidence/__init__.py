"""Opens the sources of a command or notebook, filters and replays them, and finds the ends of data partitions.

It returns events, states and rows, and passes sentences for people to a listener. Parses no options and prints nothing.
"""

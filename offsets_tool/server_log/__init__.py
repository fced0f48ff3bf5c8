"""The broker's own log: lines of its coordinators as typed entries, joined with the records by group, number, member and time.

Reads only the files it is given; nothing here is believed that the records contradict. Knows no finding and no sentence of a story.
"""

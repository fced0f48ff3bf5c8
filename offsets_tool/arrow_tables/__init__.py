"""Evidence as Arrow tables, for notebooks and other programs: its files, its records, and what commands show of them.

Tables are held in memory whole; what is larger belongs in a lake.
"""

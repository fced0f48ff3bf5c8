"""What Kafka writes to `__consumer_offsets`: a module of declarations for each kind of group, and `kinds`, which has the table of
record types and the releases. Nothing here reads or writes a byte.
"""

from offsets_tool.records.kinds import RECORD_TYPES, Layout, RecordType

__all__ = ["RECORD_TYPES", "Layout", "RecordType"]

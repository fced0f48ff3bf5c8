"""What a coordinator appends: records in Kafka's terms, before they have bytes or an offset. Knows declarations, no rules."""

from typing import Any, Final, NamedTuple
from uuid import UUID

from offsets_tool.events import Key, Value, encode_key, encode_value
from offsets_tool.records import RECORD_TYPES

TOPICS: Final = {
    name: UUID(bytes=bytes([number]) * 16) for number, name in enumerate(("a", "b", "orders"), 1)
}
PARTITIONS: Final = 3
Unit = tuple[int, int]
"""A partition of the nth topic, or a task of the nth subtopology."""
UNITS: Final = tuple((place, partition) for place in range(len(TOPICS)) for partition in range(PARTITIONS))


class Write(NamedTuple):
    """A record of a type: key message, value message (None: tombstone), value version."""

    type: int
    key: Any
    value: Any = None
    version: int = 0

    def encoded(self) -> tuple[bytes, bytes | None]:
        """Return the bytes of key and value."""
        key = encode_key(Key(RECORD_TYPES[self.type], self.key))
        return key, None if self.value is None else encode_value(Value(self.version, "", self.value))

    def tombstone(self) -> "Write":
        """The record that deletes this one's key."""
        return self._replace(value=None)


def write(record_type: int, value: Any = None, version: int = 0, **key: Any) -> Write:
    """Return a record to append, by its type's number and the fields of its key."""
    return Write(record_type, RECORD_TYPES[record_type].key(**key), value, version)


def by_place(units: set[Unit]) -> dict[int, tuple[int, ...]]:
    """Return ascending partitions by topic or subtopology."""
    return {
        place: tuple(sorted(partition for at, partition in units if at == place))
        for place in sorted({place for place, _ in units})
    }

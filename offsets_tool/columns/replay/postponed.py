"""Values of groups that a replay to a state puts off: by then, later ones have replaced what most of them did.

Each handler states which values a value replaces (replay.handling.Replaces).
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from offsets_tool.events import Value
from offsets_tool.records.kinds import RECORD_TYPES, RecordType
from offsets_tool.replay.coordinator import REPLAYS
from offsets_tool.replay.handling import Replaces

_LEAST: Final = 64
"""For so many bytes a record counts besides its value: about those of its key."""
_FEW: Final = 64
"""So many records of a group are kept without a look at what they replace."""
_MOST_BYTES: Final = 32 << 20
"""Bytes of all records that are put off, at most; memory stays flat however many groups there are."""
_FACTS: Final = frozenset(
    type_id for type_id, handling in REPLAYS.items() if handling.replaces is Replaces.FACT
)
_WHOLE: Final = frozenset(
    type_id for type_id, handling in REPLAYS.items() if handling.replaces is Replaces.GROUP
)


class WaitingRecord(NamedTuple):
    """A record that was put off: its type, its key (equal for equal ones), its raw value, and what its replay needs besides."""

    type_id: int
    key: Hashable
    value: bytes
    facts: Any


def _size(records: Iterable[WaitingRecord]) -> int:
    """Return about how many bytes records take."""
    return sum([_LEAST + len(record.value) for record in records])


class _OfGroup:
    """The records of one group, in their order, and how many there may be before those that are replaced are dropped."""

    __slots__ = ("most", "records")

    def __init__(self) -> None:
        self.records: list[WaitingRecord] = []
        self.most = _FEW


class WaitingRecords:
    """Records of groups that are replayed later, but for those that make no difference by then."""

    def __init__(self, decode: Callable[[RecordType, bytes], Value]) -> None:
        """Start without records; `decode` does as events.decode_value."""
        self._decode = decode
        self._groups: dict[str, _OfGroup] = {}
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether the records take so many bytes that all are due; memory stays flat however many groups there are."""
        return self._bytes > _MOST_BYTES

    def groups(self) -> list[str]:
        """Return the groups that records wait for."""
        return list(self._groups)

    def add(self, group: str, records: Sequence[WaitingRecord]) -> None:
        """Add records of a group, in their order: of such as are the whole group, one."""
        of_group = self._groups.get(group)
        if of_group is None:
            of_group = self._groups[group] = _OfGroup()
        if records[0].type_id in _WHOLE:
            self._bytes -= _size(of_group.records)
            of_group.records.clear()
        of_group.records += records
        self._bytes += _size(records)
        if len(of_group.records) > of_group.most:
            self._drop_replaced(of_group)

    def pop(self, group: str) -> list[WaitingRecord]:
        """Return what is due of a group, in order, once."""
        of_group = self._groups.pop(group, None)
        if of_group is None:
            return []
        self._drop_replaced(of_group)
        self._bytes -= _size(of_group.records)
        return of_group.records

    def _drop_replaced(self, of_group: _OfGroup) -> None:
        """Drop the records that make no difference to the state after the last one."""
        records = of_group.records
        before = _size(records)
        changed = self._last_change(records)
        # In the order in which keys came first: members stay in the order of coming.
        newest = {record.key: record for record in records[:changed]}
        of_group.records = [*newest.values(), *records[changed:]]
        of_group.most = max(_FEW, 4 * len(of_group.records))
        self._bytes += _size(of_group.records) - before

    def _last_change(self, records: list[WaitingRecord]) -> int:
        """Return the place of the last record that surely changes its group; 0 if there is none.

        What comes before it makes no difference to the group's log offset, which is that of its last change.
        """
        newest: dict[Hashable, int] = {}
        replaced: list[tuple[int, int]] = []
        for place, record in enumerate(records):
            if record.type_id in _FACTS:
                if record.key in newest:
                    replaced.append((newest[record.key], place))
                newest[record.key] = place
        for earlier, place in reversed(replaced):
            before, after = records[earlier], records[place]
            if before.value != after.value and self._value(before) != self._value(after):
                return place
        return 0

    def _value(self, record: WaitingRecord) -> Value:
        return self._decode(RECORD_TYPES[record.type_id], record.value)

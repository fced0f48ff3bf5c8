"""Records of groups that a replay to a state puts off: by then, later records have replaced what most of them did.

Each handler states which values a value replaces (replay.handling.Replaces). Only values are put off, not tombstones, and only
where nothing else happens to their group among the same rows. Anomalies between them (a generation that goes back) are not
reported.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import are_there, encoded, flags, numbers, plain
from offsets_tool.columns.replay.groups.counted_members import CountedMembers
from offsets_tool.columns.replay.groups.group_keys import GroupKey, GroupKeys
from offsets_tool.columns.replay.row_events import PLACE, RAW, RowEvents
from offsets_tool.events import Event, Value
from offsets_tool.records.classic import GroupMetadataValue
from offsets_tool.records.kinds import CLASSIC_TYPES, COMMITS, RECORD_TYPES, Family, RecordType
from offsets_tool.replay.changes import Member
from offsets_tool.replay.coordinator import REPLAYS, Coordinator
from offsets_tool.replay.handling import Replaces, ValueRules
from offsets_tool.replay.rules import FIRST_JOIN, Rules
from offsets_tool.replay.state import State
from offsets_tool.rows import NO_PRODUCER_ID
from offsets_tool.wire.json import camel, render
from offsets_tool.wire.schema import schema_of
from offsets_tool.wire.text import from_shown

_FAMILIES: Final = tuple(Family)
_TYPES: Final = max(RECORD_TYPES) + 1
_OF_KEY: Final = ("record_type", "group", "value_version", "problem")
_OF_BATCH: Final = ("is_transactional", "is_control", "producer_id", "sequence")
_LOG_OFFSET: Final = PLACE.index("log_offset")
_KEY: Final = len(PLACE) + RAW.index("key")
_LEAST: Final = 64
"""For so many bytes a record counts besides its value: about those of its key."""
_FEW: Final = 64
"""So many records of a group are kept without a look at what they replace."""
_MOST_BYTES: Final = 32 << 20
"""Bytes of all records that are put off, at most; memory stays flat however many groups there are."""


def _json_beginning(cls: type, facts: Mapping[str, object]) -> str:
    """Return how the JSON of a value begins that has these facts; TypeError if they are not its first fields."""
    names = [field.name for field in schema_of(cls).fields[: len(facts)]]
    if set(names) != set(facts):
        raise TypeError(f"{', '.join(facts)} are not the first fields of {cls.__name__}")
    return "{" + "".join(f"{render(camel(name))}:{render(facts[name])}," for name in names)


_FIRST_JOIN: Final = _json_beginning(GroupMetadataValue, FIRST_JOIN)
"""The first characters of the JSON of a classic group as only a new coordinator writes it."""


def _by_type(of: Mapping[int, int]) -> Array:
    """Return numbers by record type, -1 where there is none; the last line is for rows without a type that is known."""
    found: Array = np.full(_TYPES + 1, -1, np.int64)
    found[list(of)] = list(of.values())
    return found


_REPLACES: Final = _by_type({type_id: handling.replaces.value for type_id, handling in REPLAYS.items()})
_FACTS: Final = frozenset(
    type_id for type_id, handling in REPLAYS.items() if handling.replaces is Replaces.FACT
)
_WHOLE: Final = frozenset(
    type_id for type_id, handling in REPLAYS.items() if handling.replaces is Replaces.GROUP
)
_FAMILY: Final = _by_type({type_id: _FAMILIES.index(of.family) for type_id, of in RECORD_TYPES.items()})
_CLASSIC: Final = _FAMILIES.index(Family.CLASSIC)
_IS_NEW: Final = np.isin(np.arange(_TYPES + 1), [each for each in RECORD_TYPES if each not in CLASSIC_TYPES])
_IS_COMMIT: Final = np.isin(np.arange(_TYPES + 1), list(COMMITS))


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


class _Value(NamedTuple):
    """A value of a group, how it is replayed, and the log offset of its record."""

    key: GroupKey
    rules: ValueRules
    value: Value
    log_offset: int


class Postponed:
    """The records of groups that wait for their replay by a coordinator."""

    def __init__(self, coordinator: Coordinator, events: RowEvents) -> None:
        """Start without records; `events` makes events of them, and may make those of others."""
        self._coordinator = coordinator
        self._waiting = WaitingRecords(events.values.read)
        self._events = events
        self._keys = GroupKeys(events.key)

    def take(self, rows: pa.RecordBatch, places: Array, doubtful: Array) -> tuple[Array, list[Event]]:
        """Put off those rows at the indices `places` that can wait, none of them a commit with a value that was understood.

        Rows that are `doubtful`, of all rows, have to be replayed one at a time.
        Return the indices of these rows, and the events that have to be replayed before the other rows.
        """
        events = list(self.rest()) if self._waiting.is_full else []
        few = rows.select((*_OF_KEY, *_OF_BATCH)).take(pa.array(places))
        types = numbers(few.column("record_type"), _TYPES)
        types = np.where((types >= 0) & (types < _TYPES), types, _TYPES)
        groups = encoded(few.column("group"))
        codes, shown = numbers(groups.indices, -1), groups.dictionary
        may = self._may_wait(few, types, codes) & ~doubtful[places]
        if self._is_unproved:
            may &= self._proves_nothing(few, types, codes, rows.column("value_json"), places)
        others = np.unique(codes[~may & ~_IS_COMMIT[types]])
        for code in others[others >= 0].tolist():
            events += self.pop(shown[code].as_py())
        order = np.flatnonzero(may & ~np.isin(codes, others))
        order = order[np.argsort(codes[order], kind="stable")]
        taken, waiting = [order[:0]], [order[:0]]
        for run in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else ():
            group, families = shown[int(codes[run[0]])].as_py(), set(_FAMILY[types[run]].tolist())
            first = 0
            if not self._is_there(group, families):
                events += self.pop(group)
                # The first record makes the group what the others take it for.
                first = 1 if len(families) == 1 else len(run)
            taken.append(run[first:])
            waiting.append(run[max(first, len(run) - 1) :] if _CLASSIC in families else run[first:])
        self._add(rows, places, np.sort(np.concatenate(waiting)), types)
        return places[np.concatenate(taken)], events

    @property
    def _is_unproved(self) -> bool:
        return self._coordinator.auto and self._coordinator.proved_at is None

    def _may_wait(self, few: pa.RecordBatch, types: Array, groups: Array) -> Array:
        """Return which rows are values that can be put off, as truth values; `groups` has the number of each row's group, or -1."""
        may: Array = (_REPLACES[types] > Replaces.NOTHING.value) & (groups >= 0)
        may &= are_there(few.column("value_version")) & ~are_there(few.column("problem"))
        may &= ~flags(few.column("is_transactional")) & ~flags(few.column("is_control"))
        may &= numbers(few.column("producer_id"), NO_PRODUCER_ID) == NO_PRODUCER_ID
        if not self._is_unproved and self._coordinator.rules is not Rules.NEW:
            may &= ~_IS_NEW[types]
        return may

    def _proves_nothing(
        self, few: pa.RecordBatch, types: Array, groups: Array, json: pa.Array, places: Array
    ) -> Array:
        """Return which rows prove nothing of the rules, as truth values: what proves the new coordinator is seen where it stands.

        `json` is the JSON of the values of all rows, which is long: it stays where it is.
        """
        is_new = _IS_NEW[types]
        sequenced = numbers(few.column("sequence"), -1) >= 0
        joins = flags(pc.starts_with(json, _FIRST_JOIN))[places]
        proves_nothing: Array = is_new | ~(sequenced | joins)
        proves_nothing[np.flatnonzero(is_new & (groups >= 0))[:1]] = False
        return proves_nothing

    def _is_there(self, group: str, families: set[int]) -> bool:
        """Return whether State has a group, and it is of the one family."""
        known = self._coordinator.state.groups.get(from_shown(group))
        return known is not None and [known.kind.value] == [_FAMILIES[each].value for each in families]

    def _add(self, rows: pa.RecordBatch, places: Array, waiting: Array, types: Array) -> None:
        found = rows.select(("group", *PLACE, *RAW)).take(pa.array(places[waiting]))
        groups, *columns = (plain(column).to_pylist() for column in found.columns)
        *_, keys, values = columns
        facts = zip(*columns, strict=True)
        records = map(WaitingRecord, types[waiting].tolist(), keys, values, facts)
        for group, record in zip(groups, records, strict=True):
            self._waiting.add(group, [record])

    def pop(self, group: str) -> Iterator[Event]:
        """Replay what is due of a group, once; yield the events that the caller has to replay instead."""
        records = self._waiting.pop(group)
        if records and not self._replay_values(from_shown(group), records):
            yield from (self._events.event(record.facts) for record in records)

    def rest(self) -> Iterator[Event]:
        """Replay all that is due, once, group by group; yield the events that the caller has to replay instead."""
        for group in self._waiting.groups():
            yield from self.pop(group)

    def _replay_values(self, name: str, records: list[WaitingRecord]) -> bool:
        """Replay the values of a group at once, if it is there and of their kind; return whether it is."""
        group = self._coordinator.state.groups.get(name)
        if group is None or self._coordinator.rules is not Rules.NEW:
            return False
        values = []
        for record in records:
            key = self._keys.of(record.facts[_KEY])
            if key is None or key.rules is None or key.rules.kind is not group.kind:
                return False
            value = self._events.values.read(key.type, record.value)
            values.append(_Value(key, key.rules, value, record.facts[_LOG_OFFSET]))
        _replay_values(self._coordinator.state, name, values)
        return True


def _replay_values(state: State, name: str, values: Iterable[_Value]) -> None:
    """Replay values of a group that is there, all of its kind: to what Coordinator.replay makes of them one by one."""
    members = state.members.get(name, _NOBODY)
    counted = CountedMembers(members)
    before = state.groups[name]
    for key, rules, value, log_offset in values:
        known = members.get(key.member_id)
        replayed = rules.replayed(before, known, key.data, value)
        if replayed is None:
            continue
        group, member = replayed
        if member is not None:
            state.put_member(name, key.member_id, member)
            members = state.members[name]
            counted.put(members, key.member_id, known, member)
        after = counted.changed_group(before, group, rules, log_offset)
        if after is not None:
            before = state.groups[name] = after


_NOBODY: Final[Mapping[str, Member]] = {}

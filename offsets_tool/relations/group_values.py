"""The records of a chunk that may change groups; of them the values with which nothing else was written of their group.

Where only the state counts, the last values of a group wait: of a chunk nothing else of that group comes behind them.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from heapq import heappop, heappush
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.columns_of_rows import (
    are_there,
    batches,
    bytes_at,
    encoded,
    flags,
    numbers,
    plain,
    tuples_of,
)
from offsets_tool.events import Event
from offsets_tool.expiry.log_facts import TypeVersion
from offsets_tool.records.kinds import Family
from offsets_tool.relations.group_keys import GroupKey, KeyOf
from offsets_tool.relations.offsets import Holdings, order_of
from offsets_tool.relations.row_events import PLACE, log_record
from offsets_tool.relations.subjects import Names
from offsets_tool.relations.writes import (
    NONE,
    REMOVALS,
    OffsetAction,
    Writes,
    are_of_any_coordinator,
    have_producers,
    own_commits,
)
from offsets_tool.replay.changes import Group
from offsets_tool.rows import NO_TIMESTAMP, LogRecord


class GroupInputs(NamedTuple):
    """A chunk as groups are made of it: its rows, its writes, the groups of these by number, and how many offsets they hold."""

    rows: pa.RecordBatch
    writes: Writes
    names: Names
    holdings: Holdings


class GroupValue(NamedTuple):
    """A value of a group of which nothing else than values of the same kind was written with it."""

    key: GroupKey
    data: bytes
    where: tuple[int, int, int]
    """Its place in the chunk, its offset in the log and its time."""
    write: int
    has_sequence: bool
    """Whether its batch has a sequence."""
    number: int
    """The number of its group; NONE if that commits nothing."""


class GroupChunk:
    """The records of a chunk that may change groups, and the offsets that groups hold."""

    def __init__(
        self, chunk: GroupInputs, key_of: KeyOf, groups: Mapping[str, Group], *, may_wait: bool
    ) -> None:
        """Find them; `groups` are those that are there before.

        Of values that `may_wait`, what was written with them does not matter.
        """
        rows, writes, names, self._holdings = chunk
        self.rows, self.carried = rows, writes.carried
        self._writes, self._names = writes, names
        self._span = len(writes.action) + 1
        self._later: list[tuple[int, int]] = []
        self._events: dict[str, int] = {}
        """The last write of each group of which a value was replayed one at a time."""
        records = writes.of(OffsetAction.NONE)
        last_tombstones, of_writes = self._last_tombstones(), _writes(rows)
        values = _Values(rows, None if may_wait else of_writes, records, writes.carried, key_of)
        self._emptied = set(
            zip(
                of_writes[last_tombstones - writes.carried].tolist(),
                writes.group[last_tombstones].tolist(),
                strict=True,
            )
        )
        """Writes with the groups whose last offsets they removed."""
        of_offsets = np.concatenate((self._first_commits(groups), last_tombstones))
        self._of_offsets = dict(zip(of_offsets.tolist(), self._records_at(of_offsets), strict=True))
        of_records = values.numbers(names)
        waits = np.zeros(len(records), bool)
        if may_wait:
            last = values.last_events(of_records, np.sort(of_offsets), writes.group)
            waits = values.of_one_kind() & (values.places > self._next_commits(of_records, last))
        self.waiting = list(values.by_group(values.needed(waits), of_records))
        """The last values of groups, which wait until all other records of the chunk are replayed."""
        self.told = values.told(waits)
        """Type and version of each value that waits, whether a later one replaces it or not, and its place."""
        others = np.flatnonzero(~waits)
        places = np.concatenate((records[others], of_offsets))
        order = np.argsort(places, kind="stable")
        self.places: Array = places[order]
        self.groups: Array = np.concatenate((of_records[others], writes.group[of_offsets]))[order]
        """The number of the group that each record is about; NONE where it commits nothing."""
        self.values: list[GroupValue | None] = [None] * len(places)
        """By record, what may be replayed at once."""
        is_sole = np.append(values.are_sole[others], np.zeros(len(of_offsets), bool))[order]
        sole = values.sole(np.flatnonzero(values.are_sole & ~waits), of_records)
        for index, value in zip(np.flatnonzero(is_sole).tolist(), sole, strict=True):
            self.values[index] = value

    def expected(self) -> Array:
        """Return the places of the records that surely are replayed one at a time, but for those of committed offsets."""
        places = self.places[[value is None for value in self.values]]
        of_groups: Array = places[self._writes.action[places] == OffsetAction.NONE]
        return of_groups

    def in_order(self) -> Iterator[tuple[int, int]]:
        """Yield the places of all records with their indices, and of those that were pushed meanwhile with NONE."""
        later = self._later
        for index, place in enumerate(self.places.tolist()):
            while later and later[0][0] < place:
                yield heappop(later)
            yield place, index
        while later:
            yield heappop(later)

    def action(self, place: int) -> OffsetAction:
        """Return what the record at a place does to offsets."""
        return OffsetAction(self._writes.action[place])

    def of_offsets(self, place: int) -> tuple[str, Event]:
        """Return the group of a commit or tombstone, and an event that tells no more than where it stands."""
        record = self._of_offsets.get(place) or next(self._records_at(np.array([place])))
        is_absence = self.action(place) in (OffsetAction.ABSENCE, OffsetAction.PENDING_ABSENCE)
        return self._names.texts[self._writes.group[place]], Event(record=record, is_absence=is_absence)

    def _records_at(self, places: Array) -> Iterator[LogRecord]:
        if not len(places):
            return iter(())
        few = self.rows.select((*PLACE, "magic")).take(pa.array(places - self.carried))
        columns = [plain(column).to_pylist() for column in few.columns]
        return (log_record((*facts, None, None)) for facts in zip(*columns, strict=True))

    def is_alone(self, value: GroupValue) -> bool:
        """Return whether nothing of the value's write and group was replayed one at a time."""
        return self._events.get(value.key.group) != value.write

    def is_known(self, value: GroupValue) -> bool:
        """Return whether anything is known of the group of a value, or its write may have deleted it."""
        if value.number == NONE:
            return False
        return (value.write, value.number) in self._emptied or self.holds(value.where[0], value.key.group)

    def note_event(self, value: GroupValue | None) -> None:
        """Note that a record, which may be such a value, was replayed one at a time."""
        if value is not None and value.write != NONE:
            self._events[value.key.group] = value.write

    def _last_tombstones(self) -> Array:
        """Return the places of tombstones behind which their groups hold nothing."""
        places = self._writes.of(*REMOVALS)
        last: Array = places[self._holdings.counts(self._writes.group[places], places) == 0]
        return last

    def _first_commits(self, groups: Mapping[str, Group]) -> Array:
        """Return the places of the first commit of each group that is not there."""
        commits, names = own_commits(self._writes), self._names.texts
        first = np.full(len(names), NONE)
        first[self._writes.group[commits][::-1]] = commits[::-1]
        committing = np.flatnonzero(first != NONE)
        places: Array = first[committing[[names[number] not in groups for number in committing.tolist()]]]
        return places

    def _next_commits(self, groups: Array, places: Array) -> Array:
        """Return the place of the first commit of each group behind a place, which may make it again; else the place itself."""
        some = np.flatnonzero((groups != NONE) & (places != NONE))
        if not len(some):
            return places
        index = np.searchsorted(self._commits, groups[some] * self._span + places[some], "right")
        number, following = np.divmod(np.append(self._commits, NONE)[index], self._span)
        places = places.copy()
        places[some] = np.where(number == groups[some], following, places[some])
        return places

    @cached_property
    def _commits(self) -> Array:
        """The commits, as numbers of a group and a place, sorted."""
        commits = own_commits(self._writes)
        return np.sort(self._writes.group[commits] * self._span + commits)

    def push_next_commit(self, group: str, place: int) -> None:
        """Have the next commit of a group looked at that is not there behind a place."""
        number = self._names.number(group)
        if number is None:
            return
        index = int(np.searchsorted(self._commits, number * self._span + place, "right"))
        if index < len(self._commits) and self._commits[index] // self._span == number:
            heappush(self._later, (int(self._commits[index]) % self._span, NONE))

    def holds(self, place: int, group: str) -> bool:
        """Return whether a group holds offsets behind a place."""
        number, of_groups = self._names.number(group), self._holdings.of_groups
        if number is None or number >= len(of_groups) or not of_groups[number]:
            return False
        return bool(self._holdings.counts(np.array([number]), np.array([place]))[0])


class _Values:
    """The values among records that are not about offsets."""

    def __init__(
        self, rows: pa.RecordBatch, of_writes: Array | None, places: Array, carried: int, key_of: KeyOf
    ) -> None:
        self._rows, self.places = rows, places
        self._records = records = places - carried
        few = rows.select(_OF_RECORD).take(pa.array(records))
        keys = encoded(plain(few.column("key")))
        self._keys = [*map(key_of, keys.dictionary.to_pylist()), None]
        self._codes = numbers(keys.indices, len(self._keys) - 1)
        of_group: dict[str, int] = {}
        names = ("" if key is None else key.group for key in self._keys)
        codes = np.array([of_group.setdefault(name, len(of_group)) for name in names])
        self._groups: Array = codes[self._codes]
        """A number of each record's group."""
        # Values are long: they stay where they are.
        may = are_there(rows.column("value"))[records] & ~flags(few.column("is_transactional"))
        may &= ~flags(few.column("is_control")) & ~have_producers(few)
        self._families = np.array([_family(key) for key in self._keys])[self._codes]
        may &= self._families != NONE
        self._versions = numbers(few.column("value_version"), NONE)
        self._reads = (self._versions != NONE) & ~are_there(few.column("problem"))
        self._writes = np.full(len(records), NONE) if of_writes is None else of_writes[records]
        self.are_sole = self._are_sole(may) if of_writes is not None and len(records) else may
        """Which of them are values of a group of which nothing else was written with them; or values, where `of_writes` is None."""

    def _are_sole(self, may: Array) -> Array:
        """Return which records, of those that may be, are written with nothing but values of one kind of their group.

        Of a classic group one value tells all of its members: more than one are not alone.
        """
        family = self._families
        may &= self._writes != NONE
        count = self._groups.max() + 1
        _, first, part = np.unique(
            self._writes * count + self._groups, return_index=True, return_inverse=True
        )
        is_mixed = family != family[first][part]
        is_mixed |= ~may
        is_mixed |= (family == _CLASSIC) & (np.bincount(part)[part] > 1)
        sole: Array = np.bincount(part, is_mixed)[part] == 0
        return sole

    def numbers(self, names: Names) -> Array:
        """Return the number of each record's group; NONE where it commits nothing."""
        known = (None if key is None else names.number(key.group) for key in self._keys)
        return np.array([NONE if number is None else number for number in known], np.int64)[self._codes]

    def last_events(self, groups: Array, of_offsets: Array, group_of: Array) -> Array:
        """Return by record the last place at which its group may come, go, or change in another way than by a value that reads.

        `groups` are the numbers of the records' groups, `of_offsets` such places of commits and tombstones, in order, and
        `group_of` has the numbers of their groups.
        """
        last = np.full(self._groups.max(initial=0) + 1, NONE)
        others = np.flatnonzero(~self.of_one_kind())
        last[self._groups[others]] = self.places[others]
        last_of_offsets = np.full(max(groups.max(initial=0), group_of.max(initial=0)) + 2, NONE)
        last_of_offsets[group_of[of_offsets]] = of_offsets
        return np.maximum(last[self._groups], last_of_offsets[groups])

    def of_one_kind(self) -> Array:
        """Return which are values that read, of the family that the last record of their group is of."""
        family = np.full(self._groups.max(initial=0) + 1, NONE)
        family[self._groups] = self._families
        are_of_kind: Array = self.are_sole & self._reads & (family[self._groups] == self._families)
        return are_of_kind

    def needed(self, waits: Array) -> Array:
        """Return which values that wait may make a difference: of a classic group the first, which may make it, and the last.

        And those that may prove which coordinator wrote them.
        """
        index = np.flatnonzero(waits & (self._families == _CLASSIC))
        index = index[order_of(self._groups[index])]
        goes_on = np.append(np.diff(self._groups[index]) == 0, False)[: len(index)]
        between = index[goes_on & np.append(False, goes_on[:-1])[: len(index)]]
        if not len(between):
            return waits
        needed = waits.copy()
        needed[between] = ~are_of_any_coordinator(self._rows, self._records[between])
        return needed

    def by_group(self, waits: Array, groups: Array) -> "Iterator[list[GroupValue]]":
        """Yield values together by group, in order, given the numbers of all records' groups."""
        index = np.flatnonzero(waits)
        index = index[order_of(self._groups[index])]
        values = self.sole(index, groups)
        for count in np.unique(self._groups[index], return_counts=True)[1].tolist():
            yield list(islice(values, count))

    def told(self, waits: Array) -> tuple[list[TypeVersion], list[int]]:
        """Return the types and versions of values that wait, and their places."""
        types = np.array([NONE if key is None else key.type.id for key in self._keys])[self._codes[waits]]
        facts = zip(types.tolist(), self._versions[waits].tolist(), strict=True)
        return list(facts), self.places[waits].tolist()

    def sole(self, index: Array, groups: Array) -> "Iterator[GroupValue]":
        """Yield the values at these places among the records, given the numbers of all records' groups."""
        if not len(index):
            return iter(())
        names, rows = ("sequence", "magic", "base_offset", "log_offset", "timestamp"), self._records[index]
        few = self._rows.select(names).take(pa.array(rows))
        have_sequence = (numbers(few.column("sequence"), NONE) >= 0) & are_there(few.column("base_offset"))
        have_sequence &= numbers(few.column("magic"), NONE) == _MAGIC
        where = (few.column(name).to_numpy().tolist() for name in names[3:])
        return tuples_of(
            GroupValue,
            map(self._keys.__getitem__, self._codes[index].tolist()),
            bytes_at(self._rows.column("value"), rows),
            zip(self.places[index].tolist(), *where, strict=True),
            self._writes[index].tolist(),
            have_sequence.tolist(),
            groups[index].tolist(),
        )


_OF_RECORD: Final = ("key", "is_transactional", "is_control", "producer_id", "value_version", "problem")
_MAGIC: Final = 2
"""The format of batches that have sequences."""
_FAMILIES: Final = tuple(Family)
_CLASSIC: Final = _FAMILIES.index(Family.CLASSIC)


def _family(key: GroupKey | None) -> int:
    return NONE if key is None else _FAMILIES.index(key.type.family)


def _writes(rows: pa.RecordBatch) -> Array:
    """Return a number of each row's write, which may be more than what Kafka wrote at once, but is not less.

    Records of one batch, or of one time next to each other, are one write. NONE where it is unclear.
    """
    bases, times = batches(rows), rows.column("timestamp").to_numpy()
    if (np.diff(bases) < 0).any():
        return np.full(len(bases), NONE)
    is_apart = (bases[1:] != bases[:-1]) & ((times[1:] != times[:-1]) | (times[1:] == NO_TIMESTAMP))
    writes = np.append(0, np.cumsum(is_apart))
    if (np.diff(times) >= 0).all():
        return writes
    # Where a time comes again, what stands between may have changed nothing.
    _, which = np.unique(times, return_inverse=True)
    last = np.zeros(which.max() + 1, np.int64)
    np.maximum.at(last, which, writes)
    return np.where(np.isin(writes, writes[last[which] > writes]), NONE, writes)

"""A partition replayed to a moment by rows: what PartitionSnapshot.replay does of each event, of chunks of rows.

Where the moment lies inside a batch of rows, the batch is cut there. Of the rows behind it, only those count that can say something
about the moment: new keys, late timestamps, and other records than plain commits. Decides nothing that as_of.snapshot does not.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar
from uuid import UUID

import numpy as np
import pyarrow as pa

from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot
from offsets_tool.columns.arrays import Array, differences
from offsets_tool.columns.columns_of_rows import are_there, encoded, flags, numbers, plain, uuid_of
from offsets_tool.errors import DecodeError
from offsets_tool.events import Key, Value
from offsets_tool.records.kinds import CLASSIC_TYPES, COMMITS, GROUP_METADATA, TOPIC_LISTS
from offsets_tool.relations.histories import Histories
from offsets_tool.relations.replays import Start
from offsets_tool.relations.row_events import RowEvents, absent_to, are_absences, records_of
from offsets_tool.relations.row_facts import NO_TIME, observe_times, times_of
from offsets_tool.relations.writes import are_sound, group_named, have_producers, types_of
from offsets_tool.replay.rules import TOPIC_ID_VERSION
from offsets_tool.replay.topic_candidates import OBSERVED_TYPES
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.wire.text import from_shown

_TELLING: Final = sorted((OBSERVED_TYPES | TOPIC_LISTS.keys()) - COMMITS)
"""Record types of groups whose records say topics' names, or what groups subscribe to."""
_Part = TypeVar("_Part", Key, Value)
_NAME_BYTES: Final = 256
"""About what a name of a topic id takes while it waits to be learned."""
_MAGIC: Final = 2
_NO_SEQUENCE: Final = -1


def replay_rows(
    snapshots: Sequence[Snapshot],
    log_partition: int | None,
    batches: Iterable[pa.RecordBatch],
    *,
    begins: int = 0,
    end: int | None = None,
) -> None:
    """Replay all rows (row_events.COLUMNS) of one partition, by offset, to each of the moments, as replay_events does events."""
    partitions = [snapshot.begin(log_partition, begins, end) for snapshot in snapshots]
    moments = [
        RowsToMoment(*both) for both in zip(partitions, (each.names for each in snapshots), strict=True)
    ]
    states = [Histories(start_of(partition), is_for_state=True) for partition in partitions]
    for rows in batches:
        for moment, partition, state in zip(moments, partitions, states, strict=True):
            held = moment.observe(rows)
            partition.observe_changes(state.replay_state(rows.slice(0, held)).anomalies)
    for partition, state in zip(partitions, states, strict=True):
        partition.coordinator = state.end_state()


def start_of(partition: PartitionSnapshot) -> Start:
    """Return what a replay of a partition begins with: the rules that hold in it, if anybody knows."""
    used = partition.coordinator
    return Start(partition.log_partition, rules=None if used.auto else used.rules)


class RowsToMoment:
    """The rows of a partition up to a moment, of which its PartitionSnapshot learns all but its state."""

    def __init__(self, snapshot: PartitionSnapshot, names: TopicNames) -> None:
        """Start before the first row; `names` learns names of topics."""
        self._snapshot = snapshot
        self._names = names
        self._events = RowEvents()
        self._of_names = RowEvents()
        """Reads what names are learned from, perhaps when the replay is over: what it needed is forgotten by then."""

    def pages(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows up to the moment; all are observed."""
        for rows in batches:
            if held := self.observe(rows):
                yield rows.slice(0, held)

    def observe(self, rows: pa.RecordBatch) -> int:
        """Observe rows up to the moment, and those behind it; return how many count."""
        times = times_of(rows)
        held = self._count_before_cut(rows, times)
        if held:
            self._observe_before_cut(rows.slice(0, held))
        if held < rows.num_rows:
            self._observe_after(rows.slice(held), times[held:])
        return held

    def _count_before_cut(self, rows: pa.RecordBatch, times: Array) -> int:
        """Return how many of the first rows lie before the moment, by Cut."""
        cut, offsets, held = self._snapshot.cut, rows.column("log_offset").to_numpy(), int(rows.num_rows)
        # An absence has the time of a record before it.
        observed = np.where(are_absences(rows), NO_TIME, times)
        if cut.end is not None:
            past = np.flatnonzero(offsets >= cut.end)
            held = int(past[0]) if len(past) else held
        elif cut.time is not None:
            return self._count_in_time(offsets, times, observed, cut.time)
        observe_times(cut.clock, offsets[:held], observed[:held])
        return held

    def _count_in_time(self, offsets: Array, times: Array, observed: Array, time: int) -> int:
        cut, begin = self._snapshot.cut, 0
        for place in np.flatnonzero(times > time).tolist():
            observe_times(cut.clock, offsets[begin:place], observed[begin:place])
            begin = place
            if cut.is_over(int(times[place])):
                return place
        observe_times(cut.clock, offsets[begin:], observed[begin:])
        return len(times)

    def _observe_before_cut(self, rows: pa.RecordBatch) -> None:
        snapshot, coverage, records = self._snapshot, self._snapshot.coverage, records_of(rows)
        snapshot.absent_to = max(snapshot.absent_to, absent_to(rows))
        if records.num_rows:
            coverage.observe_run(*_run(records.column("log_offset").to_numpy()))
        if coverage.remembers:
            coverage.keys.update(_keys(records)[0])
            coverage.observe_groups(self._groups_of_own(records))
        snapshot.proved_classic = snapshot.proved_classic or _proves_classic(rows)
        self._learn_names(rows)

    def _groups_of_own(self, rows: pa.RecordBatch) -> set[str]:
        """Return the groups that have records of their own among these rows."""
        is_own = ~np.isin(types_of(rows), list(COMMITS)) & ~flags(rows.column("is_control"))
        keys = plain(rows.column("key").filter(pa.array(is_own))).unique().drop_null().to_pylist()
        named = (group_named(self._events.key, key) for key in keys)
        return {group for group in named if group is not None}

    def _observe_after(self, rows: pa.RecordBatch, times: Array) -> None:
        snapshot = self._snapshot
        telling = ~_are_plain(rows)
        telling[0] = True
        if snapshot.cut.time is not None:
            telling |= (times <= snapshot.cut.time) & (times != NO_TIME)
        if not snapshot.proved_later:
            telling |= numbers(rows.column("value_version"), -1) == TOPIC_ID_VERSION
        keys, first = _keys(rows)
        telling[
            [
                place
                for key, place in zip(keys, first.tolist(), strict=True)
                if key not in snapshot.coverage.keys
            ]
        ] = True
        self._learn_names(rows)
        for event in self._events.events(rows.take(pa.array(np.flatnonzero(telling)))):
            snapshot.replay(event)

    def _learn_names(self, rows: pa.RecordBatch) -> None:
        """Let names of topics be learned from commits that have their topic's id, and from records of groups."""
        named = self._named_by_commits(rows)
        telling = np.flatnonzero(np.isin(numbers(rows.column("record_type"), -1), _TELLING))
        if not named and not len(telling):
            return
        found = rows.select(("log_partition", "log_offset", "key", "value")).take(pa.array(telling))
        columns = [plain(column) for column in found.columns]
        # Without the columns of the rows, which are many more.
        learn = partial(_learn, self._names, self._of_names, named, columns)
        size = _NAME_BYTES * len(named) + sum(column.nbytes for column in columns)
        self._names.learn_later(learn, size)

    def _named_by_commits(self, rows: pa.RecordBatch) -> dict[UUID, str]:
        """Return the names of topic ids that commits have; of an id with several, the one that came last."""
        ids, topics = encoded(rows.column("topic_id")), encoded(rows.column("topic"))
        if len(ids.dictionary) == 1 and uuid_of(ids.dictionary[0].as_py()) is None:
            return {}
        many = len(topics.dictionary) + 1
        of_rows = numbers(ids.indices, -1).astype(np.int64) * many + numbers(topics.indices, -1)
        of_rows = of_rows[of_rows >= 0]
        pairs = np.unique(of_rows)
        if (np.diff(pairs // many) == 0).any():
            pairs, before_end = np.unique(of_rows[::-1], return_index=True)
            pairs = pairs[np.argsort(-before_end)]
        named = {}
        for pair in pairs.tolist():
            topic_id, topic = ids.dictionary[pair // many].as_py(), topics.dictionary[pair % many].as_py()
            if (known := uuid_of(topic_id)) is not None:
                named[known] = from_shown(topic)
        return named


def _learn(
    names: TopicNames, events: RowEvents, named: Mapping[UUID, str], columns: Sequence[pa.Array]
) -> None:
    """Learn names that commits have, and those that follow from columns of records: partition, log offset, raw key, raw value."""
    for topic_id, topic in named.items():
        names.learn_one(topic_id, topic)
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    for log_partition, log_offset, raw_key, raw_value in rows:
        if raw_key is not None and (key := _read(events.key, raw_key)) is not None:
            value = None if raw_value is None else _read(events.values.read, key.type, raw_value)
            names.learn_value(log_partition, log_offset, key, None if value is None else value.data)


def _read(reader: Callable[..., _Part], *of: object) -> _Part | None:
    """Return a key or value as a reader returns it; None for one that does not read."""
    try:
        return reader(*of)
    except DecodeError:
        return None


def _proves_classic(rows: pa.RecordBatch) -> bool:
    """Return whether a row proves the classic rules, as rules.proves_classic says of an event."""
    is_batched = are_there(rows.column("base_offset")) & are_there(rows.column("magic"))
    types, is_plain = types_of(rows), are_sound(rows)
    of_classic = is_batched & np.isin(types, list(CLASSIC_TYPES))
    if (of_classic & (numbers(rows.column("magic"), _MAGIC) < _MAGIC)).any():
        return True
    is_tombstone = np.where(
        is_plain, ~are_there(rows.column("committed_offset")), ~are_there(rows.column("value"))
    )
    own = of_classic & ((types == GROUP_METADATA) | is_tombstone) & ~flags(rows.column("is_transactional"))
    return bool((own & (numbers(rows.column("sequence"), _NO_SEQUENCE) < 0)).any())


def _run(log_offsets: Array) -> tuple[int, int, int, int]:
    """Return the first and the last offset, how many are missing between them, and the offset after the last that is."""
    there = np.flatnonzero(log_offsets[1:] - 1 > log_offsets[:-1])
    gaps = differences(log_offsets[there + 1] - 1, log_offsets[there])
    proven_from = int(log_offsets[there[-1] + 1]) if len(there) else 0
    return int(log_offsets[0]), int(log_offsets[-1]), sum(gaps.tolist()), proven_from


def _keys(rows: pa.RecordBatch) -> tuple[list[bytes], Array]:
    """Return the distinct raw keys of rows that are no control records, and the place of the first row of each."""
    keys = encoded(rows.column("key"))
    of_rows = np.where(flags(rows.column("is_control")), -1, numbers(keys.indices, -1))
    codes, first = np.unique(of_rows, return_index=True)
    there = codes >= 0
    return keys.dictionary.take(pa.array(codes[there])).to_pylist(), first[there]


def _are_plain(rows: pa.RecordBatch) -> Array:
    """Return which rows are commits that are effective at once."""
    is_plain = are_there(rows.column("committed_offset")) & ~are_there(rows.column("problem"))
    for name in ("is_control", "is_transactional"):
        is_plain &= ~flags(rows.column(name))
    return is_plain & ~have_producers(rows)

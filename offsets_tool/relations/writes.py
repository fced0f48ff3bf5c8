"""What was written of committed offsets, in the order of the log: commits, tombstones and markers as columns.

Made of the rows of a chunk. Columns tell of a commit without a problem and of its tombstone; other keys and values are decoded
from their bytes by the reference reader. Knows nothing of what comes of it.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import lru_cache, partial
from itertools import repeat
from struct import Struct
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array, joined, repeated, taken
from offsets_tool.columns.columns_of_rows import are_there, encoded, flags, numbers, plain, tuples_of
from offsets_tool.errors import DecodeError
from offsets_tool.events import Event, KeyReader
from offsets_tool.log.batches.control import decode_control
from offsets_tool.records.kinds import COMMITS, GROUP_METADATA
from offsets_tool.relations.row_events import PLACE, RAW, RowEvents, are_absences
from offsets_tool.relations.subjects import Subjects, TopicIdNumbers
from offsets_tool.replay.changes import CommittedOffset
from offsets_tool.replay.rules import TOPIC_ID_VERSION, proves_new
from offsets_tool.rows import NO_PRODUCER_ID
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.text import from_shown, shown

NONE: Final = -1
"""The number that stands for null."""


class OffsetAction(IntEnum):
    """What a record does to committed offsets, by the rules of the coordinator that replays it."""

    COMMIT = 0
    """It commits an offset at once."""
    PENDING = 1
    """It commits an offset when its transaction's marker comes."""
    REMOVAL = 2
    """It removes what is effective and what is pending: a tombstone, to the new coordinator."""
    TOMBSTONE = 3
    """It removes what is effective: a tombstone outside of transactions, to the classic coordinator."""
    PENDING_TOMBSTONE = 4
    """It removes what its own transaction has pending: a tombstone in one, to the classic coordinator."""
    ABSENCE = 5
    """It shows that what was effective had been removed: no record, but a key that a copy lacks."""
    PENDING_ABSENCE = 6
    """It shows that a transaction had ended, by what it had pending."""
    COMMIT_MARKER = 7
    ABORT_MARKER = 8
    NONE = 9
    """Nothing."""


class Writes(NamedTuple):
    """What the rows of a chunk say and do, as numbers by place, behind the commits that were open before; NONE is null.

    Those stand where and when their open rows began. `topic_id` and `text` are the numbers of an id and of the metadata.
    """

    action: Array
    subject: Array
    """The number of the committed offset that a row is about; NONE of others."""
    group: Array
    """The number of that offset's group."""
    is_read: Array
    """Whether the value was understood."""
    producer: Array
    """The producer id of a record in a transaction; NO_PRODUCER_ID of others."""
    committed_offset: Array
    leader_epoch: Array
    commit_timestamp: Array
    expire_timestamp: Array
    topic_id: Array
    text: Array
    commit_log_offset: Array
    log_offset: Array
    timestamp: Array
    carried: int = 0
    """How many were left open: the first."""

    def taken(self, places: Array) -> "Writes":
        """Return the writes at these places, as if none was open before."""
        lines: list[Any] = [taken(line, places) for line in self[:-1]]
        return Writes(*lines)

    def behind(self, others: "Writes") -> "Writes":
        """Return these behind others, which were left open."""
        lines: list[Any] = [*map(joined, others[:-1], self[:-1])]
        return Writes(*lines)._replace(carried=len(others.action))

    def of(self, *actions: OffsetAction) -> Array:
        """Return the places of the writes that do one of these, in order."""
        is_one = self.action == actions[0]
        for action in actions[1:]:
            is_one |= self.action == action
        return np.flatnonzero(is_one)


def own_commits(writes: Writes) -> Array:
    """Return the places of the commits of a chunk itself."""
    return np.flatnonzero(writes.action[writes.carried :] <= OffsetAction.PENDING) + writes.carried


SAID: Final = Writes._fields[:-1]
"""What is said of each write."""
_COPIED: Final = ("committed_offset", "leader_epoch", "commit_timestamp", "expire_timestamp")
_VALUE: Final = {
    "committed_offset": pa.int64(),
    "leader_epoch": pa.int32(),
    "metadata": pa.string(),
    "commit_timestamp": pa.int64(),
    "expire_timestamp": pa.int64(),
    "topic_id": pa.string(),
}
COMMIT: Final = pa.schema(
    [("group", pa.string()), ("topic", pa.string()), ("partition", pa.int32()), *_VALUE.items()]
)
"""What a commit says; a tombstone says the first three."""
_TYPE: Final = Struct(">h")
FIRST_JOINS: Final = (bytes(2 + 4), b"\1" + bytes(4))
"""What stands behind the version where a classic group has no protocol type and generation 0 (rules.FIRST_JOIN), by its layouts."""
TOMBSTONES: Final = (OffsetAction.REMOVAL, OffsetAction.TOMBSTONE, OffsetAction.PENDING_TOMBSTONE)
REMOVALS: Final = (*TOMBSTONES, OffsetAction.ABSENCE, OffsetAction.PENDING_ABSENCE)
IN_TRANSACTION: Final = (
    OffsetAction.PENDING,
    OffsetAction.PENDING_TOMBSTONE,
    OffsetAction.PENDING_ABSENCE,
    OffsetAction.COMMIT_MARKER,
    OffsetAction.ABORT_MARKER,
)
TRANSACTION_ENDS: Final = (
    OffsetAction.COMMIT_MARKER,
    OffsetAction.ABORT_MARKER,
    OffsetAction.PENDING_ABSENCE,
)
_MARKERS: Final = {"COMMIT": OffsetAction.COMMIT_MARKER, "ABORT": OffsetAction.ABORT_MARKER}


class Metadata:
    """The metadata of commits by number; 0 is the number of none."""

    def __init__(self) -> None:
        """Start without texts."""
        self._column: pa.Array = pa.array([""], pa.large_string())

    def __len__(self) -> int:
        return len(self._column)

    def add(self, column: pa.Array) -> Array:
        """Return the numbers of the texts of new rows."""
        column, first = plain(column), len(self)
        lengths = numbers(pc.binary_length(column), 0)
        if not lengths.any():
            return repeated(0, len(column))
        self._column = pa.concat_arrays([self._column, column.cast(pa.large_string())])
        return np.where(lengths > 0, first + np.arange(len(column)), 0)

    def column(self, numbers: Array) -> pa.Array:
        """Return the text with each of these numbers."""
        if not numbers.any():
            return pa.repeat("", len(numbers))
        return self._column.take(pa.array(numbers)).cast(pa.string())

    def texts(self, numbers: Array) -> Iterator[str]:
        """Yield the text with each of these numbers as Kafka wrote it."""
        return (
            map(from_shown, self.column(numbers).to_pylist()) if numbers.any() else repeat("", len(numbers))
        )

    def keep(self, numbers: Array) -> Array:
        """Forget all texts but those with these numbers, and return the numbers that they have then."""
        used, places = np.unique(np.append(0, numbers), return_inverse=True)
        self._column = self._column.take(pa.array(used))
        return places[1:]


class WriteReader:
    """Makes writes of rows; distinct keys and values that are decoded are decoded once."""

    def __init__(self) -> None:
        """Start without keys."""
        self.subjects = Subjects()
        self.topic_ids = TopicIdNumbers()
        self.metadata = Metadata()
        self._events = RowEvents()

    def read(self, rows: pa.RecordBatch, is_new: Array) -> tuple[Writes, dict[int, Event]]:
        """Return what each row (row_events.COLUMNS) of a chunk does, and those that columns do not tell of, decoded, by row.

        `is_new` says for which rows the new coordinator's rules hold.
        """
        is_sound, is_commit = are_sound(rows), are_there(rows.column("committed_offset"))
        said, decoded, is_all_sound = self.said(rows, is_sound), dict[int, Event](), is_sound.all()
        if not is_all_sound:
            others = np.flatnonzero(~is_sound)
            decoded = dict(
                self._decoded(
                    rows,
                    others[_are_about_offsets(rows.select(("key", "is_control")).take(pa.array(others)))],
                )
            )
        if decoded:
            batch, places = _said_by(decoded.values()), np.array([*decoded], np.int64)
            copies: list[Any] = [*map(np.array, said[:-1])]
            said = Writes(*copies)
            for line, values in zip(
                said[:-1], self.said(batch, np.ones(len(places), bool))[:-1], strict=True
            ):
                line[places] = values
            is_commit[places] = are_there(batch.column("committed_offset"))
            unread = [place for place, event in decoded.items() if event.kept_raw is not None]
            said.is_read[unread], is_commit[unread] = False, True
        said = said._replace(action=_actions(rows, is_commit, is_new))
        if not is_all_sound:
            said.action[said.subject == NONE] = OffsetAction.NONE
            markers, actions = _markers(rows)
            said.action[markers] = actions
        is_in = said.of(*IN_TRANSACTION)
        if len(is_in):
            producer = np.full(rows.num_rows, NO_PRODUCER_ID)
            producer[is_in] = numbers(rows.column("producer_id"), 0)[is_in]
            said = said._replace(producer=producer)
        log_offset, timestamp = (rows.column(name).to_numpy() for name in ("log_offset", "timestamp"))
        return said._replace(
            commit_log_offset=log_offset, log_offset=log_offset, timestamp=timestamp
        ), decoded

    def said(self, rows: pa.RecordBatch, is_about_offsets: Array) -> Writes:
        """Return what rows say (COMMIT); what they do, and where they stand, is not told."""
        if is_about_offsets.all():
            subject = self.subjects.of(rows, slice(None))
        else:
            subject, places = np.full(rows.num_rows, NONE), np.flatnonzero(is_about_offsets)
            subject[places] = self.subjects.of(rows, places)
        none, topic_id = repeated(NONE, rows.num_rows), self.topic_ids.of(rows.column("topic_id"))
        committed_offset, leader_epoch, commit_timestamp, expire_timestamp = (
            numbers(rows.column(name), NONE) for name in _COPIED
        )
        return Writes(
            action=none,
            subject=subject,
            group=np.append(self.subjects.group_of, NONE)[subject],
            is_read=repeated(True, rows.num_rows),
            producer=none,
            committed_offset=committed_offset,
            leader_epoch=leader_epoch,
            commit_timestamp=commit_timestamp,
            expire_timestamp=expire_timestamp,
            topic_id=topic_id if topic_id.any() else repeated(0, rows.num_rows),
            text=self.metadata.add(rows.column("metadata")),
            commit_log_offset=none,
            log_offset=none,
            timestamp=none,
        )

    def commits(self, writes: Writes) -> Iterator[CommittedOffset]:
        """Yield what was committed, of commits alone."""
        of_ids = map(self.topic_ids.ids.__getitem__, writes.topic_id.tolist())
        texts, log_offsets = self.metadata.texts(writes.text), writes.commit_log_offset.tolist()
        offset, epoch, commit_timestamp, expire_timestamp = (
            getattr(writes, name).tolist() for name in _COPIED
        )
        return tuples_of(
            CommittedOffset, offset, epoch, texts, commit_timestamp, expire_timestamp, of_ids, log_offsets
        )

    def groups_named(self, rows: pa.RecordBatch) -> Array:
        """Return the numbers of the groups that other records than commits without a problem, and their tombstones, are about.

        Of those that commit offsets.
        """
        few = rows.select(("group", "is_control", "key")).filter(pa.array(~are_sound(rows)))
        groups, column = self.subjects.groups, few.column("group")
        is_nameless = ~are_there(column) & ~flags(few.column("is_control"))
        keys = plain(few.column("key").filter(pa.array(is_nameless))).unique().to_pylist()
        names = (
            *map(partial(group_named, self._events.key), keys),
            *map(from_shown, column.drop_null().unique().to_pylist()),
        )
        known = (groups.number(name) for name in names if name is not None)
        return np.array([number for number in known if number is not None], np.int64)

    def first_proof(self, rows: pa.RecordBatch) -> int | None:
        """Return the first row that only the new coordinator writes (rules.proves_new); None without one."""
        is_sound = are_sound(rows)
        is_proof = is_sound & (numbers(rows.column("value_version"), NONE) == TOPIC_ID_VERSION)
        is_proof &= are_there(rows.column("committed_offset"))
        first = int(np.argmax(is_proof)) if is_proof.any() else None
        may_prove = np.flatnonzero((~is_sound & ~flags(rows.column("is_control")))[:first])
        if len(may_prove):
            may_prove = may_prove[~are_of_any_coordinator(rows, may_prove)]
        for place in may_prove.tolist():
            if proves_new(next(self._events.events(rows.slice(place, 1)))):
                return place
        return first

    def _decoded(self, rows: pa.RecordBatch, places: Array) -> Iterator[tuple[int, Event]]:
        """Yield the records at these places whose keys are of committed offsets, each with its place."""
        columns = (plain(rows.column(name).take(pa.array(places))).to_pylist() for name in (*PLACE, *RAW))
        for place, facts in zip(places.tolist(), zip(*columns, strict=True), strict=True):
            event = self._events.event(facts)
            if event.key is not None and event.type_id in COMMITS:
                yield place, event


def group_named(read_key: KeyReader, key: bytes | None) -> str | None:
    """Return the group that a record's key names; None where it does not read."""
    try:
        data = read_key(key or b"").data
    except DecodeError:
        return None
    name: str = data.group if hasattr(data, "group") else data.group_id
    return name


def types_of(rows: pa.RecordBatch) -> Array:
    """Return the record type of each row, by its column or the bytes with which its key begins; NONE without one.

    Control records have none: their keys are of another kind.
    """
    types, none = numbers(rows.column("record_type"), NONE), ~are_there(rows.column("record_type"))
    places = np.flatnonzero(none & are_there(rows.column("key")) & ~flags(rows.column("is_control")))
    keys = plain(rows.column("key").take(pa.array(places))).to_pylist()
    types = types.copy()
    types[places] = [_TYPE.unpack_from(key)[0] if len(key) >= _TYPE.size else NONE for key in keys]
    return types


def are_sound(rows: pa.RecordBatch) -> Array:
    """Return which rows are commits or tombstones of which columns tell all."""
    is_sound: Array = are_there(rows.column("topic")) & ~are_there(rows.column("problem"))
    return is_sound


def are_of_any_coordinator(rows: pa.RecordBatch, places: Array) -> Array:
    """Return which rows surely are records of classic groups that prove nothing, by the bytes with which their values begin."""
    taken_rows = pa.array(places)
    key, sequence = (rows.column(name).take(taken_rows) for name in ("key", "sequence"))
    is_group = pc.equal(pc.binary_slice(plain(key), 0, _TYPE.size), _TYPE.pack(GROUP_METADATA))
    # Values are long: they stay where they are.
    value = plain(rows.column("value"))
    begins = (pc.binary_slice(value, _TYPE.size, _TYPE.size + len(first)) for first in FIRST_JOINS)
    first_joins = [
        flags(pc.equal(begin.take(taken_rows), first))
        for begin, first in zip(begins, FIRST_JOINS, strict=True)
    ]
    has_sequence = numbers(sequence, NONE) >= 0
    return flags(is_group) & ~np.logical_or.reduce(first_joins) & ~has_sequence  # type: ignore[no-any-return]


def _are_about_offsets(rows: pa.RecordBatch) -> Array:
    """Return which rows, unless their keys do not read, are commits or tombstones, by the type with which the key begins."""
    types = pc.binary_slice(plain(rows.column("key")), 0, _TYPE.size)
    is_of_commit = pc.is_in(types, pa.array([_TYPE.pack(type_id) for type_id in sorted(COMMITS)], types.type))
    return flags(is_of_commit) & ~flags(rows.column("is_control"))


def _said_by(events: Iterable[Event]) -> pa.RecordBatch:
    """Return what decoded records of committed offsets say (COMMIT)."""
    return pa.RecordBatch.from_pylist(list(map(_said_by_one, events)), COMMIT)


def _said_by_one(event: Event) -> dict[str, Any]:
    assert event.key is not None
    key = event.key.data
    said = {"group": shown(key.group), "topic": shown(key.topic), "partition": key.partition}
    if event.value is None:
        return said
    value = event.value.data
    said |= {name: getattr(value, name) for name in ("leader_epoch", "commit_timestamp", "expire_timestamp")}
    topic_id = uuid_text(value.topic_id)
    return said | {"committed_offset": value.offset, "metadata": shown(value.metadata), "topic_id": topic_id}


def _actions(rows: pa.RecordBatch, is_commit: Array, is_new: Array) -> Array:
    """Return the OffsetAction of each row that is about committed offsets, as replay.offsets decides it; anything for others."""
    actions = np.where(is_new, OffsetAction.REMOVAL, OffsetAction.TOMBSTONE)
    actions[is_commit] = OffsetAction.COMMIT
    is_transactional, has_producer = flags(rows.column("is_transactional")), have_producers(rows)
    if has_producer.any():
        actions[is_commit & has_producer & (is_new | is_transactional)] = OffsetAction.PENDING
    if is_transactional.any():
        actions[~is_commit & ~is_new & is_transactional] = OffsetAction.PENDING_TOMBSTONE
    if (is_absence := are_absences(rows)).any():
        actions[is_absence] = np.where(has_producer, OffsetAction.PENDING_ABSENCE, OffsetAction.ABSENCE)[
            is_absence
        ]
    return actions


def have_producers(rows: pa.RecordBatch) -> Array:
    """Return which rows have a producer id."""
    return numbers(rows.column("producer_id"), NO_PRODUCER_ID) != NO_PRODUCER_ID  # type: ignore[no-any-return]


def _markers(rows: pa.RecordBatch) -> tuple[Array, Array]:
    """Return the places of control records that may be markers, and the OffsetAction of each."""
    places = np.flatnonzero(flags(rows.column("is_control")) & have_producers(rows))
    keys, values = (encoded(plain(rows.column(name).take(pa.array(places)))) for name in ("key", "value"))
    of_keys, of_values = ([*column.dictionary.to_pylist(), None] for column in (keys, values))
    count = len(of_values)
    codes = numbers(keys.indices, len(of_keys) - 1) * count + numbers(values.indices, count - 1)
    distinct, which = np.unique(codes, return_inverse=True)
    actions = [_marker(of_keys[code // count], of_values[code % count]) for code in distinct.tolist()]
    return places, np.array(actions, np.int64)[which]


@lru_cache(1 << 10)
def _marker(key: bytes | None, value: bytes | None) -> OffsetAction:
    """Return the OffsetAction of a control record."""
    try:
        marker = decode_control(key, value)
    except DecodeError:
        return OffsetAction.NONE
    return _MARKERS.get(marker.type, OffsetAction.NONE)

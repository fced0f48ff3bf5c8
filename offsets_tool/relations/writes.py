"""What was written of committed offsets, in the order of the log: commits, tombstones and markers as columns.

Made of the rows of a chunk. Columns tell of a commit without a problem and of its tombstone; other keys and values are decoded
from their bytes by the reference reader. Knows nothing of what comes of it.
"""

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import are_there, encoded, flags, numbers, plain, uuid_of
from offsets_tool.columns.replay.compiled.tables import NONE, Kind
from offsets_tool.columns.replay.row_events import PLACE, RAW, RowEvents
from offsets_tool.columns.replay.row_table import row_kinds
from offsets_tool.events import Event
from offsets_tool.records.kinds import COMMITS, GROUP_METADATA
from offsets_tool.replay.rules import TOPIC_ID_VERSION, proves_new
from offsets_tool.rows import NO_PRODUCER_ID
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.schema import ZERO_UUID
from offsets_tool.wire.text import shown


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
    COMMIT_MARKER = 5
    ABORT_MARKER = 6
    NONE = 7
    """Nothing."""


SUBJECT: Final = ("group", "topic", "partition")
_VALUE: Final = {
    "committed_offset": pa.int64(),
    "leader_epoch": pa.int32(),
    "metadata": pa.string(),
    "commit_timestamp": pa.int64(),
    "expire_timestamp": pa.int64(),
    "topic_id": pa.string(),
}
SAID: Final = pa.schema(
    [("group", pa.string()), ("topic", pa.string()), ("partition", pa.int32()), *_VALUE.items()]
)
"""What a commit says; a tombstone says the first three."""
_LATER: Final = pa.schema(
    [
        ("delta", pa.int64()),
        ("noop_tombstone_log_offset", pa.int64()),
        ("visibility", pa.int8()),
        ("owner", pa.int64()),
        ("began_at", pa.int64()),
        ("committed_at", pa.int64()),
        ("lifetime_topic_id", pa.int64()),
        ("is_doubtful", pa.bool_()),
    ]
)
WRITES: Final = pa.schema(
    [
        *SAID,
        ("action", pa.int8()),
        ("is_read", pa.bool_()),
        ("producer_id", pa.int64()),
        ("commit_log_offset", pa.int64()),
        ("from_log_offset", pa.int64()),
        ("from_timestamp", pa.int64()),
        *_LATER,
    ]
)
"""What a row says and does: whether its value was understood, by which producer (of a transaction), where and when it stood.

A commit that is open since an earlier chunk stands where and when its open row began. How far it moved its offset, the last
tombstone that it outlived while it was pending, whether it was hidden or revealed, and the number of its owner are known later.
"""
_TYPE: Final = Struct(">h")
_FIRST_JOIN: Final = bytes(2 + 4)
"""Behind the version: no protocol type, and generation 0 (rules.FIRST_JOIN)."""
_IN_TRANSACTION: Final = (
    OffsetAction.PENDING,
    OffsetAction.PENDING_TOMBSTONE,
    OffsetAction.COMMIT_MARKER,
    OffsetAction.ABORT_MARKER,
)
_MARKERS: Final = {
    Kind.COMMIT_MARKER: OffsetAction.COMMIT_MARKER,
    Kind.ABORT_MARKER: OffsetAction.ABORT_MARKER,
}


class WriteReader:
    """Makes writes of rows; distinct keys and values that are decoded are decoded once."""

    def __init__(self) -> None:
        """Start without keys."""
        self._events = RowEvents()

    def read(self, rows: pa.RecordBatch, is_new: Array) -> tuple[pa.Table, list[tuple[int, Event]]]:
        """Return what each row (row_events.COLUMNS) of a chunk does (WRITES), and those that columns do not tell of, decoded.

        `is_new` says which rows the new coordinator's rules hold for.
        """
        is_sound = are_there(rows.column("topic")) & ~are_there(rows.column("problem"))
        decoded = list(self._decoded(rows, np.flatnonzero(~is_sound & _are_about_offsets(rows))))
        places = np.array([place for place, _ in decoded], np.int64)
        is_read = np.ones(rows.num_rows, bool)
        is_read[places] = [event.kept_raw is None for _, event in decoded]
        is_about_offsets = is_sound.copy()
        is_about_offsets[places] = True
        said = _said(rows)
        if decoded:
            index = np.arange(rows.num_rows)
            index[places] = rows.num_rows + np.arange(len(places))
            said = pa.concat_tables([said, _said_by([event for _, event in decoded])]).take(pa.array(index))
        is_commit = ~is_read | are_there(said["committed_offset"].combine_chunks())
        action = np.where(is_about_offsets, _actions(rows, is_commit, is_new), _others(rows))
        return _placed(rows, said, action, is_read), decoded

    def first_proof(self, rows: pa.RecordBatch) -> int | None:
        """Return the first row that only the new coordinator writes (rules.proves_new); None without one."""
        is_sound = are_there(rows.column("topic")) & ~are_there(rows.column("problem"))
        is_proof = is_sound & (numbers(rows.column("value_version"), NONE) == TOPIC_ID_VERSION)
        is_proof &= are_there(rows.column("committed_offset"))
        may_prove = ~is_sound & ~flags(rows.column("is_control")) & ~_are_of_any_coordinator(rows)
        for place in np.flatnonzero(is_proof | may_prove).tolist():
            if is_proof[place] or proves_new(next(self._events.events(rows.slice(place, 1)))):
                return place
        return None

    def _decoded(self, rows: pa.RecordBatch, places: Array) -> Iterator[tuple[int, Event]]:
        """Yield the records at these places whose keys are of committed offsets, each with its place."""
        columns = (plain(rows.column(name).take(pa.array(places))).to_pylist() for name in (*PLACE, *RAW))
        for place, facts in zip(places.tolist(), zip(*columns, strict=True), strict=True):
            event = self._events.event(facts)
            if event.key is not None and event.type_id in COMMITS:
                yield place, event


def _are_of_any_coordinator(rows: pa.RecordBatch) -> Array:
    """Return which rows surely are records of classic groups that prove nothing, by the bytes with which their values begin."""
    is_group = pc.equal(pc.binary_slice(plain(rows.column("key")), 0, _TYPE.size), _TYPE.pack(GROUP_METADATA))
    begins = pc.binary_slice(plain(rows.column("value")), _TYPE.size, _TYPE.size + len(_FIRST_JOIN))
    is_first_join = pc.fill_null(pc.equal(begins, _FIRST_JOIN), False)
    has_sequence = numbers(rows.column("sequence"), NONE) >= 0
    return flags(is_group) & ~flags(is_first_join) & ~has_sequence


def _are_about_offsets(rows: pa.RecordBatch) -> Array:
    """Return which rows, unless their keys do not read, are commits or tombstones, by the type with which the key begins."""
    types = pc.binary_slice(plain(rows.column("key")), 0, _TYPE.size)
    is_of_commit = pc.is_in(types, pa.array([_TYPE.pack(type_id) for type_id in sorted(COMMITS)], types.type))
    return flags(is_of_commit) & ~flags(rows.column("is_control"))


def _said(rows: pa.RecordBatch) -> pa.Table:
    """Return what rows say (SAID) if they are of committed offsets and have no problem."""
    said = pa.table([plain(rows.column(name)) for name in SAID.names], SAID.names)
    ids = encoded(rows.column("topic_id"))
    texts = [text if text is not None and uuid_of(text) else None for text in ids.dictionary.to_pylist()]
    topic_ids = pa.array(texts, pa.string()).take(ids.indices)
    return said.set_column(SAID.get_field_index("topic_id"), "topic_id", topic_ids).cast(SAID)


def _said_by(events: list[Event]) -> pa.Table:
    """Return what decoded records of committed offsets say (SAID)."""
    return pa.Table.from_pylist([_said_by_one(event) for event in events], SAID)


def _said_by_one(event: Event) -> dict[str, Any]:
    assert event.key is not None
    key = event.key.data
    said = {"group": shown(key.group), "topic": shown(key.topic), "partition": key.partition}
    if event.value is None:
        return said
    value = event.value.data
    topic_id = None if value.topic_id == ZERO_UUID else uuid_text(value.topic_id)
    said |= {name: getattr(value, name) for name in ("leader_epoch", "commit_timestamp", "expire_timestamp")}
    return said | {"committed_offset": value.offset, "metadata": shown(value.metadata), "topic_id": topic_id}


def _actions(rows: pa.RecordBatch, is_commit: Array, is_new: Array) -> Array:
    """Return the OffsetAction of each row that is about committed offsets, as replay.offsets decides it; anything for others."""
    has_producer = have_producers(rows)
    is_transactional = flags(rows.column("is_transactional"))
    waits = has_producer & (is_new | is_transactional)
    commits = np.where(waits, OffsetAction.PENDING, OffsetAction.COMMIT)
    by_classic = np.where(is_transactional, OffsetAction.PENDING_TOMBSTONE, OffsetAction.TOMBSTONE)
    return np.where(is_commit, commits, np.where(is_new, OffsetAction.REMOVAL, by_classic))


def have_producers(rows: pa.RecordBatch) -> Array:
    """Return which rows have a producer id."""
    return numbers(rows.column("producer_id"), NO_PRODUCER_ID) != NO_PRODUCER_ID  # type: ignore[no-any-return]


def _others(rows: pa.RecordBatch) -> Array:
    """Return the OffsetAction of each row that is not about committed offsets: of a marker, or NONE."""
    actions = np.full(rows.num_rows, OffsetAction.NONE)
    kinds = row_kinds(rows, is_proof_alone=False)
    for kind, action in _MARKERS.items():
        actions[kinds == kind] = action
    return actions


def _placed(rows: pa.RecordBatch, said: pa.Table, action: Array, is_read: Array) -> pa.Table:
    """Return what rows do, with where they stand."""
    columns = {name: said[name] for name in SAID.names}
    columns |= {
        name: pa.nulls(rows.num_rows, field.type) for name, field in zip(_LATER.names, _LATER, strict=True)
    }
    producer = pc.fill_null(rows.column("producer_id"), 0)
    none = pa.scalar(None, pa.int64())
    columns |= {
        "action": pa.array(action.astype(np.int8)),
        "is_read": pa.array(is_read),
        "producer_id": pc.if_else(pa.array(np.isin(action, _IN_TRANSACTION)), producer, none),
        "commit_log_offset": rows.column("log_offset"),
        "from_log_offset": rows.column("log_offset"),
        "from_timestamp": rows.column("timestamp"),
    }
    return pa.table([columns[name] for name in WRITES.names], WRITES.names).cast(WRITES)

"""Makes a table of int64 for compiled code from rows of a log: the kind of each row in a replay by column, and its fields.

A row that is not surely a commit, an offset's tombstone or a marker, without a problem, is ALONE: it is replayed one at a time.
Knows no state.
"""

from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import are_there, encoded, flags, numbers, plain
from offsets_tool.columns.replay.compiled.tables import MARKERS, NONE, Kind, RowCell
from offsets_tool.columns.replay.subjects import Subjects, TopicIdNumbers
from offsets_tool.errors import DecodeError
from offsets_tool.log.batches.control import decode_control
from offsets_tool.replay.rules import TOPIC_ID_VERSION
from offsets_tool.replay.state import Unread
from offsets_tool.rows import NO_PRODUCER_ID, LogRecord
from offsets_tool.wire.text import from_shown

_MARKERS: Final = {"COMMIT": Kind.COMMIT_MARKER, "ABORT": Kind.ABORT_MARKER}
_COMMITS: Final = (Kind.COMMIT, Kind.PENDING)
_COPIED: Final = {
    RowCell.LOG_OFFSET: "log_offset",
    RowCell.TIMESTAMP: "timestamp",
    RowCell.COMMITTED_OFFSET: "committed_offset",
    RowCell.LEADER_EPOCH: "leader_epoch",
    RowCell.COMMIT_TIMESTAMP: "commit_timestamp",
    RowCell.EXPIRE_TIMESTAMP: "expire_timestamp",
}


def row_kinds(rows: pa.RecordBatch, *, is_proof_alone: bool) -> Array:
    """Return the Kind of each row; with `is_proof_alone`, the first commit that proves the new coordinator is ALONE."""
    is_commit, has_problem = are_there(rows.column("committed_offset")), are_there(rows.column("problem"))
    is_transactional, is_control = (flags(rows.column(name)) for name in ("is_transactional", "is_control"))
    has_producer = numbers(rows.column("producer_id"), NO_PRODUCER_ID) != NO_PRODUCER_ID
    reads = ~has_problem & ~is_control
    kinds: Array = np.zeros(rows.num_rows, np.int64)
    kinds[reads & is_commit & ~is_transactional & ~has_producer] = Kind.COMMIT
    kinds[reads & is_commit & is_transactional & has_producer] = Kind.PENDING
    others = np.flatnonzero((kinds == Kind.ALONE) & reads & ~is_commit & ~is_transactional & ~has_producer)
    if len(others):
        kinds[others[_are_tombstones(rows)[others]]] = Kind.TOMBSTONE
    markers = np.flatnonzero(is_control & has_producer)
    if len(markers):
        kinds[markers] = marker_kinds(rows, markers)
    if is_proof_alone:
        versions = numbers(rows.column("value_version"), NONE)
        kinds[np.flatnonzero((versions == TOPIC_ID_VERSION) & is_commit & ~has_problem)[:1]] = Kind.ALONE
    return kinds


def are_plain(rows: pa.RecordBatch) -> Array:
    """Return which rows are commits that are effective at once."""
    return row_kinds(rows, is_proof_alone=False) == Kind.COMMIT  # type: ignore[no-any-return]


def doubtful_rows(rows: pa.RecordBatch, unread: Unread, kinds: Array) -> Array:
    """Return which rows may matter to what was not understood, before these rows or in one of them.

    These are all of its groups, and markers where a commit in a transaction may be among it.
    """
    are_unread = are_there(rows.column("problem")) & ~flags(rows.column("is_control"))
    groups = encoded(rows.column("group"))
    codes = numbers(groups.indices, -1)
    names = unread.groups_concerned()
    doubted = {
        code for code, name in enumerate(groups.dictionary.to_pylist()) if names and from_shown(name) in names
    }
    doubted.update(codes[are_unread].tolist())
    found: Array = np.isin(codes, sorted(doubted - {-1}))
    if unread.pending or (are_unread & flags(rows.column("is_transactional"))).any():
        found |= np.isin(kinds, MARKERS)
    return found


def _are_tombstones(rows: pa.RecordBatch) -> Array:
    """Return which rows, if they are no commit, are tombstones of offsets: only those name a topic."""
    has_value = are_there(rows.column("value")) | are_there(rows.column("value_version"))
    return are_there(rows.column("topic")) & ~has_value


def marker_kinds(rows: pa.RecordBatch, places: Array) -> Array:
    """Return the Kind of the control records at these places: of a marker, or ALONE."""
    keys, values = (encoded(plain(rows.column(name).take(pa.array(places)))) for name in ("key", "value"))
    of_keys, of_values = ([*column.dictionary.to_pylist(), None] for column in (keys, values))
    count = len(of_values)
    codes = numbers(keys.indices, len(of_keys) - 1) * count + numbers(values.indices, count - 1)
    distinct, which = np.unique(codes, return_inverse=True)
    kinds = [_marker_kind(of_keys[code // count], of_values[code % count]) for code in distinct.tolist()]
    return np.array(kinds, np.int64)[which]


@lru_cache(1 << 10)
def _marker_kind(key: bytes | None, value: bytes | None) -> Kind:
    try:
        marker = decode_control(_control(key, value))
    except DecodeError:
        return Kind.ALONE
    return _MARKERS.get(marker.type, Kind.ALONE)


def _control(key: bytes | None, value: bytes | None) -> LogRecord:
    return LogRecord(
        source="", log_partition=None, log_offset=0, timestamp=0, key=key, value=value, is_control=True
    )


def row_table(rows: pa.RecordBatch, kinds: Array, subjects: Subjects, topic_ids: TopicIdNumbers) -> Array:
    """Return the cells of RowCell, a line for each of its fields."""
    table: Array = np.empty((len(RowCell), rows.num_rows), np.int64)
    table[RowCell.KIND] = kinds
    table[RowCell.WRITE_END] = NONE
    table[RowCell.PRODUCER] = subjects.producers_of(rows)
    table[RowCell.PRODUCER_EPOCH] = numbers(rows.column("producer_epoch"), NONE)
    for field, name in _COPIED.items():
        table[field] = numbers(rows.column(name), 0)
    table[RowCell.TOPIC_ID] = topic_ids.of(rows.column("topic_id"))
    names_offset = are_there(rows.column("topic"))
    if names_offset.all():
        table[RowCell.SUBJECT] = subjects.of(rows, slice(None))
    else:
        places = np.flatnonzero(names_offset)
        table[RowCell.SUBJECT] = NONE
        table[RowCell.SUBJECT, places] = subjects.of(rows, places)
    return table

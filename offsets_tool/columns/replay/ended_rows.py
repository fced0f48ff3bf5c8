"""Rows of offset_history, ended or not, and of transactions that ended, in columns, from what compiled code wrote of them.

Knows no past.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from offsets_tool.as_of.transactions import TransactionOutcome
from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.compiled.cells import ABORTED, BEGAN, COMMITTED, ENDS
from offsets_tool.columns.replay.compiled.tables import NONE, ClosedCell, EndedCell, FactCell, OffsetCell
from offsets_tool.columns.replay.history_store import HistoryStore, deltas_of
from offsets_tool.columns.replay.store import ReplayStore
from offsets_tool.expiry.removals import DroppedCommit
from offsets_tool.history.owners import Owner
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.replay.changes import ChangeKind, PendingOf
from offsets_tool.rows import NO_TIMESTAMP
from offsets_tool.wire.arrow import arrow_schema
from offsets_tool.wire.text import shown

_SCHEMA: Final = arrow_schema(OffsetHistoryRow)
_COPIED: Final = {
    "committed_offset": FactCell.COMMITTED_OFFSET,
    "leader_epoch": FactCell.LEADER_EPOCH,
    "commit_timestamp": FactCell.COMMIT_TIMESTAMP,
    "expire_timestamp": FactCell.EXPIRE_TIMESTAMP,
    "commit_log_offset": FactCell.COMMIT_LOG_OFFSET,
    "from_log_offset": FactCell.FROM_LOG_OFFSET,
    "from_timestamp": FactCell.FROM_TIMESTAMP,
}
_OF_ENDED: Final = {
    "to_log_offset": EndedCell.TO_LOG_OFFSET,
    "to_timestamp": EndedCell.TO_TIMESTAMP,
}
_OF_TRANSACTIONS: Final = arrow_schema(TransactionRow)
_OUTCOMES: Final = pa.array([TransactionOutcome.ABORTED.value, TransactionOutcome.COMMITTED.value])
"""By ClosedCell.IS_COMMITTED."""
_OF_CLOSED: Final = {
    "producer_epoch": ClosedCell.EPOCH,
    "commits": ClosedCell.COMMITS,
    "first_log_offset": ClosedCell.FIRST,
    "first_timestamp": ClosedCell.FIRST_TIMESTAMP,
    "last_log_offset": ClosedCell.LAST,
    "last_timestamp": ClosedCell.LAST_TIMESTAMP,
    "marker_log_offset": ClosedCell.MARKER_LOG_OFFSET,
    "marker_timestamp": ClosedCell.MARKER_TIMESTAMP,
    "marker_epoch": ClosedCell.MARKER_EPOCH,
}


def ended_rows(ended: Array, store: HistoryStore) -> pa.RecordBatch:
    """Return the rows whose facts are the lines of `ended` (EndedCell)."""
    ends = {name: _copied(name, ended, cell) for name, cell in _OF_ENDED.items()}
    ends["end_cause"] = _causes(ENDS, ended[:, EndedCell.END_CAUSE])
    return _rows(ended, ended[:, EndedCell.SUBJECT], ends, store)


def open_rows(numbers: Array, store: HistoryStore) -> pa.RecordBatch:
    """Return the rows of the commits that hold, given the numbers of committed offsets that the tables have."""
    names = (*_OF_ENDED, "end_cause")
    ends = {name: pa.nulls(len(numbers), _SCHEMA.field(name).type) for name in names}
    return _rows(store.tables.offsets[numbers], numbers, ends, store)


def _rows(lines: Array, subjects: Array, ends: Mapping[str, pa.Array], store: HistoryStore) -> pa.RecordBatch:
    """Return the rows of commits, given their lines, which begin with FactCell, and how they ended."""
    deltas, has_delta = deltas_of(lines)
    columns: dict[str, Any] = {
        **ends,
        **{name: _copied(name, lines, cell) for name, cell in _COPIED.items()},
        **_subject_columns(subjects, store),
        **_owner_columns(lines, store),
        "is_effective": pa.array(lines[:, FactCell.IS_EFFECTIVE] != 0),
        "delta": pa.array(deltas, mask=~has_delta),
        "metadata": store.texts.column(np.ascontiguousarray(lines[:, FactCell.TEXT])),
        "topic_id": store.topic_ids.column(lines[:, FactCell.TOPIC_ID]),
        "log_partition": pa.repeat(pa.scalar(store.log_partition, pa.int32()), len(lines)),
        "begin_cause": _causes(BEGAN, lines[:, FactCell.BEGIN_CAUSE]),
        "producer_id": _producers(lines[:, FactCell.PRODUCER], store),
        "noop_tombstone_log_offset": _or_null(lines[:, FactCell.NOOP_TOMBSTONE]),
    }
    return pa.record_batch([columns[field.name] for field in _SCHEMA], schema=_SCHEMA)


def _copied(name: str, lines: Array, cell: int) -> pa.Array:
    return pa.array(np.ascontiguousarray(lines[:, cell])).cast(_SCHEMA.field(name).type)


def _subject_columns(numbers: Array, store: HistoryStore) -> dict[str, pa.Array]:
    """Return group, topic and partition of each row, given the numbers of the committed offsets."""
    topics, partitions = store.subjects.names_of(numbers)
    groups = store.subjects.groups.column(store.tables.offsets[numbers, OffsetCell.GROUP])
    return {"group": groups, "topic": topics, "partition": partitions}


def _owner_columns(lines: Array, store: HistoryStore) -> dict[str, pa.Array]:
    places, which = distinct(store.owners.of(lines[:, FactCell.OWNER]))
    owners = [store.owners.owners[place] for place in places]
    return owner_columns(owners, which, lines[:, FactCell.COMMIT_LOG_OFFSET], store.history.after_gap)


def owner_columns(
    owners: Sequence[Owner], which: Array, commit_log_offsets: Array, after_gap: int | None
) -> dict[str, pa.Array]:
    """Return the columns of offset_history that tell of each row's owner, looked up once for each owner.

    `which` is the index of a row's owner; `after_gap` the first offset behind a missing record, as History.as_known heeds it.
    """
    known = np.array([owner.is_known for owner in owners], bool)[which]
    if after_gap is not None:
        nobody = np.array([owner.member_id is None for owner in owners], bool)[which]
        known &= ~(nobody & (commit_log_offsets >= after_gap))
    values: dict[str, list[Any]] = {
        "group_kind": [owner.kind for owner in owners],
        "generation": [owner.generation for owner in owners],
        "group_epoch": [owner.group_epoch for owner in owners],
        "member_epoch": [owner.member_epoch for owner in owners],
        "member_id": [_shown(owner.member_id) for owner in owners],
        "instance_id": [_shown(owner.client.instance_id) for owner in owners],
        "client_id": [_shown(owner.client.client_id) for owner in owners],
        "client_host": [_shown(owner.client.client_host) for owner in owners],
    }
    at, types = pa.array(which), {name: _SCHEMA.field(name).type for name in values}
    made = {
        name: pa.nulls(len(which), types[name])
        if column.count(None) == len(column)
        else pa.array(column, types[name]).take(at)
        for name, column in values.items()
    }
    return {**made, "is_owner_known": pa.array(known)}


def distinct(numbers: Array) -> tuple[list[int], Array]:
    """Return the distinct numbers, and by row the place of its number among them."""
    coded = pa.array(np.ascontiguousarray(numbers)).dictionary_encode()
    return coded.dictionary.to_pylist(), coded.indices.to_numpy()


def _causes(causes: tuple[str, ...], numbers: Array) -> pa.Array:
    return pa.array([str(cause) for cause in causes]).take(pa.array(np.ascontiguousarray(numbers)))


def _producers(numbers: Array, store: HistoryStore) -> pa.Array:
    if (numbers == NONE).all():
        return pa.nulls(len(numbers), pa.int64())
    ids = pa.array(
        [store.subjects.producer(number) for number in range(store.subjects.producers)], pa.int64()
    )
    return ids.take(_or_null(numbers))


def _or_null(numbers: Array) -> pa.Array:
    return pa.array(np.ascontiguousarray(numbers), mask=numbers == NONE)


def _shown(text: str | None) -> str | None:
    return None if text is None else shown(text)


def transaction_rows(closed: Array, ended: Array, store: HistoryStore) -> pa.RecordBatch:
    """Return a row for each group of each transaction in the lines of `closed` (ClosedCell), in their order.

    `ended` are the rows of commits (EndedCell) that ended meanwhile: those that the same marker ended tell the groups.
    """
    places, groups = _groups(closed, ended, store)
    lines, subjects = closed[places], store.subjects
    types = {field.name: field.type for field in _OF_TRANSACTIONS}
    ids = [subjects.producer(number) for number in lines[:, ClosedCell.PRODUCER].tolist()]
    columns: dict[str, Any] = {
        name: pa.array(np.ascontiguousarray(lines[:, cell])).cast(types[name])
        for name, cell in _OF_CLOSED.items()
    }
    columns |= {
        "group": subjects.groups.column(groups),
        "producer_id": pa.array(ids, pa.int64()),
        "outcome": _OUTCOMES.take(pa.array(np.ascontiguousarray(lines[:, ClosedCell.IS_COMMITTED]))),
        "log_partition": pa.repeat(pa.scalar(store.log_partition, pa.int32()), len(lines)),
    }
    return pa.record_batch([columns[field.name] for field in _OF_TRANSACTIONS], schema=_OF_TRANSACTIONS)


def _groups(closed: Array, ended: Array, store: HistoryStore) -> tuple[Array, Array]:
    """Return the places of transactions in `closed`, one for each of their groups, and the groups' numbers."""
    by_marker = ended[np.isin(ended[:, EndedCell.END_CAUSE], (COMMITTED, ABORTED))]
    of_group = store.subjects.group_of
    places = np.searchsorted(closed[:, ClosedCell.MARKER_LOG_OFFSET], by_marker[:, EndedCell.TO_LOG_OFFSET])
    both = np.stack((places, of_group[by_marker[:, EndedCell.SUBJECT]]), axis=1)
    _, first = np.unique(both, axis=0, return_index=True)
    found = both[np.sort(first)]
    return found[:, 0], found[:, 1]


def dropped_commits(
    ended: Array, store: ReplayStore, log_partition: int | None
) -> Iterator[list[DroppedCommit]]:
    """Yield the pending commits that each ABORT marker dropped, in the order of the markers, given rows that ended (EndedCell)."""
    lines = ended[ended[:, EndedCell.END_CAUSE] == ABORTED]
    facts = lines[
        :, [EndedCell.TO_LOG_OFFSET, EndedCell.TO_TIMESTAMP, FactCell.PRODUCER, EndedCell.SUBJECT]
    ].tolist()
    of_marker: list[DroppedCommit] = []
    for (at, when, producer, number), commit in zip(facts, store.commits_of(lines), strict=True):
        if of_marker and of_marker[0].log_offset != at:
            yield of_marker
            of_marker = []
        pending = PendingOf(store.subjects.producer(producer), *store.subjects.offsets[number])
        at_ms = None if when == NO_TIMESTAMP else when
        of_marker.append(DroppedCommit(log_partition, at, at_ms, ChangeKind.ABORTED, pending, commit))
    if of_marker:
        yield of_marker

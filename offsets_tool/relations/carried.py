"""What is open at a place of the log: commits, transactions, removals, rows that wait, as the bytes of a checkpoint and back.

Open commits and transactions also as objects of a coordinator's state, with how long offsets have lived. Groups and members are the
checkpoint's own (`checkpoint`), and in the state already. Two tables of Arrow have the open commits (OPEN) and the rows that
wait; behind them stands a line of JSON. What is read is checked before it counts. Damage raises what `checkpoint.understanding`
explains.
"""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.columns_of_rows import numbers, tuples_of
from offsets_tool.expiry.lifetimes import Lifetime, Lifetimes
from offsets_tool.expiry.removal_codec import pack_removal_facts, unpack_removal_facts
from offsets_tool.expiry.removal_tracker import time_or_none
from offsets_tool.expiry.removals import Removal
from offsets_tool.history.owners import Owner
from offsets_tool.relations.offsets import OPEN, Begun, Past
from offsets_tool.relations.removals import SavedRemovals
from offsets_tool.relations.row_events import COLUMNS
from offsets_tool.relations.transactions import OpenTransaction, with_groups
from offsets_tool.relations.writes import NONE, OffsetAction, WriteReader, Writes
from offsets_tool.replay.changes import (
    CommittedOffset,
    GroupKind,
    OffsetOf,
    PendingCommit,
    PendingOf,
    TopicPartition,
)
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.member_records import Client
from offsets_tool.replay.state import State
from offsets_tool.wire.text import shown

_Fact = TypeVar("_Fact", CommittedOffset, Lifetime)
_OWNER: Final = (pa.string(), *(pa.int32(),) * 3, *(pa.string(),) * 4, pa.bool_())
_TRANSACTION: Final = (*(pa.int64(),) * 7, pa.string())


class Carried(NamedTuple):
    """What later rows may change or need."""

    open: pa.Table
    """Commits that hold (OPEN)."""
    owners: Sequence[Owner]
    """By the numbers that open commits have."""
    topic_ids: Sequence[UUID | None]
    """By the numbers that lifetimes of open commits have."""
    waiting: pa.RecordBatch | None
    """Rows of the log (row_events.COLUMNS) that may have been written with later ones."""
    transactions: Sequence[OpenTransaction]
    removals: SavedRemovals


def nothing_carried() -> Carried:
    """Return what is carried before the first row."""
    return Carried(OPEN.empty_table(), [], [None], None, [], SavedRemovals({}, []))


def pack(carried: Carried) -> bytes:
    """Return what is carried as bytes."""
    rest = {
        "owners": [(*owner[:5], *owner.client, owner.is_known) for owner in carried.owners],
        "topic_ids": [None if topic_id is None else topic_id.hex for topic_id in carried.topic_ids],
        "transactions": carried.transactions,
        "changed": carried.removals.changed,
        "removals": pack_removal_facts(carried.removals.open),
    }
    text = json.dumps(rest, separators=(",", ":"))
    waiting = pa.Table.from_batches([carried.waiting]) if carried.waiting else pa.table({})
    return _packed(carried.open) + _packed(waiting) + text.encode("ascii")


def _packed(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def unpack(data: bytes) -> Carried:
    """Return what `pack` made these bytes of; LookupError, OSError, TypeError or ValueError for others."""
    source = io.BytesIO(data)
    open_, waiting = _unpacked(source), _unpacked(source)
    if open_.schema != OPEN or waiting.column_names not in ([], list(COLUMNS)):
        raise ValueError("tables of other columns")
    rest = json.loads(source.read())
    owners = [_owner(*facts) for facts in _checked(rest["owners"], _OWNER)]
    topic_ids = [None if text is None else UUID(text) for text in rest["topic_ids"]]
    counts = {"owner": len(owners), "lifetime_topic_id": len(topic_ids), "action": 2, "visibility": 3}
    for name, count in counts.items():
        places = numbers(open_[name].combine_chunks(), 0)
        if (places < 0).any() or (places >= count).any():
            raise ValueError(f"a number of {name} that there is not")
    changed = {group: int(changed_at) for group, changed_at in rest["changed"].items()}
    removals = [each for each in unpack_removal_facts(rest["removals"]) if isinstance(each, Removal)]
    return Carried(
        open_,
        owners,
        topic_ids,
        waiting.combine_chunks().to_batches()[0] if len(waiting) else None,
        [OpenTransaction(*facts) for facts in _checked(rest["transactions"], _TRANSACTION)],
        SavedRemovals(changed, removals),
    )


def _unpacked(source: io.BytesIO) -> pa.Table:
    """Return the table that stands next, whole and in its bounds."""
    try:
        with pa.ipc.open_stream(source) as stream:
            table = stream.read_all()
        table.validate(full=True)
    except (OSError, pa.ArrowException) as error:
        raise ValueError(str(error)) from error
    return table


def _checked(rows: Sequence[Sequence[Any]], types: Sequence[pa.DataType]) -> Sequence[Sequence[Any]]:
    """Return rows of JSON whose values have these types; TypeError or ValueError for others."""
    for row in rows:
        for value, of in zip(row, types, strict=True):
            pa.scalar(shown(value) if isinstance(value, str) else value, of)
    return rows


def _owner(kind: str | None, *facts: Any) -> Owner:
    *epochs, member_id, instance_id, client_id, client_host, is_known = facts
    generation, group_epoch, member_epoch = epochs
    client = Client(instance_id, client_id, client_host)
    known_kind = None if kind is None else GroupKind(kind)
    return Owner(known_kind, generation, group_epoch, member_epoch, member_id, client, is_known)


class LiveState(NamedTuple):
    """A coordinator with all that it holds, how long its committed offsets have lived, and when each group last changed (ms)."""

    coordinator: Coordinator
    lifetimes: Lifetimes
    changed: Mapping[str, int]


def put_open(
    state: State, open_: Begun, reader: WriteReader, transactions: Sequence[OpenTransaction]
) -> None:
    """Put open commits and transactions into a state that has none.

    `reader` knows what the numbers of `open_` mean, which are in the order of the log.
    """
    rows, past = open_
    is_live = _are_live(rows)
    others = np.flatnonzero(~is_live)
    _put_others(state, rows.taken(others), past.noop[others], reader)
    live = rows.taken(np.flatnonzero(is_live))
    state.offsets = _by_group(live, reader, reader.commits(live))
    state.transactions |= with_groups((entry.producer_id for entry in transactions), transactions)


def lifetimes_of(open_: Begun, reader: WriteReader) -> Lifetimes:
    """Return the lifetimes of the committed offsets among open commits; `reader` knows what the numbers of these mean."""
    live = np.flatnonzero(_are_live(open_.rows))
    rows, past = open_.rows.taken(live), Past(*(field[live] for field in open_.past))
    ids = map(reader.topic_ids.ids.__getitem__, past.lifetime_topic_id.tolist())
    began_at, committed_at = (
        map(time_or_none, times.tolist()) for times in (past.began_at, past.committed_at)
    )
    facts = reader.commits(rows), began_at, committed_at, ids, (past.is_doubtful != 0).tolist()
    return Lifetimes(_by_group(rows, reader, tuples_of(Lifetime, *facts)))


def _are_live(rows: Writes) -> Array:
    """Return which open commits are committed offsets, as far as they were understood."""
    are_live: Array = rows.is_read & (rows.action == OffsetAction.COMMIT)
    return are_live


def _by_group(
    rows: Writes, reader: WriteReader, facts: Iterable[_Fact]
) -> dict[str, dict[TopicPartition, _Fact]]:
    """Return a fact of each of some commits by group and partition, in the order of the commits."""
    subjects, groups = reader.subjects, rows.group.tolist()
    topics = map(subjects.topics.texts.__getitem__, subjects.topics_of(rows.subject).tolist())
    partitions = tuples_of(TopicPartition, topics, subjects.partitions_of(rows.subject).tolist())
    by_number: dict[int, dict[TopicPartition, _Fact]] = {number: {} for number in groups}
    for group, partition, fact in zip(map(by_number.__getitem__, groups), partitions, facts, strict=True):
        group[partition] = fact
    return {subjects.groups.texts[number]: of_group for number, of_group in by_number.items()}


def _put_others(state: State, rows: Writes, noops: Array, reader: WriteReader) -> None:
    """Put commits that are pending, or not understood; `noops` are the log offsets of tombstones that they outlived, or NONE."""
    facts = rows.subject.tolist(), rows.action.tolist(), rows.producer.tolist(), rows.is_read.tolist()
    for commit, noop, subject, action, producer, is_read in zip(
        reader.commits(rows), noops.tolist(), *facts, strict=True
    ):
        offset: OffsetOf | PendingOf = reader.subjects.offsets[subject]
        if action == OffsetAction.PENDING:
            offset = PendingOf(producer, *offset)
        if is_read:
            state.put(offset, PendingCommit(commit, None if noop == NONE else noop))
        else:
            state.unread.add(offset, commit.log_offset)

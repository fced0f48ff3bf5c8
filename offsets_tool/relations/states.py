"""The state of a coordinator, of relations: what is open at a place of the log, as objects, with how long offsets have lived.

Groups and members are in the coordinator's state already; committed offsets, pending commits and transactions join them here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

import pyarrow as pa

from offsets_tool.columns.replay.columns_of_rows import uuid_of
from offsets_tool.expiry.lifetimes import Lifetime, Lifetimes
from offsets_tool.relations.offsets import NONE
from offsets_tool.relations.transactions import OpenTransaction
from offsets_tool.relations.writes import OffsetAction
from offsets_tool.replay.changes import (
    CommittedOffset,
    OffsetOf,
    PendingCommit,
    PendingOf,
    TopicPartition,
    Transaction,
)
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.state import State
from offsets_tool.wire.text import from_shown

_SAID: Final = (*OffsetOf._fields, *CommittedOffset._fields[:-1], "commit_log_offset")
"""What the commit is about, and says; the place of its record has a name of its own."""
_SAYS: Final = len(_SAID)
_TOLD: Final = (
    "action",
    "is_read",
    "producer",
    "noop",
    "began_at",
    "committed_at",
    "lifetime_topic_id",
    "is_doubtful",
)


class OpenCommit(NamedTuple):
    """A commit that is open: effective, pending of a producer, or not understood; and how long its offset has lived."""

    offset: OffsetOf
    commit: CommittedOffset
    producer_id: int | None
    is_read: bool
    deleted_at: int | None
    began_at: int | None
    committed_at: int | None
    topic_id: UUID | None
    is_doubtful: bool


class LiveState(NamedTuple):
    """A coordinator with all that it holds, how long its committed offsets have lived, and when each group last changed (ms)."""

    coordinator: Coordinator
    lifetimes: Lifetimes
    changed: Mapping[str, int]


def open_commits(table: pa.Table, topic_ids: Sequence[UUID | None]) -> Iterator[OpenCommit]:
    """Yield the commits of a table (offsets.OPEN), in the order of the log; `topic_ids` are those of lifetimes by number."""
    groups, topics = (
        {text: from_shown(text) for text in table[name].unique().to_pylist()} for name in ("group", "topic")
    )
    columns = (table[name].to_pylist() for name in (*_SAID, *_TOLD))
    for row in zip(*columns, strict=True):
        group, topic, partition, committed_offset, leader_epoch, metadata, *times, topic_id, log_offset = row[
            :_SAYS
        ]
        action, is_read, producer, noop, began_at, committed_at, lived, is_doubtful = row[_SAYS:]
        said_id = None if topic_id is None else uuid_of(topic_id)
        commit_timestamp, expire_timestamp = times
        yield OpenCommit(
            OffsetOf(groups[group], topics[topic], partition),
            CommittedOffset(
                committed_offset,
                leader_epoch,
                from_shown(metadata),
                commit_timestamp,
                expire_timestamp,
                said_id,
                log_offset,
            ),
            producer if action == OffsetAction.PENDING else None,
            bool(is_read),
            None if noop == NONE else noop,
            None if began_at < 0 else began_at,
            None if committed_at < 0 else committed_at,
            topic_ids[lived],
            bool(is_doubtful),
        )


def put_open(
    state: State, commits: Iterable[OpenCommit], transactions: Iterable[OpenTransaction]
) -> Lifetimes:
    """Put open commits and transactions into a state that has none; return the lifetimes of the committed offsets."""
    lifetimes, state.offsets = Lifetimes(), {}
    for each in commits:
        _put(state, each)
        if each.is_read and each.producer_id is None:
            lived = each.began_at, each.committed_at, each.topic_id, each.is_doubtful
            lifetimes.put(each.offset, Lifetime(each.commit, *lived))
    for entry in transactions:
        known = state.transactions.get(entry.producer_id) or Transaction(*entry[:6], (), entry.commits)
        groups = known.groups if entry.group is None else (*known.groups, entry.group)
        state.transactions[entry.producer_id] = known._replace(groups=groups)
    return lifetimes


def _put(state: State, each: OpenCommit) -> None:
    offset = each.offset if each.producer_id is None else PendingOf(each.producer_id, *each.offset)
    if not each.is_read:
        state.unread.add(offset, each.commit.log_offset)
    elif each.producer_id is None:
        there = state.offsets.setdefault(each.offset.group, {})
        there[TopicPartition(each.offset.topic, each.offset.partition)] = each.commit
    else:
        state.put(offset, PendingCommit(each.commit, each.deleted_at))

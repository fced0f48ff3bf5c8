"""The state of a coordinator, of relations: what is open at a place of the log, as objects, with how long offsets have lived.

Groups and members are in the coordinator's state already; committed offsets, pending commits and transactions join them here.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import tuples_of
from offsets_tool.expiry.lifetimes import Lifetime, Lifetimes
from offsets_tool.expiry.removal_tracker import time_or_none
from offsets_tool.relations.offsets import NONE, Begun, Past
from offsets_tool.relations.transactions import OpenTransaction
from offsets_tool.relations.writes import OffsetAction, WriteReader, Writes
from offsets_tool.replay.changes import (
    OffsetOf,
    PendingCommit,
    PendingOf,
    TopicPartition,
    Transaction,
)
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.state import State


class LiveState(NamedTuple):
    """A coordinator with all that it holds, how long its committed offsets have lived, and when each group last changed (ms)."""

    coordinator: Coordinator
    lifetimes: Lifetimes
    changed: Mapping[str, int]


def put_open(
    state: State, open_: Begun, reader: WriteReader, transactions: Iterable[OpenTransaction]
) -> Lifetimes:
    """Put open commits and transactions into a state that has none; return the lifetimes of the committed offsets.

    `reader` knows what the numbers of `open_` mean, which are in the order of the log.
    """
    rows, past = open_
    is_live = rows.is_read & (rows.action == OffsetAction.COMMIT)
    live, others = np.flatnonzero(is_live), np.flatnonzero(~is_live)
    _put_others(state, rows.taken(others), past.noop[others], reader)
    lifetimes = _put_live(state, rows.taken(live), Past(*(field[live] for field in past)), reader)
    for entry in transactions:
        known = state.transactions.get(entry.producer_id) or Transaction(*entry[:6], (), entry.commits)
        groups = known.groups if entry.group is None else (*known.groups, entry.group)
        state.transactions[entry.producer_id] = known._replace(groups=groups)
    return lifetimes


def _put_live(state: State, rows: Writes, past: Past, reader: WriteReader) -> Lifetimes:
    subjects, lifetimes = reader.subjects, Lifetimes()
    commits = list(reader.commits(rows))
    topics = map(subjects.topics.texts.__getitem__, subjects.topics_of(rows.subject).tolist())
    ids = map(reader.topic_ids.ids.__getitem__, past.lifetime_topic_id.tolist())
    began_at, committed_at = (
        map(time_or_none, times.tolist()) for times in (past.began_at, past.committed_at)
    )
    lived = tuples_of(Lifetime, commits, began_at, committed_at, ids, (past.is_doubtful != 0).tolist())
    state.offsets = {}
    for group, partition, commit, lifetime in zip(
        map(subjects.groups.texts.__getitem__, rows.group.tolist()),
        tuples_of(TopicPartition, topics, subjects.partitions_of(rows.subject).tolist()),
        commits,
        lived,
        strict=True,
    ):
        state.offsets.setdefault(group, {})[partition] = commit
        lifetimes.by_group.setdefault(group, {})[partition] = lifetime
    return lifetimes


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

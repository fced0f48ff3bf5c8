"""Which rows of a batch histories are told of one at a time, and which by column: the rest, plain commits that come between.

By column go commits whose group is there and stays, in a batch of Kafka's of which all do. So whatever is told one at a time
between two of them was not written at once with them (history.history).
"""

from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.history_events import HistoryEvents
from offsets_tool.columns.replay.plain_commits import numbers
from offsets_tool.columns.replay.row_subjects import RowSubjects
from offsets_tool.events import Event
from offsets_tool.history.history import compared_offset
from offsets_tool.replay.changes import OffsetOf
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import TOPIC_ID_VERSION
from offsets_tool.rows import NO_PRODUCER_ID


class Ordered(NamedTuple):
    """Places in a batch of rows: of events to be told one at a time, and of commits by column, with their subjects."""

    events: list[tuple[int, Event]]
    commits: Array
    subjects: Array


class HistoryOrder:
    """Of one partition."""

    def __init__(self, coordinator: Coordinator, subjects: RowSubjects) -> None:
        self._coordinator = coordinator
        self._subjects = subjects
        self._events = HistoryEvents()
        self._last_write = -1
        """Base offset of the last event that was told by itself: what was written with it may go on in the next rows."""

    def of(self, rows: pa.RecordBatch) -> Ordered:
        """The rows in the order of their offsets."""
        plain = self._are_plain(rows)
        others, commits = np.flatnonzero(~plain), np.flatnonzero(plain)
        events = list(zip(others.tolist(), self._events.events(rows.take(pa.array(others))), strict=True))
        subjects = self._subjects.of(rows, commits)
        groups = self._subjects.group_of[subjects]
        alone = self._are_endangered(groups, [event for _, event in events])
        alone |= self._are_first(groups)
        writes = _writes(rows)
        alone |= np.isin(
            writes[commits], np.append(writes[np.append(others, commits[alone])], self._last_write)
        )
        more = commits[alone]
        found = self._events.events(rows.take(pa.array(more)))
        events = sorted([*events, *zip(more.tolist(), found, strict=True)], key=lambda each: each[0])
        if events:
            self._last_write = int(writes[events[-1][0]])
        return Ordered(events, commits[~alone], subjects[~alone])

    def _are_plain(self, rows: pa.RecordBatch) -> Array:
        """Commits that read, of no producer and in no transaction; but for the first that proves the new coordinator."""
        plain: Array = rows.column("committed_offset").is_valid().to_numpy(zero_copy_only=False)
        plain = plain & (numbers(rows.column("producer_id"), NO_PRODUCER_ID) == NO_PRODUCER_ID)
        for name in ("is_transactional", "is_control"):
            plain &= ~rows.column(name).fill_null(False).to_numpy(zero_copy_only=False)
        if self._coordinator.auto and self._coordinator.proved_at is None:
            proof = plain & (numbers(rows.column("value_version"), -1) == TOPIC_ID_VERSION)
            plain[np.flatnonzero(proof)[:1]] = False
        return plain

    def _are_first(self, groups: Array) -> Array:
        """Commits with which a group begins to be there."""
        known, first = np.unique(groups, return_index=True)
        there = self._coordinator.state.groups
        found = np.zeros(len(groups), bool)
        new = [name not in there for name in (self._subjects.groups[number] for number in known.tolist())]
        found[first[new]] = True
        return found

    def _are_endangered(self, groups: Array, events: Sequence[Event]) -> Array:
        """Commits of groups that an event among these may take away."""
        names: set[str | None] = {
            reach.group
            for event in events
            if event.control is None
            for reach in self._coordinator.reach(event)
            if reach.may_delete
        }
        if any(event.control is not None for event in events):
            names |= {
                offset.group for pending in self._coordinator.state.pending.values() for offset in pending
            }
            names |= {event.group for event in events if event.record.is_transactional}
        known = (self._subjects.group_number(name) for name in names if name is not None)
        found: Array = np.isin(groups, [number for number in known if number is not None])
        return found


def _writes(rows: pa.RecordBatch) -> Array:
    """The base offset of each row's batch; its own offset without one."""
    offsets = rows.column("log_offset").to_numpy()
    base = rows.column("base_offset")
    return np.where(base.is_valid().to_numpy(zero_copy_only=False), numbers(base, 0), offsets)


def looked_at(event: Event, coordinator: Coordinator) -> Iterator[tuple[str, set[OffsetOf] | None]]:
    """Yield by group the offsets that replaying an event and telling its histories look at, beside whether the group has others.

    None stands for all of the group.
    """
    for reach in coordinator.reach(event):
        offsets = {OffsetOf(reach.group, *at) for at in reach.offsets}
        if (compared := compared_offset(event)) is not None:
            offsets.add(compared)
        if reach.asks_for_all:
            yield reach.group, None
        elif offsets or reach.asks_for_any:
            yield reach.group, offsets


class Waiting:
    """Commits by column, to be had group by group up to an event of the group."""

    def __init__(self, facts: Array, places: Array, groups: Array, apart: Set[int]) -> None:
        """`apart`: the groups that events are about."""
        is_apart = np.isin(groups, list(apart))
        self._others = facts[~is_apart]
        order = np.flatnonzero(is_apart)[np.argsort(groups[is_apart], kind="stable")]
        self._facts, self._places = facts[order], places[order]
        known, begins, counts = np.unique(groups[order], return_index=True, return_counts=True)
        self._left = {
            group: (begin, begin + count)
            for group, begin, count in zip(known.tolist(), begins.tolist(), counts.tolist(), strict=True)
        }

    def take(self, group: int | None, before: int) -> Array:
        """What the group committed before this place and was not yet taken."""
        begin, end = self._left.get(group, (0, 0)) if group is not None else (0, 0)
        cut = begin + int(np.searchsorted(self._places[begin:end], before))
        if group is not None and end:
            self._left[group] = cut, end
        return self._facts[begin:cut]

    def rest(self) -> Array:
        """All that is left."""
        parts = [self._facts[begin:end] for begin, end in self._left.values()]
        found: Array = np.concatenate([self._others, *parts])
        return found

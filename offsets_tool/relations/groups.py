"""What groups and their members do, one record at a time: the records of groups, and what commits and tombstones do to groups.

Coordinator replays them; of committed offsets it is told whether a group holds any, which the set knows for every place. A first
commit makes a simple group, and the tombstone that takes the last offset removes it by the classic rules. Says nothing of offsets.
"""

from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import partial
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.row_events import ExpectedEvents, RowEvents
from offsets_tool.columns.replay.subjects import Names
from offsets_tool.events import Event
from offsets_tool.relations.writes import OffsetAction, Writes
from offsets_tool.replay.changes import Change, CommittedOffset, GroupOf, TopicPartition
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.offsets import add_simple_group, remove_unused_simple_group
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.step import Step


class Holdings:
    """How many committed offsets each group of a chunk holds, effective or pending, behind each of its writes."""

    def __init__(self, groups: Array, begins: Array, ends: Array, span: int) -> None:
        """Count what is held of a group from one write to another; `ends` are `span` or more where it still is."""
        over = np.flatnonzero(ends < span)
        keys = np.concatenate((groups * span + begins, groups[over] * span + ends[over]))
        order = np.argsort(keys, kind="stable")
        changes = np.concatenate((np.ones(len(begins), np.int64), np.full(len(over), -1)))
        self._span = span
        self._keys = keys[order]
        self._sums = np.append(0, np.cumsum(changes[order]))

    def counts(self, groups: Array, places: Array) -> Array:
        """Return how many offsets each group holds behind the write at each place; before the first one at -1."""
        last = np.searchsorted(self._keys, groups * self._span + places, "right")
        first = np.searchsorted(self._keys, groups * self._span)
        counts: Array = self._sums[np.maximum(last, first)] - self._sums[first]
        return counts


class Held(dict[str, dict[TopicPartition, CommittedOffset]]):
    """Stands for the committed offsets of a State: says which groups hold any, and has none to look at."""

    def __init__(self) -> None:
        """Start with groups that hold nothing."""
        super().__init__()
        self.holds: Callable[[str], bool] = lambda _: False

    def __contains__(self, group: object) -> bool:
        return isinstance(group, str) and self.holds(group)


class GroupEvent(NamedTuple):
    """What the record at a place of a chunk did to groups, or an anomaly that is of none."""

    place: int
    event: Event
    changes: tuple[Change, ...]


class GroupReplay:
    """The groups of one log partition: `replay` takes chunks and returns what their records did to groups."""

    def __init__(self, coordinator: Coordinator, observe: Callable[[Event], None]) -> None:
        """Start with the groups of a coordinator, whose state has no offsets; `observe` is given each record of groups."""
        self.coordinator = coordinator
        self._observe = observe
        self._held = Held()
        coordinator.state.offsets = self._held
        self._events = RowEvents()

    def replay(
        self, rows: pa.RecordBatch, writes: Writes, names: Names, holdings: Holdings, proved: int | None
    ) -> Iterator[GroupEvent]:
        """Yield what each row did to groups, in order; exhaust it.

        `names` are the groups of the writes; from the place `proved` on the new coordinator's rules hold.
        """
        chunk = _Chunk(rows, writes, names, holdings)
        queue = sorted([*chunk.others(), *chunk.last_tombstones(), *self._first_commits(chunk)])
        places = np.unique(np.array([place for place, _ in queue], np.int64)) - writes.carried
        events = ExpectedEvents(self._events, rows, places)
        while queue:
            place, why = heappop(queue)
            if proved is not None and place >= proved:
                self._prove(rows, writes, proved)
            event = events.at(place - writes.carried)
            self._held.holds = partial(chunk.holds, place)
            changes = self._changes(event, why)
            # A tombstone of a group that is not there may belong to what was removed.
            if changes or (why is _Why.RECORD and event.tombstone and event.group is not None):
                yield GroupEvent(place, event, changes)
            for group in {change.subject.group for change in changes if isinstance(change.subject, GroupOf)}:
                if (
                    group not in self.coordinator.state.groups
                    and (after := chunk.next_commit(group, place)) is not None
                ):
                    heappush(queue, (after, _Why.COMMIT))
        self._prove(rows, writes, proved)
        # Transactions are a set too: here they only tell that a record is in one.
        self.coordinator.state.transactions.clear()

    def _prove(self, rows: pa.RecordBatch, writes: Writes, proved: int | None) -> None:
        """Go on by the rules of the new coordinator from the place that proves them, if there is one."""
        if proved is not None and self.coordinator.proved_at is None:
            self.coordinator.rules = Rules.NEW
            self.coordinator.proved_at = rows.column("log_offset")[proved - writes.carried].as_py()

    def _first_commits(self, chunk: "_Chunk") -> Iterator[tuple[int, "_Why"]]:
        """Yield the first commit of each group that is not there."""
        groups = self.coordinator.state.groups
        yield from ((place, _Why.COMMIT) for group, place in chunk.first_commits() if group not in groups)

    def _changes(self, event: Event, why: "_Why") -> tuple[Change, ...]:
        coordinator, group = self.coordinator, event.group or ""
        if why is _Why.RECORD:
            self._observe(event)
            return coordinator.replay(event)
        step = Step(coordinator.state, coordinator.rules, coordinator.log_partition, event)
        if why is _Why.COMMIT:
            add_simple_group(step, group)
        else:
            remove_unused_simple_group(step, group)
            coordinator.observe_difference(step)
        return tuple(step.changes)


class _Why(IntEnum):
    """Why a row is looked at."""

    RECORD = 0
    COMMIT = 1
    LAST_TOMBSTONE = 2


class _Chunk:
    """The rows of a chunk by group."""

    def __init__(self, rows: pa.RecordBatch, writes: Writes, names: Names, holdings: Holdings) -> None:
        self._writes, self._names, self._holdings = writes, names, holdings
        self._span = len(writes.action) + 1
        commits = writes.of(OffsetAction.COMMIT, OffsetAction.PENDING)
        commits = commits[commits >= writes.carried]
        self._commits = np.sort(writes.group[commits] * self._span + commits)

    def others(self) -> Iterator[tuple[int, _Why]]:
        """Yield the rows that are no writes of offsets."""
        yield from ((place, _Why.RECORD) for place in self._writes.of(OffsetAction.NONE).tolist())

    def last_tombstones(self) -> Iterator[tuple[int, _Why]]:
        """Yield the tombstones behind which their groups hold nothing."""
        places = self._writes.of(OffsetAction.REMOVAL, OffsetAction.TOMBSTONE, OffsetAction.PENDING_TOMBSTONE)
        if len(places):
            left = self._holdings.counts(self._writes.group[places], places)
            yield from ((place, _Why.LAST_TOMBSTONE) for place in places[left == 0].tolist())

    def first_commits(self) -> Iterator[tuple[str, int]]:
        """Yield each group with its first commit."""
        groups, first = np.unique(self._commits // self._span, return_index=True)
        for group, index in zip(groups.tolist(), first.tolist(), strict=True):
            yield self._names.texts[group], int(self._commits[index]) % self._span

    def next_commit(self, group: str, place: int) -> int | None:
        """Return the next commit of a group behind a place; None without one."""
        number = self._names.number(group)
        if number is None:
            return None
        index = int(np.searchsorted(self._commits, number * self._span + place, "right"))
        if index == len(self._commits) or self._commits[index] // self._span != number:
            return None
        return int(self._commits[index]) % self._span

    def holds(self, place: int, group: str) -> bool:
        """Return whether a group holds offsets behind a place."""
        number = self._names.number(group)
        return number is not None and bool(self._holdings.counts(np.array([number]), np.array([place]))[0])

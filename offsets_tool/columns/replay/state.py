"""Replay many at a time: rows of `events` in, the coordinator's state as Coordinator.replay would have made it, record by record.

Plain commits are taken by column; what else there is goes through Coordinator.replay one at a time, after the commits that it could
see have been brought to the state. Only groups that something else happens to need that: all others wait until they are looked at.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.held_commits import Commits, HeldCommits
from offsets_tool.columns.replay.plain_commits import Subjects, are_plain, numbers
from offsets_tool.columns.replay.replaced import are_replaced
from offsets_tool.columns.replay.row_events import COMMIT, PLACE, RAW, RowEvents, plain
from offsets_tool.events import Event
from offsets_tool.replay.changes import Change
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import TOPIC_ID_VERSION
from offsets_tool.wire.text import from_shown

COLUMNS: Final = (*PLACE, *COMMIT, "value_json", "problem", *RAW)
"""What a row must have: columns of `events`, and magic, raw key and value of `log`."""


def with_raw(log: pa.RecordBatch, events: pa.RecordBatch) -> pa.RecordBatch:
    """Rows as `ColumnCoordinator` takes them, from the same rows of both tables."""
    for name in RAW:
        events = events.append_column(name, log.column(name))
    return events


class ColumnCoordinator:
    """A Coordinator that takes rows. Its state is whole after `settle`."""

    def __init__(self, coordinator: Coordinator, *, state_only: bool = False) -> None:
        """With `state_only`, classic groups' records that are replaced at once are passed over (columns.replay.replaced)."""
        self.coordinator = coordinator
        self._state_only = state_only
        self._subjects = Subjects()
        self._held = HeldCommits(self._subjects, coordinator.state)
        self._events = RowEvents()

    def replay(self, rows: pa.RecordBatch) -> list[tuple[Event, tuple[Change, ...]]]:
        """Replays rows (COLUMNS) of one partition, in the order of their offsets. Returns the events that are no plain commits,
        and what they did."""
        return list(self.replay_each(rows))

    def replay_each(self, rows: pa.RecordBatch) -> Iterator[tuple[Event, tuple[Change, ...]]]:
        """The same, where each may be forgotten before the next: the rows are replayed when all have been taken."""
        plain_rows = self._are_plain(rows)
        places, others = np.flatnonzero(plain_rows), np.flatnonzero(~plain_rows)
        subjects = self._subjects.of(rows, places)
        self._held.make_room()
        if not len(others):
            self._held.hold_rows(rows, places, subjects)
            return
        groups = self._subjects.group_of[subjects]
        others = self._without_replaced(rows, others)
        looked_at = self._looked_at(rows, others)[groups]
        self._held.hold_rows(rows, places[~looked_at], subjects[~looked_at])
        commits = Commits.of(rows, places[looked_at], subjects[looked_at])
        waiting = _Waiting(commits, places[looked_at], groups[looked_at])
        for place, event in zip(others.tolist(), self._events.events(rows, others), strict=True):
            self._bring_to_date(event, place, waiting)
            yield event, self.coordinator.replay(event)
        for group, commits in waiting.rest():
            self._held.hold(group, commits)

    def settle(self) -> Coordinator:
        """The coordinator, with everything that was replayed in its state."""
        self._held.settle()
        return self.coordinator

    def _are_plain(self, rows: pa.RecordBatch) -> Array:
        """Plain commits, but for the first that proves which rules hold: the coordinator has to see it."""
        plain_rows = are_plain(rows)
        if self.coordinator.auto and self.coordinator.proved_at is None:
            proof = plain_rows & (numbers(rows.column("value_version"), -1) == TOPIC_ID_VERSION)
            plain_rows[np.flatnonzero(proof)[:1]] = False
        return plain_rows

    def _without_replaced(self, rows: pa.RecordBatch, others: Array) -> Array:
        if not self._state_only:
            return others
        proved = not self.coordinator.auto or self.coordinator.proved_at is not None
        return others[~are_replaced(rows.take(pa.array(others)), proved=proved)]

    def _looked_at(self, rows: pa.RecordBatch, others: Array) -> Array:
        """By group number: whether other records than plain commits may be about the group."""
        groups = pc.unique(plain(rows.column("group").take(pa.array(others)))).drop_null()
        names = set(map(from_shown, groups.to_pylist()))
        if rows.column("is_control").true_count:
            pending = self.coordinator.state.pending.values()
            names |= {offset.group for commits in pending for offset in commits}
        found = [number for name in names if (number := self._subjects.group_number(name)) is not None]
        looked_at = np.zeros(max(1, len(self._subjects.groups)), bool)
        looked_at[found] = True
        return looked_at

    def _bring_to_date(self, event: Event, place: int, waiting: "_Waiting") -> None:
        """Gives the state what this event may look at: whether its group is there, and its offsets if they matter."""
        for reach in self.coordinator.reach(event):
            group = self._subjects.group_number(reach.group)
            if group is None:
                continue
            if reach.reads_offsets or reach.group not in self.coordinator.state.groups:
                self._held.hold(group, waiting.take(group, place))
            if reach.asks_for_all:
                self._held.settle_group(group)
            elif reach.reads_offsets:
                places = [self._subjects.number(reach.group, at) for at in reach.offsets]
                self._held.settle_some(group, places)


class _Waiting:
    """Commits of groups that other records are about, to be had group by group up to such a record."""

    def __init__(self, commits: Commits, places: Array, groups: Array) -> None:
        order = np.argsort(groups, kind="stable")
        groups = groups[order]
        self._commits = commits.part(order)
        self._places = places[order]
        known, begins, counts = np.unique(groups, return_index=True, return_counts=True)
        ends = begins + counts
        self._left = {
            group: (begin, end)
            for group, begin, end in zip(known.tolist(), begins.tolist(), ends.tolist(), strict=True)
        }

    def take(self, group: int, before: int) -> Commits:
        """What the group committed before this place and was not yet taken."""
        begin, end = self._left.get(group, (0, 0))
        cut = begin + int(self._places[begin:end].searchsorted(before))
        self._left[group] = cut, end
        return self._commits.part(slice(begin, cut))

    def rest(self) -> Iterator[tuple[int, Commits]]:
        """What is left, group by group."""
        return ((group, self._commits.part(slice(*left))) for group, left in self._left.items())

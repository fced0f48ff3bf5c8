"""Replay many at a time: rows of `events` in, the coordinator's state as Coordinator.replay would have made it, record by record.

Plain commits are taken by column; what else there is goes through Coordinator.replay one at a time, after the commits that it could
see have been brought to the state. Only groups that something else happens to need that: all others wait until they are looked at.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.held_commits import Commits, HeldCommits
from offsets_tool.columns.plain_commits import Subjects, are_plain, numbers
from offsets_tool.columns.row_events import RowEvents, plain
from offsets_tool.events import Event
from offsets_tool.replay.changes import Change
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import TOPIC_ID_VERSION
from offsets_tool.rows import NO_PRODUCER_ID

Array = np.ndarray[Any, Any]

_COMMITS: Final = (0, 1)

COLUMNS: Final = (
    "log_partition",
    "log_offset",
    "timestamp",
    "base_offset",
    "producer_id",
    "producer_epoch",
    "sequence",
    "is_transactional",
    "is_control",
    "magic",
    "group",
    "topic",
    "partition",
    "value_version",
    "committed_offset",
    "leader_epoch",
    "metadata",
    "commit_timestamp",
    "expire_timestamp",
    "topic_id",
    "problem",
    "key",
    "value",
)
"""What a row must have: columns of `events`, and magic, raw key and value of `log`."""


def with_raw(log: pa.RecordBatch, events: pa.RecordBatch) -> pa.RecordBatch:
    """Rows as `ColumnCoordinator` takes them, from the same rows of both tables."""
    for name in ("magic", "key", "value"):
        events = events.append_column(name, log.column(name))
    return events


class ColumnCoordinator:
    """A Coordinator that takes rows. Its state is whole after `settle`."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.coordinator = coordinator
        self._subjects = Subjects()
        self._held = HeldCommits(self._subjects, coordinator.state)
        self._events = RowEvents()

    def replay(self, rows: pa.RecordBatch) -> list[tuple[Event, tuple[Change, ...]]]:
        """Replays rows (COLUMNS) of one partition, in the order of their offsets. Returns the events that are no plain commits,
        and what they did."""
        plain_rows = self._are_plain(rows)
        places, others = np.flatnonzero(plain_rows), np.flatnonzero(~plain_rows)
        subjects = self._subjects.of(rows, places)
        self._held.make_room()
        if not len(others):
            self._held.hold_rows(rows, places, subjects)
            return []
        groups = self._subjects.group_of[subjects]
        looked_at = self._looked_at(rows, others)[groups]
        self._held.hold_rows(rows, places[~looked_at], subjects[~looked_at])
        commits = Commits.of(rows, places[looked_at], subjects[looked_at])
        waiting = _Waiting(commits, places[looked_at], groups[looked_at])
        replayed = []
        for place, event in zip(others.tolist(), self._events.events(rows, others), strict=True):
            self._bring_to_date(event, place, waiting)
            replayed.append((event, self.coordinator.replay(event)))
        for commits in waiting.rest():
            self._held.hold(commits)
        return replayed

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

    def _looked_at(self, rows: pa.RecordBatch, others: Array) -> Array:
        """By group number: whether other records than plain commits may be about the group."""
        names = set(pc.unique(plain(rows.column("group").take(pa.array(others)))).to_pylist())
        if rows.column("is_control").true_count:
            pending = self.coordinator.state.pending.values()
            names |= {offset.group for commits in pending for offset in commits}
        found = [number for name in names if (number := self._subjects.group_number(name)) is not None]
        looked_at = np.zeros(max(1, len(self._subjects.groups)), bool)
        looked_at[found] = True
        return looked_at

    def _bring_to_date(self, event: Event, place: int, waiting: "_Waiting") -> None:
        """Gives the state what this event may look at: whether its group is there, and the offsets if they matter."""
        sees_offsets = _sees_offsets(event)
        for name in self._groups_of(event):
            group = self._subjects.group_number(name)
            if group is not None and (sees_offsets or name not in self.coordinator.state.groups):
                self._held.hold(waiting.take(group, place))
                if sees_offsets:
                    self._held.settle([group])

    def _groups_of(self, event: Event) -> Iterable[str]:
        if event.control is not None:
            producer = event.record.producer_id
            pending = {} if producer is None else self.coordinator.state.pending.get(producer, {})
            return {offset.group for offset in pending}
        return () if event.group is None else (event.group,)


def _sees_offsets(event: Event) -> bool:
    """Not so a group's own records unless they are tombstones, nor commits that only wait for their transaction's end."""
    if event.control is not None or event.value is None:
        return True
    record = event.record
    is_pending = bool(record.is_transactional) and record.producer_id not in (None, NO_PRODUCER_ID)
    return event.type_id in _COMMITS and not is_pending


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
        cut = begin + int(np.searchsorted(self._places[begin:end], before))
        self._left[group] = cut, end
        return self._commits.part(slice(begin, cut))

    def rest(self) -> Iterator[Commits]:
        """What is left, group by group."""
        return (self._commits.part(slice(*left)) for left in self._left.values())

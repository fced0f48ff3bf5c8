"""History many at a time: rows of one partition in, columns of its histories out, as History tells them record by record.

`replay_batches` for what a reader loops over; HistoryReplay for whoever goes on later from where it was left. Decides nothing that
history.history and replay.coordinator do not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

import numpy as np
import pyarrow as pa

from offsets_tool.checkpoint import Observers, restore, save
from offsets_tool.columns.replay.commit_facts import facts_of
from offsets_tool.columns.replay.commit_history import CommitHistory
from offsets_tool.columns.replay.commit_log_facts import see_commits
from offsets_tool.columns.replay.history_order import HistoryOrder, Waiting, looked_at
from offsets_tool.columns.replay.row_subjects import RowSubjects
from offsets_tool.events import Event
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.expiry.removal_log import RemovalLog
from offsets_tool.expiry.rows import RemovalRow
from offsets_tool.history.history import History
from offsets_tool.history.rows import (
    AnomalyRow,
    GroupHistoryRow,
    HistoryRow,
    MemberHistoryRow,
    OffsetHistoryRow,
)
from offsets_tool.replay.changes import GroupOf, MemberOf
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.wire.arrow import record_batch
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.text import from_shown, shown_row

ROWS: Final[tuple[type, ...]] = (
    OffsetHistoryRow,
    GroupHistoryRow,
    MemberHistoryRow,
    AnomalyRow,
    RemovalRow,
)


class HistoryRows(NamedTuple):
    """Rows of the four histories, and of what was removed; none where there is nothing."""

    offsets: pa.RecordBatch
    groups: pa.RecordBatch
    members: pa.RecordBatch
    anomalies: pa.RecordBatch
    removals: pa.RecordBatch


class Start(NamedTuple):
    """With what a partition's replay begins: `names` of topics by id, as text, as rows show them; `checkpoint` as `Left` has it."""

    log_partition: int | None
    names: Mapping[str, str] = {}
    rules: Rules | None = None
    checkpoint: bytes | None = None
    source: str = "checkpoint"
    """What to call the checkpoint."""


class Left(NamedTuple):
    """Where a partition's replay was left: `rows` hold now, or ended so lately that the next record may still tell it otherwise.

    They begin at no certain offset, but none of them ended before `settled`; all rows given before had.
    """

    rows: HistoryRows
    settled: int
    position: int
    checkpoint: bytes
    rules: Rules
    proved_at: int | None
    differed_at: int | None
    unnamed: tuple[str, ...]
    """Ids that were asked for and have no name in `names`."""


def replay_batches(start: Start, batches: Iterable[pa.RecordBatch]) -> Iterator[HistoryRows]:
    """All rows of one partition (history_events.COLUMNS), in the order of their offsets; at the end, what still holds."""
    replay = HistoryReplay(start)
    for rows in batches:
        yield replay.replay(rows)
    yield replay.leave().rows


class HistoryReplay:
    """Replays rows of one partition. SourceError for a checkpoint that does not read."""

    def __init__(self, start: Start) -> None:
        self._names = _Names(start.names)
        self._position = 0
        self._coordinator = Coordinator(start.log_partition, start.rules)
        self._history = History(self._names.name)
        self._losses, self._signs = RemovalLog(start.log_partition), LogFacts()
        if start.checkpoint is not None:
            self._go_on(start.checkpoint, start)
        coordinator, history = self._coordinator, self._history
        self._subjects = RowSubjects()
        self._order = HistoryOrder(coordinator, self._subjects)
        lives = self._losses.tracker.lifetimes
        self._commits = CommitHistory(start.log_partition, self._subjects, coordinator.state, history, lives)

    def _go_on(self, checkpoint: bytes, start: Start) -> None:
        self._coordinator, self._position, told = restore(checkpoint, start.source, self._names.name)
        assert told is not None
        self._history, self._losses, self._signs = told
        if start.rules is not None:
            # Learnt since: so far, both rules came to the same.
            self._coordinator.rules, self._coordinator.auto = start.rules, False

    def replay(self, rows: pa.RecordBatch) -> HistoryRows:
        """The rows that ended with these records; anomalies."""
        if not rows.num_rows:
            return _columns([], [])
        self._see(rows.column("log_offset").to_numpy())
        ordered = self._order.of(rows)
        facts = facts_of(rows, ordered.commits, ordered.subjects)
        see_commits(self._signs, rows, ordered.commits, facts)
        groups = self._subjects.group_of[ordered.subjects]
        apart = {number for _, event in ordered.events if (number := self._group(event)) is not None}
        waiting = Waiting(facts, ordered.commits, groups, apart)
        told, last = _Rows(), -1
        for place, event in ordered.events:
            self._turn_page(told, ordered.commits, last, place)
            self._tell(told, event, waiting.take(self._group(event), place))
            last = place
        self._turn_page(told, ordered.commits, last, rows.num_rows)
        told.add(*self._commits.fold(waiting.rest()))
        told.rows += self._losses.settled(self._history.settled)
        return _columns(told.rows, told.columns)

    def _see(self, offsets: Any) -> None:
        self._position = int(offsets[-1]) + 1
        behind = np.flatnonzero(np.diff(offsets) != 1)
        after_gap = int(offsets[behind[0] + 1]) if len(behind) else None
        behind_last = int(offsets[behind[-1] + 1]) if len(behind) else None
        self._signs.observe_offsets(int(offsets[0]), int(offsets[-1]), behind_last)
        self._history.observe_run(int(offsets[0]), self._position, after_gap)

    def _group(self, event: Event) -> int | None:
        return None if event.group is None else self._subjects.group_number(event.group)

    def _turn_page(self, told: "_Rows", commits: Any, last: int, place: int) -> None:
        """Commits between two events: what was written before them is whole."""
        if np.searchsorted(commits, place) > np.searchsorted(commits, last):
            told.rows += self._history.flush()
            self._settle_groups(self._losses.tracker.may_close(None))
            self._losses.close()

    def _tell(self, told: "_Rows", event: Event, commits: Any) -> None:
        """One event, after the commits of its group."""
        told.add(*self._commits.fold(commits))
        for group, offsets in looked_at(event, self._coordinator):
            if offsets is None:
                self._commits.settle_group(group)
            else:
                self._commits.settle_some(group, offsets)
        self._settle_groups(self._losses.may_close(event))
        self._signs.observe(event)
        changes = self._coordinator.replay(event)
        self._losses.fold(event, changes)
        for change in changes:
            told.rows += self._history.fold(change)
            if isinstance(change.subject, GroupOf | MemberOf):
                self._commits.changed(change.subject.group)

    def _settle_groups(self, groups: Iterable[str]) -> None:
        """What a removal left is all that its group has."""
        for group in groups:
            self._commits.settle_group(group)

    def leave(self) -> Left:
        """To be called once, at the end."""
        self._commits.settle()
        coordinator, settled = self._coordinator, self._history.settled
        told = Observers(self._history, self._losses, self._signs)
        checkpoint = save(coordinator, self._position, told)
        held = [*self._history.flush(), *self._history.open_rows(), *self._losses.unsettled()]
        return Left(
            rows=_columns(held, []),
            settled=settled,
            position=self._position,
            checkpoint=checkpoint,
            rules=coordinator.rules,
            proved_at=coordinator.proved_at,
            differed_at=coordinator.differed_at,
            unnamed=tuple(sorted(self._names.missing)),
        )


class _Names:
    """Names of topics, and what was asked for in vain."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = {topic_id: from_shown(name) for topic_id, name in names.items()}
        self.missing: set[str] = set()

    def name(self, topic_id: UUID) -> str:
        text = uuid_text(topic_id)
        if text not in self._names:
            self.missing.add(text)
        return self._names.get(text, text)


class _Rows:
    """Rows of all kinds that ended, and offsets' in columns."""

    def __init__(self) -> None:
        self.rows: list[HistoryRow | RemovalRow] = []
        self.columns: list[pa.RecordBatch] = []

    def add(self, columns: pa.RecordBatch | None, rows: Sequence[HistoryRow]) -> None:
        self.rows += rows
        if columns is not None:
            self.columns.append(columns)


def _columns(rows: Sequence[HistoryRow | RemovalRow], offsets: Sequence[pa.RecordBatch]) -> HistoryRows:
    one_by_one, *others = (_batch(kind, [row for row in rows if type(row) is kind]) for kind in ROWS)
    return HistoryRows(_joined([*offsets, one_by_one]), *others)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    rows = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return rows[0] if rows else batches[0]


def _batch(kind: type, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """Rows with their texts as `events` has them."""
    return record_batch(kind, list(map(shown_row, rows)))

"""What a replay for histories begins with, returns and leaves, and the replay of joined copies, whose events are no rows.

Decides nothing that history.history and replay.coordinator do not.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

import pyarrow as pa

from offsets_tool.checkpoint import Observers, save
from offsets_tool.events import Event
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.expiry.removal_tracker import RemovalTracker
from offsets_tool.expiry.rows import RemovalRow, removal_rows
from offsets_tool.history.history import History
from offsets_tool.history.rows import (
    AnomalyRow,
    GroupHistoryRow,
    HistoryRow,
    MemberHistoryRow,
    OffsetHistoryRow,
)
from offsets_tool.history.transactions import TransactionRow, ended_transactions, open_transactions
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.wire.arrow import shown_batch
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.text import from_shown

ROWS: Final[tuple[type, ...]] = (
    OffsetHistoryRow,
    GroupHistoryRow,
    MemberHistoryRow,
    AnomalyRow,
    RemovalRow,
    TransactionRow,
)
_Row = HistoryRow | RemovalRow | TransactionRow


class HistoryRows(NamedTuple):
    """Rows of the four histories, of removals and of transactions; a batch without rows where there are none."""

    offsets: pa.RecordBatch
    groups: pa.RecordBatch
    members: pa.RecordBatch
    anomalies: pa.RecordBatch
    removals: pa.RecordBatch
    transactions: pa.RecordBatch


class Start(NamedTuple):
    """What the replay of a partition begins with.

    `names` are names of topics by topic id as text, as rows show them; `checkpoint` is that of an earlier `ReplayEnd`.
    """

    log_partition: int | None
    names: Mapping[str, str] = {}
    rules: Rules | None = None
    checkpoint: bytes | None = None
    source: str = "checkpoint"
    """What to call the checkpoint."""


class ReplayEnd(NamedTuple):
    """The end of a partition's replay, from which a later one goes on.

    `rows` hold now, or ended so lately that the next record may still change them: they may begin at any offset, but none of
    them ended before the offset `settled`. All rows that were returned earlier did, and so did those in `ended`.
    """

    ended: HistoryRows
    rows: HistoryRows
    settled: int
    position: int
    proven_from: int
    """Every record from this offset on is present."""
    checkpoint: bytes
    rules: Rules
    proved_at: int | None
    differed_at: int | None
    unnamed: tuple[str, ...]
    """Ids that were asked for and have no name in `names`."""


class EventHistoryReplay:
    """Replays the events of one partition one at a time, from its first: absences, too, which no row stands for."""

    def __init__(self, start: Start) -> None:
        """Start where `start` says, which may have no checkpoint."""
        self._names = ShownNames(start.names)
        self._position = 0
        self._coordinator = Coordinator(start.log_partition, start.rules)
        self._history, self._facts = History(self._names.name), LogFacts()
        self._removals = RemovalTracker(start.log_partition)
        self._ended: list[RemovalRow | TransactionRow] = []
        """Rows that were not returned yet, because rows of history that end with the same record were not."""

    def replay(self, events: Iterable[Event]) -> HistoryRows:
        """Replay events; return the rows that ended with them, and anomalies."""
        history, facts, rows = self._history, self._facts, list[_Row]()
        for event in events:
            at = event.record.log_offset
            if not event.is_absence:
                facts.observe_offsets(at, at, None)
                self._position = at + 1
            facts.observe(event)
            history.observe_record(at)
            changes = self._coordinator.replay(event)
            self._ended += removal_rows(self._removals.take_event(event, changes))
            self._ended += ended_transactions(event, changes)
            rows += (row for change in changes for row in history.observe_change(change))
        rows += (row for row in self._ended if _end(row) < history.settled)
        self._ended = [row for row in self._ended if _end(row) >= history.settled]
        return _columns(rows)

    def leave(self, end: int = 0) -> ReplayEnd:
        """Return the end of the replay, as Histories.leave does; call it once, after all events."""
        coordinator, history, facts, removals = self._coordinator, self._history, self._facts, self._removals
        settled, position = history.settled, max(end, self._position)
        facts.observe_end(position)
        # No replay goes on from it: its state is asked for.
        observers = Observers(History(), facts, removals.lifetimes, removals.changed)
        checkpoint = save(coordinator, position, observers)
        open_ = open_transactions(coordinator.state.transactions.values(), coordinator.log_partition)
        of_removals = removal_rows(removals.open_removals(), are_open=True)
        held = [*history.flush(), *history.open_rows(), *self._ended, *of_removals, *open_]
        return ReplayEnd(
            ended=_columns([]),
            rows=_columns(held),
            settled=settled,
            position=position,
            proven_from=facts.proven_from,
            checkpoint=checkpoint,
            rules=coordinator.rules,
            proved_at=coordinator.proved_at,
            differed_at=coordinator.differed_at,
            unnamed=tuple(sorted(self._names.missing)),
        )


def _end(row: RemovalRow | TransactionRow) -> int:
    """Return the offset in the log at which a row ended."""
    end = row.to_log_offset if isinstance(row, RemovalRow) else row.marker_log_offset
    assert end is not None
    return end


class ShownNames:
    """Names of topics by topic id, and the ids that were asked for and have no name."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """Start with names as rows show them."""
        self._names = {topic_id: from_shown(name) for topic_id, name in names.items()}
        self._by_id: dict[int, str] = {}
        """By the id as a number, which is looked up faster."""
        self.missing: set[str] = set()

    def name(self, topic_id: UUID) -> str:
        """Return the name of a topic id, the id as text without one."""
        name = self._by_id.get(topic_id.int)
        if name is None:
            text = uuid_text(topic_id)
            if text not in self._names:
                self.missing.add(text)
            name = self._by_id[topic_id.int] = self._names.get(text, text)
        return name


def _columns(rows: Sequence[_Row]) -> HistoryRows:
    """Return rows as columns."""
    by_kind: dict[type, list[_Row]] = {kind: [] for kind in ROWS}
    for row in rows:
        by_kind[type(row)].append(row)
    return HistoryRows(*(shown_batch(kind, of_kind) for kind, of_kind in by_kind.items()))

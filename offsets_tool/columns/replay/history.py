"""Histories by column: takes rows of one log partition, yields the rows of its histories, as History makes them one by one.

`replay_batches` replays a whole partition; HistoryReplay can continue from the end of an earlier replay; EventHistoryReplay replays
the events of joined copies, which are no rows. Decides nothing that history.history and replay.coordinator do not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

import pyarrow as pa

from offsets_tool.checkpoint import Observers, restore, save, understanding
from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import behind_gaps
from offsets_tool.columns.replay.ended_rows import open_rows
from offsets_tool.columns.replay.groups.groups_replay import GroupsReplay
from offsets_tool.columns.replay.row_facts import observe_rows
from offsets_tool.columns.replay.saved.saved_offsets import pack_offsets, unpack_offsets
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
from offsets_tool.history.transactions import TransactionLog, TransactionRow, open_transactions
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


def replay_batches(start: Start, batches: Iterable[pa.RecordBatch]) -> Iterator[HistoryRows]:
    """Replay all rows (row_events.COLUMNS) of one partition, by offset; yield the rows that ended, and last those that hold."""
    replay = HistoryReplay(start)
    for rows in batches:
        yield replay.replay(rows)
    yield replay.leave().rows


class HistoryReplay:
    """Replays rows of one partition. SourceError for a checkpoint that does not read."""

    def __init__(self, start: Start) -> None:
        """Start where `start` says."""
        self._names = ShownNames(start.names)
        self._position = 0
        coordinator, history = Coordinator(start.log_partition, start.rules), History(self._names.name)
        removals, transactions = RemovalLog(start.log_partition), TransactionLog()
        self._facts, offsets = LogFacts(), b""
        if start.checkpoint is not None:
            checkpoint = restore(start.checkpoint, start.source, self._names.name)
            coordinator, self._position, observers, offsets = checkpoint
            assert observers is not None
            history, removals, self._facts, transactions = observers
            if start.rules is not None:
                # Learnt since: so far, both rules came to the same.
                coordinator.rules, coordinator.auto = start.rules, False
        self._replay = GroupsReplay(coordinator, history, removals, transactions)
        with understanding(start.source):
            unpack_offsets(offsets, self._replay.store)

    def replay(self, rows: pa.RecordBatch) -> HistoryRows:
        """Replay rows; return the rows that ended with these records, and anomalies."""
        if not rows.num_rows:
            return _columns([])
        self._observe_run(rows.column("log_offset").to_numpy())
        by_rows = self._replay
        for event, changes in by_rows.replay(rows):
            self._facts.observe_type(event)
            by_rows.observe(event, changes)
        by_rows.observe_facts(self._facts, rows)
        observe_rows(self._facts, rows, by_rows.kinds)
        columns = {
            "offsets": by_rows.take_columns(),
            "groups": by_rows.take_groups(),
            "members": by_rows.take_members(),
            "transactions": by_rows.take_transactions(),
        }
        return _columns(by_rows.take_rows(), columns)

    def _observe_run(self, offsets: Array) -> None:
        self._position = int(offsets[-1]) + 1
        behind = behind_gaps(offsets)
        self._facts.observe_offsets(
            int(offsets[0]), int(offsets[-1]), int(behind[-1]) if len(behind) else None
        )

    def leave(self, end: int = 0) -> ReplayEnd:
        """Return the end of the replay; call it once, after all rows. Records up to `end` count as read, even if none came."""
        replay, coordinator = self._replay, self._replay.materialize_others()
        observers = Observers(replay.history, replay.removals, self._facts, replay.transactions)
        position, store = max(end, self._position), replay.store
        left = _replay_end(coordinator, observers, position, self._names, pack_offsets(store))
        offsets = [open_rows(store.in_tables(), store), left.rows.offsets]
        return left._replace(rows=left.rows._replace(offsets=_joined(offsets)))


class EventHistoryReplay:
    """Replays the events of one partition one at a time, from its first: absences, too, which no row stands for."""

    def __init__(self, start: Start) -> None:
        """Start where `start` says, which may have no checkpoint."""
        self._names = ShownNames(start.names)
        self._position = 0
        self._coordinator = Coordinator(start.log_partition, start.rules)
        history, removals = History(self._names.name), RemovalLog(start.log_partition)
        self._observers = Observers(history, removals, LogFacts(), TransactionLog())

    def replay(self, events: Iterable[Event]) -> HistoryRows:
        """Replay events; return the rows that ended with them, and anomalies."""
        history, removals, facts, transactions = self._observers
        rows: list[_Row] = []
        for event in events:
            at = event.record.log_offset
            if event.absence is None:
                facts.observe_offsets(at, at, None)
                self._position = at + 1
            facts.observe(event)
            history.observe_record(at)
            changes = self._coordinator.replay(event)
            removals.observe(event, changes)
            transactions.observe(event, changes)
            rows += (row for change in changes for row in history.observe_change(change))
        rows += (*removals.take_settled(history.settled), *transactions.take_settled(history.settled))
        return _columns(rows)

    def leave(self, end: int = 0) -> ReplayEnd:
        """Return the end of the replay, as HistoryReplay.leave does; call it once, after all events."""
        return _replay_end(self._coordinator, self._observers, max(end, self._position), self._names)


def _replay_end(
    coordinator: Coordinator, observers: Observers, position: int, names: "ShownNames", offsets: bytes = b""
) -> ReplayEnd:
    """Return the end of a replay, without rows of the committed offsets that are packed in `offsets`."""
    history, removals, facts, transactions = observers
    settled = history.settled
    facts.observe_end(position)
    checkpoint = save(coordinator, position, observers, offsets)
    open_ = open_transactions(coordinator.state.transactions.values(), coordinator.log_partition)
    held = [
        *history.flush(),
        *history.open_rows(),
        *removals.unsettled(),
        *transactions.unsettled(),
        *open_,
    ]
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
        unnamed=tuple(sorted(names.missing)),
    )


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


def _columns(rows: Sequence[_Row], more: Mapping[str, Sequence[pa.RecordBatch]] = {}) -> HistoryRows:
    """Return rows as columns, with `more` by field of HistoryRows, which are columns already."""
    by_kind: dict[type, list[_Row]] = {kind: [] for kind in ROWS}
    for row in rows:
        by_kind[type(row)].append(row)
    made = HistoryRows(*(shown_batch(kind, of_kind) for kind, of_kind in by_kind.items()))
    return made._replace(**{name: _joined([*some, getattr(made, name)]) for name, some in more.items()})


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    filled = [batch for batch in batches if batch.num_rows]
    if len(filled) > 1:
        return pa.Table.from_batches(filled).combine_chunks().to_batches()[0]
    return filled[0] if filled else batches[0]

"""History many at a time: rows of one partition in, columns of its histories out, as History tells them record by record.

`replay_batches` for what a reader loops over; HistoryReplay for whoever goes on later from where it was left. Decides nothing that
replay.history and replay.coordinator do not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

import pyarrow as pa

from offsets_tool.columns.history_events import HistoryEvents
from offsets_tool.replay.checkpoint import restore, save
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.history import History
from offsets_tool.replay.history_rows import (
    AnomalyRow,
    GroupHistoryRow,
    HistoryRow,
    MemberHistoryRow,
    OffsetHistoryRow,
)
from offsets_tool.replay.rules import Rules
from offsets_tool.wire.arrow import record_batch
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.text import java_text

ROWS: Final[tuple[type, ...]] = (OffsetHistoryRow, GroupHistoryRow, MemberHistoryRow, AnomalyRow)


class HistoryRows(NamedTuple):
    """Rows of the four histories; none where there is nothing."""

    offsets: pa.RecordBatch
    groups: pa.RecordBatch
    members: pa.RecordBatch
    anomalies: pa.RecordBatch


class Start(NamedTuple):
    """With what a partition's replay begins: `names` of topics by id, as text; `checkpoint` as `Left` has it."""

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
        self._events = HistoryEvents()
        self._position = 0
        self._coordinator = Coordinator(start.log_partition, start.rules)
        self._history = History(self._names.name)
        if start.checkpoint is not None:
            self._go_on(start.checkpoint, start)

    def _go_on(self, checkpoint: bytes, start: Start) -> None:
        self._coordinator, self._position, history = restore(checkpoint, start.source, self._names.name)
        assert history is not None
        self._history = history
        if start.rules is not None:
            # Learnt since: so far, both rules came to the same.
            self._coordinator.rules, self._coordinator.auto = start.rules, False

    def replay(self, rows: pa.RecordBatch) -> HistoryRows:
        """The rows that ended with these records; anomalies."""
        ended: list[HistoryRow] = []
        for event in self._events.events(rows):
            self._history.see_record(event.record.log_offset)
            for change in self._coordinator.replay(event):
                ended += self._history.fold(change)
            self._position = event.record.log_offset + 1
        return _columns(ended)

    def leave(self) -> Left:
        """To be called once, at the end."""
        coordinator, settled = self._coordinator, self._history.settled
        checkpoint = save(coordinator, self._position, self._history)
        held = [*self._history.flush(), *self._history.open_rows()]
        return Left(
            rows=_columns(held),
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
        self._names = names
        self.missing: set[str] = set()

    def name(self, topic_id: UUID) -> str:
        text = uuid_text(topic_id)
        if text not in self._names:
            self.missing.add(text)
        return self._names.get(text, text)


def _columns(rows: Sequence[HistoryRow]) -> HistoryRows:
    return HistoryRows(*(_batch(kind, [row for row in rows if type(row) is kind]) for kind in ROWS))


def _batch(kind: type, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    try:
        return record_batch(kind, rows)
    except UnicodeEncodeError:
        return record_batch(kind, [tuple(map(_readable, row)) for row in rows])


def _readable(value: Any) -> Any:
    """Texts as `events` has them."""
    if isinstance(value, tuple):
        return tuple(map(java_text, value))
    return java_text(value) if isinstance(value, str) else value

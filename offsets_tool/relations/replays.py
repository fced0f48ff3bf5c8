"""What a replay for histories begins with, returns and leaves."""

from collections.abc import Mapping
from typing import Final, NamedTuple
from uuid import UUID

import pyarrow as pa

from offsets_tool.expiry.rows import RemovalRow
from offsets_tool.history.rows import AnomalyRow, GroupHistoryRow, MemberHistoryRow, OffsetHistoryRow
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.replay.rules import Rules
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

"""Expiry many at a time: rows of one partition in; when each of its offsets goes, and what went. Then why, for a cluster at once.

What went in all partitions together tells why (a topic's deletion shows in several), so losses are brought together first. Decides
nothing that replay.views_expiry does not.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from offsets_tool.columns.history_events import HistoryEvents
from offsets_tool.replay.as_of import AsOf
from offsets_tool.replay.causes import Known
from offsets_tool.replay.expiry import Policy
from offsets_tool.replay.expiry_rows import ExpiryRow, expiry_row
from offsets_tool.replay.moment import PartitionMoment
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.views_expiry import Happened, Losses, Row, explained, gone_rows, live_rows, losses
from offsets_tool.wire.arrow import record_batch
from offsets_tool.wire.text import java_text


class ExpiryStart(NamedTuple):
    """What is known of a partition beforehand. `rules` None: what its log proves; `ends_new`: whether the new ones hold at its end.

    `begins`: base offset of its first segment. `policies`: the forecast is by each, what is gone is weighed by the first. `newest`:
    time of the cluster's newest record, epoch milliseconds.
    """

    log_partition: int | None
    rules: Rules | None
    ends_new: bool
    begins: int
    policies: tuple[Policy, ...]
    newest: int | None


class PartitionExpiry(NamedTuple):
    """Rows of ExpiryRow of what is there, and what went."""

    live: pa.RecordBatch
    losses: Losses


def replay_expiry(start: ExpiryStart, batches: Iterable[pa.RecordBatch]) -> PartitionExpiry:
    """All rows of one partition (history_events.COLUMNS), in the order of their offsets."""
    partition = PartitionMoment(start.log_partition, AsOf(), start.rules, start.begins)
    happened = _happened(partition, batches)
    found = losses(partition, happened, is_new=start.ends_new)
    live = [row for policy in start.policies for row in live_rows([partition], policy, start.newest)]
    return PartitionExpiry(_columns(live), found)


def explain_losses(
    found: Sequence[Losses], newest: int | None, policy: Policy, known: Known
) -> pa.RecordBatch:
    """Rows of ExpiryRow of what is gone, given the losses of all partitions of a cluster."""
    return _columns(gone_rows(explained(found, newest, policy, known), policy))


def _happened(partition: PartitionMoment, batches: Iterable[pa.RecordBatch]) -> Iterator[Happened]:
    events = HistoryEvents()
    for rows in batches:
        for event in events.events(rows):
            yield event, partition.replay(event) or ()


def _columns(rows: Iterable[Row]) -> pa.RecordBatch:
    return record_batch(ExpiryRow, [tuple(map(_readable, expiry_row(row))) for row in rows])


def _readable(value: Any) -> Any:
    """Texts as `events` has them."""
    return java_text(value) if isinstance(value, str) else value

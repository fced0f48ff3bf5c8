"""Transactions that committed offsets, a row for each group of each: from its first record to the marker that ended it.

A transaction without a commit in the log partition has no row. The log does not say who ended it; the marker's epoch is a hint.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final, NamedTuple

from offsets_tool.as_of.transactions import EndedTransaction, TransactionOutcome
from offsets_tool.events import Event
from offsets_tool.history.rows import Group
from offsets_tool.replay.changes import Change, Transaction, TransactionOf
from offsets_tool.rows import NO_PRODUCER_ID
from offsets_tool.table_rows import LogPartition
from offsets_tool.wire.schema import Int16, Int32, Int64, String


class TransactionRow(NamedTuple):
    """A transaction in which a producer committed offsets of a group; one that has several groups has a row for each."""

    group: Group
    producer_id: Annotated[Int64, "Id of the producer."]
    producer_epoch: Annotated[Int16, "Epoch of the producer when it wrote the commits."]
    outcome: Annotated[String, "open, committed or aborted."]
    commits: Annotated[Int32, "Commits of the transaction in this log partition, of all its groups."]
    log_partition: LogPartition
    first_log_offset: Annotated[Int64, "Offset in the log of its first record."]
    first_timestamp: Annotated[Int64, "When that record was written, epoch milliseconds."]
    last_log_offset: Annotated[Int64, "Offset in the log of its last commit."]
    last_timestamp: Annotated[Int64, "When that record was written, epoch milliseconds."]
    marker_log_offset: Annotated[
        Int64 | None, "Offset in the log of the marker that ended it; null while open."
    ]
    marker_timestamp: Annotated[
        Int64 | None, "When the marker was written, epoch milliseconds; null while open."
    ]
    marker_epoch: Annotated[
        Int16 | None,
        "Producer epoch of the marker; null while open. Above producer_epoch the transaction coordinator raised it: it aborted a "
        "transaction that timed out or was fenced, or, with transaction version 2, ended any.",
    ]

    @property
    def is_epoch_raised(self) -> bool:
        """Whether the marker's epoch is above the producer's."""
        return self.marker_epoch is not None and self.marker_epoch > self.producer_epoch


_OUTCOMES: Final = {"COMMIT": TransactionOutcome.COMMITTED, "ABORT": TransactionOutcome.ABORTED}


def ended_transaction(event: Event, changes: Sequence[Change]) -> EndedTransaction | None:
    """Return what a marker ended, given its changes; None for other events, and for a marker of no producer."""
    record, marker = event.record, event.control
    if marker is None or marker.type not in _OUTCOMES or record.producer_id in (None, NO_PRODUCER_ID):
        return None
    outcome = _OUTCOMES[marker.type]
    before = (change.before for change in changes if isinstance(change.subject, TransactionOf))
    ended = next((value for value in before if isinstance(value, Transaction)), None)
    producer = record.producer_id, record.producer_epoch
    return EndedTransaction(*producer, outcome, record.log_offset, record.timestamp, ended)


def ended_transactions(event: Event, changes: Sequence[Change]) -> Iterator[TransactionRow]:
    """Yield the rows of the transaction that a marker ended; none for other events and for markers without data."""
    ended = ended_transaction(event, changes)
    if ended is not None and ended.transaction is not None:
        marker = ended.marker_log_offset, ended.marker_timestamp, ended.marker_epoch
        yield from _rows(ended.transaction, event.record.log_partition, ended.outcome, marker)


def open_transactions(
    transactions: Iterable[Transaction], log_partition: int | None
) -> Iterator[TransactionRow]:
    """Yield the rows of transactions that no marker has ended."""
    for transaction in transactions:
        yield from _rows(transaction, log_partition, TransactionOutcome.OPEN, (None, None, None))


def _rows(
    transaction: Transaction,
    log_partition: int | None,
    outcome: TransactionOutcome,
    marker: tuple[int | None, int | None, int | None],
) -> Iterator[TransactionRow]:
    for group in transaction.groups:
        yield TransactionRow(
            group,
            transaction.producer_id,
            transaction.producer_epoch,
            outcome.value,
            transaction.commits,
            log_partition,
            transaction.first_offset,
            transaction.first_timestamp,
            transaction.last_offset,
            transaction.last_timestamp,
            *marker,
        )

"""Transactions in the log, a row each: producer, first and last record, outcome, pending commits; and what open ones block.

Whether an open transaction hangs (its coordinator has forgotten it) is not in this log; `age_ms` is the evidence for it. A marker
without data of its producer has a row too: the producer wrote none here, or compaction has removed it all.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot
from offsets_tool.as_of.views_offsets import pending_row
from offsets_tool.log_clock import age_at
from offsets_tool.replay.changes import Transaction
from offsets_tool.rows import Row


class TransactionOutcome(StrEnum):
    """How a transaction has ended up to the moment."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


class AgeTo(StrEnum):
    """The event up to which the age of a transaction is counted."""

    MARKER = "marker"
    AS_OF = "as_of"
    NEWEST_RECORD = "newest_record"


class EndedTransaction(NamedTuple):
    """What a marker ended: the transaction of its producer, None where nothing of that is here."""

    producer_id: int | None
    marker_epoch: int | None
    outcome: TransactionOutcome
    marker_log_offset: int
    marker_timestamp: int
    transaction: Transaction | None


class Blocked(NamedTuple):
    """A partition whose last stable offset is held back by an open transaction: no committed read and no compaction passes it."""

    log_partition: int | None
    last_stable_offset: int
    records: int
    """Number of offsets from there to the moment, none of which can have been compacted."""
    producer_id: int


def last_stable_offset(p: PartitionSnapshot) -> int:
    """Return the offset where the earliest open transaction begins; the end without one."""
    first = _first_open(p)
    return p.end if first is None else first.first_offset


def blocked(snapshot: Snapshot) -> list[Blocked]:
    """Return the partitions that have an open transaction."""
    firsts = ((p, _first_open(p)) for p in snapshot)
    return [
        Blocked(p.log_partition, first.first_offset, p.end - first.first_offset, first.producer_id)
        for p, first in firsts
        if first is not None
    ]


def _first_open(p: PartitionSnapshot) -> Transaction | None:
    return min(p.state.transactions.values(), key=attrgetter("first_offset"), default=None)


def open_rows(snapshot: Snapshot, wanted: Wanted | None = None) -> list[Row]:
    """Return a row for each open transaction, the oldest first; `wanted` chooses groups."""
    rows = [row for p in snapshot for row in _open_rows(snapshot, p) if _is_wanted(row, wanted)]
    return sorted(
        rows, key=lambda row: (row["first_timestamp"], row["log_partition"] or 0, row["first_offset"])
    )


def ended_rows(
    p: PartitionSnapshot, ended: Iterable[EndedTransaction], wanted: Wanted | None = None
) -> Iterator[Row]:
    """Yield a row for each transaction of a log partition that ended, in the order of their markers; `wanted` chooses groups."""
    return (row for row in (_ended_row(p, each) for each in ended) if _is_wanted(row, wanted))


def _is_wanted(row: Row, wanted: Wanted | None) -> bool:
    return wanted is None or not wanted.groups or wanted.groups.meet(row["groups"])


def _open_rows(snapshot: Snapshot, p: PartitionSnapshot) -> Iterator[Row]:
    # No record that counts is later than the time of --as-of.
    is_timed = snapshot.as_of.time is not None
    until = snapshot.as_of.time if is_timed else snapshot.newest_timestamp
    age_to = AgeTo.AS_OF if is_timed else AgeTo.NEWEST_RECORD
    for transaction in p.state.transactions.values():
        pending = [
            {**offset._asdict(), **pending_row(transaction.producer_id, waiting)}
            for offset, waiting in p.state.pending.get(transaction.producer_id, {}).items()
        ]
        pending.sort(key=itemgetter("log_offset"))
        yield _row(p, TransactionOutcome.OPEN, transaction, until, age_to) | {"pending": pending}


def _ended_row(p: PartitionSnapshot, ended: EndedTransaction) -> Row:
    marker = {
        "marker_log_offset": ended.marker_log_offset,
        "marker_timestamp": ended.marker_timestamp,
        "marker_epoch": ended.marker_epoch,
    }
    if ended.transaction is not None:
        until = ended.marker_timestamp, AgeTo.MARKER
        return _row(p, ended.outcome, ended.transaction, *until) | marker
    producer = {"producer_id": ended.producer_id, "producer_epoch": ended.marker_epoch}
    return _NO_DATA | producer | {"outcome": ended.outcome} | marker | _partition_fields(p)


def _row(
    p: PartitionSnapshot,
    outcome: TransactionOutcome,
    transaction: Transaction,
    until: int | None,
    age_to: AgeTo,
) -> Row:
    """Return a transaction's row; `until` is when it ended, or the moment, and `age_to` says which of them."""
    return _NO_DATA | {
        "producer_id": transaction.producer_id,
        "producer_epoch": transaction.producer_epoch,
        "outcome": outcome,
        "first_offset": transaction.first_offset,
        "last_offset": transaction.last_offset,
        "first_timestamp": transaction.first_timestamp,
        "last_timestamp": transaction.last_timestamp,
        "age_ms": age_at(until, transaction.first_timestamp),
        "age_to": age_to,
        "age_to_timestamp": until,
        "groups": list(transaction.groups),
        "commits": transaction.commits,
        **_partition_fields(p),
    }


def _partition_fields(p: PartitionSnapshot) -> Row:
    return {
        "log_partition": p.log_partition,
        "last_stable_offset": last_stable_offset(p),
        "proven_from": p.coverage.proven_from,
    }


_NO_DATA: Final[Row] = {
    "producer_id": None,
    "producer_epoch": None,
    "outcome": None,
    "first_offset": None,
    "last_offset": None,
    "marker_log_offset": None,
    "first_timestamp": None,
    "last_timestamp": None,
    "marker_timestamp": None,
    "marker_epoch": None,
    "age_ms": None,
    "age_to": None,
    "age_to_timestamp": None,
    "groups": [],
    "commits": 0,
    "pending": [],
}

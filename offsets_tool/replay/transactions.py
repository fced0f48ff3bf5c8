"""Transactions in the log, a row each: who, from where to where, how it ended, what is still pending; and what open ones block.

Whether an open transaction hangs (its coordinator has forgotten it) is not in this log: `age_ms` is what speaks for it. A marker
whose producer left no data here has a row too: it wrote none, or compaction has taken it all.
"""

from enum import StrEnum
from typing import Any, Final, NamedTuple

from offsets_tool.events import Event
from offsets_tool.replay.changes import Change, Transaction, TransactionOf
from offsets_tool.replay.moment import Moment, PartitionMoment, Watch
from offsets_tool.replay.views_offsets import pending_row
from offsets_tool.replay.wanted import Wanted

Row = dict[str, Any]


class Outcome(StrEnum):
    """How a transaction ended, up to the moment."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Ended(NamedTuple):
    """A marker and what it ended: None where its producer had nothing here. Times are record timestamps in epoch milliseconds."""

    outcome: Outcome
    producer_id: int | None
    marker_epoch: int | None
    marker_offset: int
    marker_timestamp: int
    transaction: Transaction | None


_OUTCOMES: Final = {"COMMIT": Outcome.COMMITTED, "ABORT": Outcome.ABORTED}


class EndedTransactions:
    """Gathers the markers of each partition while it is replayed."""

    def __init__(self) -> None:
        self._ended: dict[int | None, list[Ended]] = {}

    def watch(self, log_partition: int | None) -> Watch:
        """For the replay of one partition, from its start."""
        ended = self._ended[log_partition] = []

        def see(event: Event, changes: tuple[Change, ...]) -> None:
            if event.control is not None and event.control.type in _OUTCOMES:
                ended.append(_ended(event, _OUTCOMES[event.control.type], changes))

        return see

    def of(self, log_partition: int | None) -> list[Ended]:
        """In the order of the log."""
        return self._ended.get(log_partition, [])


def _ended(event: Event, outcome: Outcome, changes: tuple[Change, ...]) -> Ended:
    record = event.record
    found = next((c.before for c in changes if isinstance(c.subject, TransactionOf)), None)
    transaction = found if isinstance(found, Transaction) else None
    return Ended(
        outcome, record.producer_id, record.producer_epoch, record.log_offset, record.timestamp, transaction
    )


class Blocked(NamedTuple):
    """A partition whose last stable offset stands: nobody who reads committed data, and no compaction, gets past it."""

    log_partition: int | None
    last_stable_offset: int
    records: int
    """Offsets from there to the moment: none of them can have been compacted."""
    producer_id: int


def last_stable_offset(p: PartitionMoment) -> int:
    """Where the earliest open transaction begins, else the end."""
    return min((open_.first_offset for open_ in p.state.transactions.values()), default=p.end)


def blocked(moment: Moment) -> list[Blocked]:
    """Partitions with an open transaction."""
    found = []
    for p in moment:
        first = min(p.state.transactions.values(), key=lambda open_: open_.first_offset, default=None)
        if first is not None:
            at = first.first_offset
            found.append(Blocked(p.log_partition, at, p.end - at, first.producer_id))
    return found


def transaction_rows(moment: Moment, ended: EndedTransactions, wanted: Wanted | None = None) -> list[Row]:
    """Open transactions first, the oldest before the others; then those that ended, in the order of the log."""
    asked = wanted or Wanted()
    rows = [row for p in moment for row in _open_rows(moment, p)]
    rows.sort(key=lambda row: (row["first_timestamp"], row["log_partition"] or 0, row["first_offset"]))
    rows += [_ended_row(p, marker) for p in moment for marker in ended.of(p.log_partition)]
    return [row for row in rows if not asked.groups or not asked.groups.isdisjoint(row["groups"])]


def _open_rows(moment: Moment, p: PartitionMoment) -> list[Row]:
    until = moment.newest_timestamp if moment.as_of.time is None else moment.as_of.time
    return [
        _row(p, Outcome.OPEN, open_, until)
        | {
            "pending": [
                {**offset._asdict(), **pending_row(open_.producer_id, waiting)}
                for offset, waiting in p.state.pending.get(open_.producer_id, {}).items()
            ]
        }
        for open_ in p.state.transactions.values()
    ]


def _ended_row(p: PartitionMoment, ended: Ended) -> Row:
    marker = {"marker_offset": ended.marker_offset, "marker_timestamp": ended.marker_timestamp}
    if ended.transaction is not None:
        return _row(p, ended.outcome, ended.transaction, ended.marker_timestamp) | marker
    who = {"producer_id": ended.producer_id, "producer_epoch": ended.marker_epoch, "outcome": ended.outcome}
    return _NO_DATA | who | marker | _partition_fields(p)


def _row(p: PartitionMoment, outcome: Outcome, transaction: Transaction, until: int | None) -> Row:
    """`until` is when it ended, or the moment: what its age is counted to."""
    return {
        "producer_id": transaction.producer_id,
        "producer_epoch": transaction.producer_epoch,
        "outcome": outcome,
        "first_offset": transaction.first_offset,
        "last_offset": transaction.last_offset,
        "marker_offset": None,
        "first_timestamp": transaction.first_timestamp,
        "last_timestamp": transaction.last_timestamp,
        "marker_timestamp": None,
        "age_ms": None if until is None else until - transaction.first_timestamp,
        "groups": list(transaction.groups),
        "commits": transaction.commits,
        "pending": [],
        **_partition_fields(p),
    }


def _partition_fields(p: PartitionMoment) -> Row:
    return {
        "log_partition": p.log_partition,
        "last_stable_offset": last_stable_offset(p),
        "proven_from": p.proof.proven_from,
    }


_NO_DATA: Final[Row] = {
    "producer_id": None,
    "producer_epoch": None,
    "outcome": None,
    "first_offset": None,
    "last_offset": None,
    "marker_offset": None,
    "first_timestamp": None,
    "last_timestamp": None,
    "marker_timestamp": None,
    "age_ms": None,
    "groups": [],
    "commits": 0,
    "pending": [],
}

"""Transactions that committed offsets, as a set: the records of each producer between two of its markers are one transaction.

Open ones are carried from chunk to chunk as one entry for each of their groups, which stand before the chunk's own records.
Source: as replay.offsets opens and ends them, and history.transactions makes rows of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.as_of.transactions import EndedTransaction, TransactionOutcome
from offsets_tool.columns.arrays import Array
from offsets_tool.columns.columns_of_rows import numbers
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.relations.offsets import order_of
from offsets_tool.relations.subjects import Names
from offsets_tool.relations.writes import NONE, OffsetAction, Writes
from offsets_tool.replay.changes import Transaction
from offsets_tool.rows import NO_PRODUCER_ID
from offsets_tool.wire.arrow import arrow_schema

SCHEMA: Final = arrow_schema(TransactionRow)
NO_GROUP: Final = -1
NO_MARKER: Final = -1
_OUTCOMES: Final = [TransactionOutcome.OPEN, TransactionOutcome.COMMITTED, TransactionOutcome.ABORTED]
OPEN, COMMITTED, ABORTED, ABSENT = range(4)
_OUTCOME_OF: Final = {
    OffsetAction.COMMIT_MARKER: COMMITTED,
    OffsetAction.ABORT_MARKER: ABORTED,
    OffsetAction.PENDING_ABSENCE: ABSENT,
}
_OF_MARKER: Final = ("producer_id", "marker_epoch", "outcome", "marker_log_offset", "marker_timestamp")


class OpenTransaction(NamedTuple):
    """An entry of an open transaction with its group's name, None for no group, instead of its number."""

    producer_id: int
    producer_epoch: int
    first_log_offset: int
    first_timestamp: int
    last_log_offset: int
    last_timestamp: int
    commits: int
    group: str | None


class Entries(NamedTuple):
    """Records in transactions, in the order of the log; an open transaction of earlier ones has an entry for each of its groups."""

    producer_id: Array
    producer_epoch: Array
    first_log_offset: Array
    first_timestamp: Array
    last_log_offset: Array
    last_timestamp: Array
    commits: Array
    group: Array
    """The number of the group that it commits offsets of; NO_GROUP where it commits none."""

    def taken(self, places: Array) -> "Entries":
        """Return the entries at these places."""
        return Entries(*(column[places] for column in self))


class Markers(NamedTuple):
    """Markers, in the order of the log: how many entries stand before each, and whether it is COMMITTED or ABORTED.

    An absence, which shows that there was a marker, is ABSENT.
    """

    producer_id: Array
    entries_before: Array
    outcome: Array
    marker_log_offset: Array
    marker_timestamp: Array
    marker_epoch: Array


class Transactions(NamedTuple):
    """Transactions, an entry for each of their groups, and the index of the marker that ended each; NO_MARKER of open ones."""

    entries: Entries
    marker: Array

    def taken(self, places: Array) -> "Transactions":
        """Return the entries at these places."""
        return Transactions(self.entries.taken(places), self.marker[places])

    @property
    def carried(self) -> Entries:
        """The entries of open transactions as they stand before later ones: of each transaction the first has all commits."""
        places = np.flatnonzero(self.marker == NO_MARKER)
        entries = self.entries.taken(places)
        _, first = np.unique(entries.producer_id, return_index=True)
        commits = np.zeros(len(places), np.int64)
        commits[first] = entries.commits[first]
        return entries._replace(commits=commits)


def read_entries(rows: pa.RecordBatch, writes: Writes, places: Array) -> Entries:
    """Return the records at these places of a chunk, which are in transactions."""
    some = rows.take(pa.array(places - writes.carried))
    place = some.column("log_offset").to_numpy(), some.column("timestamp").to_numpy()
    return Entries(
        numbers(some.column("producer_id"), NO_PRODUCER_ID),
        numbers(some.column("producer_epoch"), NONE),
        *place,
        *place,
        (writes.subject[places] != NONE).astype(np.int64),
        writes.group[places],
    )


def read_markers(rows: pa.RecordBatch, writes: Writes, places: Array, entries_before: Array) -> Markers:
    """Return the markers at these places of a chunk, given how many entries stand before each."""
    some = rows.take(pa.array(places - writes.carried))
    return Markers(
        numbers(some.column("producer_id"), NO_PRODUCER_ID),
        entries_before,
        np.array([_OUTCOME_OF[action] for action in writes.action[places].tolist()], np.int64),
        some.column("log_offset").to_numpy(),
        some.column("timestamp").to_numpy(),
        numbers(some.column("producer_epoch"), NONE),
    )


def joined(open_: Entries, entries: Entries) -> Entries:
    """Return entries of open transactions, and others behind them."""
    return Entries(*map(np.concatenate, zip(open_, entries, strict=True)))


def open_transactions(entries: Entries, groups: Names) -> list[OpenTransaction]:
    """Return entries with their groups' names, for a checkpoint."""
    *facts, numbers_of_groups = map(np.ndarray.tolist, entries)
    names = [None if number == NO_GROUP else groups.texts[number] for number in numbers_of_groups]
    return [OpenTransaction(*row) for row in zip(*facts, names, strict=True)]


def entries_of(open_: Sequence[OpenTransaction], groups: Names) -> Entries:
    """Return the entries of which `open_transactions` made these; names get numbers."""
    rows = [(*facts, NO_GROUP if group is None else groups.add(group)) for *facts, group in open_]
    return Entries(*np.array(rows, np.int64).reshape(-1, len(Entries._fields)).T)


def no_markers() -> Markers:
    """Return no markers."""
    return Markers(*(np.zeros(0, np.int64) for _ in Markers._fields))


NO_TRANSACTIONS: Final = Transactions(
    Entries(*(np.zeros(0, np.int64) for _ in Entries._fields)), np.zeros(0, np.int64)
)


def transactions(entries: Entries, markers: Markers) -> Transactions:
    """Return the transactions that these records are: those of a producer between two of its markers."""
    count = len(entries.producer_id)
    who = np.concatenate((entries.producer_id, markers.producer_id))
    place = np.concatenate((np.arange(count) * 2 + 1, markers.entries_before * 2))
    by_place = np.argsort(place, kind="stable")
    # Ids may be as far apart as 64 bits let them.
    order = by_place[order_of((who - who.min(initial=0)).astype(np.uint64)[by_place])]
    is_marker = order >= count
    begins = np.append(True, (who[order][1:] != who[order][:-1]) | is_marker[:-1])[: len(order)]
    number = np.cumsum(begins) - 1
    ended_by = np.full(len(order), NO_MARKER)
    ended_by[number[is_marker]] = order[is_marker] - count
    number, ordered = number[~is_marker], entries.taken(order[~is_marker])
    summed, number = _summed(ordered, number)
    return Transactions(summed, ended_by[number])


def _summed(entries: Entries, number: Array) -> tuple[Entries, Array]:
    """Return one entry for each group of each transaction, given the transactions' numbers, which rise; and their numbers."""
    begins = np.append(True, number[1:] != number[:-1])[: len(number)]
    first, index = np.flatnonzero(begins), np.cumsum(begins) - 1
    last = np.append(first[1:], len(number)) - 1
    has_groups = np.maximum.reduceat(entries.group, first) != NO_GROUP if len(first) else first
    counted = np.flatnonzero((entries.group != NO_GROUP) | ~has_groups[index]) if len(first) else first
    span = entries.group.max(initial=0) + 2
    _, places = np.unique(index[counted] * span + entries.group[counted] + 1, return_index=True)
    kept = counted[np.sort(places)]
    at_first, at_last = first[index[kept]], last[index[kept]]
    commits = np.add.reduceat(entries.commits, first) if len(first) else first
    summed = Entries(
        entries.producer_id[kept],
        entries.producer_epoch[at_first],
        entries.first_log_offset[at_first],
        entries.first_timestamp[at_first],
        entries.last_log_offset[at_last],
        entries.last_timestamp[at_last],
        commits[index[kept]],
        entries.group[kept],
    )
    return summed, number[kept]


def by_markers(over: Transactions, markers: Markers) -> tuple[Transactions, Markers]:
    """Return the transactions that markers ended, and these: of those that absences ended nothing else is known."""
    is_marker = markers.outcome != ABSENT
    if is_marker.all():
        return over, markers
    over = over.taken(np.flatnonzero(is_marker[over.marker]))
    number = np.cumsum(is_marker) - 1
    return over._replace(marker=number[over.marker]), Markers(*(column[is_marker] for column in markers))


def with_groups(keys: Iterable[int], entries: Iterable[OpenTransaction]) -> dict[int, Transaction]:
    """Return transactions by their keys, given an entry for each of their groups."""
    made: dict[int, Transaction] = {}
    for key, entry in zip(keys, entries, strict=True):
        known = made.get(key) or Transaction(*entry[:6], (), entry.commits)
        made[key] = known if entry.group is None else known._replace(groups=(*known.groups, entry.group))
    return made


def ended_transactions(over: Transactions, markers: Markers, groups: Names) -> Iterator[EndedTransaction]:
    """Yield what each marker ended, in the order of the log; `groups` has the names of groups by number."""
    ended = with_groups(over.marker.tolist(), open_transactions(over.entries, groups))
    columns = (getattr(markers, name).tolist() for name in _OF_MARKER)
    for index, (producer, epoch, outcome, offset, timestamp) in enumerate(zip(*columns, strict=True)):
        of_producer = ended.get(index)
        yield EndedTransaction(producer, epoch, _OUTCOMES[outcome], offset, timestamp, of_producer)


def transaction_rows(
    of: Transactions, markers: Markers, groups: Names, log_partition: int | None
) -> pa.RecordBatch:
    """Return rows (SCHEMA) of the transactions that commit offsets; `groups` has their names by number."""
    named = of.taken(np.flatnonzero(of.entries.group != NO_GROUP))
    columns = {name: pa.array(column) for name, column in zip(Entries._fields, named.entries, strict=True)}
    is_open = named.marker == NO_MARKER
    outcomes = np.append(markers.outcome, OPEN)[named.marker]
    columns |= {
        "group": groups.column(named.entries.group),
        "outcome": pa.array(map(str, _OUTCOMES)).take(pa.array(outcomes)),
        "log_partition": pa.repeat(pa.scalar(log_partition, pa.int32()), len(is_open)),
    }
    for name in ("marker_log_offset", "marker_timestamp", "marker_epoch"):
        columns[name] = pa.array(np.append(getattr(markers, name), 0)[named.marker], mask=is_open)
    arrays = [columns[field.name].cast(field.type) for field in SCHEMA]
    return pa.record_batch(arrays, schema=SCHEMA)

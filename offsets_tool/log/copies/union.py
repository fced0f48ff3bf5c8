"""The records of several copies of one partition, offset by offset: each distinct record once, with the copies that have it.

Streams: of each copy one record is in memory. Decides nothing: of records that contradict each other all are given.
"""

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import groupby
from operator import attrgetter
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from offsets_tool.rows import LogRecord


class RowRecord(NamedTuple):
    """A record as a row of a page of Arrow has it: what copies are compared by, and where it stands."""

    log_offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    producer_id: int | None
    is_transactional: bool | None
    is_control: bool
    page: Any
    row: int

    @property
    def record(self) -> "RowRecord":
        """The record itself."""
        return self

    @property
    def misplaced(self) -> None:
        """Nothing: rows of misplaced records are no part of a log."""
        return


RawRecord: TypeAlias = LogRecord | RowRecord


class OfRecord(Protocol):
    """Anything that has a record, such as the record's event."""

    @property
    def record(self) -> RawRecord:
        """The record."""


class OfLogRecord(Protocol):
    """Anything that has a record as it was read."""

    @property
    def record(self) -> LogRecord:
        """The record."""


T = TypeVar("T", bound=OfRecord)
L = TypeVar("L", bound=OfLogRecord)


class Distinct(NamedTuple, Generic[T]):
    """A distinct record: its item (such as an event) from the first copy that has it, and the copies that have it."""

    item: T
    epoch: int | None
    """The leader epoch that wrote it; None where the source keeps none."""
    copies: int
    """The copies by their numbers, a bit for each."""

    @property
    def record(self) -> RawRecord:
        """The record as the first copy has it."""
        return self.item.record


def epoch_in(record: LogRecord) -> int | None:
    """Return the leader epoch that wrote a record; None where the source keeps no batches."""
    return None if record.batch is None else record.batch.partition_leader_epoch


EpochOf = Callable[[int, LogRecord], int | None]
"""Gives the leader epoch of a record, of the copy with a number."""


def union(streams: Iterable[tuple[int, Iterable[L]]], epoch_of: EpochOf) -> Iterator[list[Distinct[L]]]:
    """Yield the distinct records at each offset, the newest leader epoch first.

    `streams` are the numbers of copies with records by rising offset; a copy may have several. `epoch_of` gives the leader epoch
    of a copy's record. Records are the same if offset, leader epoch, key and value are, and both are control records or neither.
    One without an epoch (of an archive) is the same as the newest that otherwise is.
    """
    numbered = [_numbered(number, items) for number, items in streams]
    for _, together in groupby(merge(*numbered, key=attrgetter("at")), attrgetter("at")):
        yield distinct(
            Distinct(each.item, epoch_of(each.number, each.item.record), 1 << each.number)
            for each in together
        )


class _Numbered(NamedTuple, Generic[L]):
    at: int
    number: int
    item: L


def _numbered(number: int, items: Iterable[L]) -> "Iterator[_Numbered[L]]":
    """Yield the records of a stream at the highest offset so far: one that goes back, or is misplaced, comes where it is met."""
    at = 0
    for item in items:
        at = at if item.record.misplaced is not None else max(at, item.record.log_offset)
        yield _Numbered(at, number, item)


def distinct(together: Iterable[Distinct[T]]) -> list[Distinct[T]]:
    """Return the distinct records among those at one offset, each with all copies that have it, the newest leader epoch first.

    `union` says which records are equal.
    """
    found: dict[tuple[object, ...], Distinct[T]] = {}
    for each in together:
        record = each.record
        # Two records that do not say where they belong are two.
        place = record.log_offset if record.misplaced is None else object()
        identity = (place, each.epoch, record.key, record.value, record.is_control)
        known = found.get(identity)
        found[identity] = each if known is None else known._replace(copies=known.copies | each.copies)
    if len(found) == 1:
        return list(found.values())
    newest = sorted(found.values(), key=lambda each: (each.epoch is None, -(each.epoch or 0)))
    return _without_epochs(newest)


def _without_epochs(newest: list[Distinct[T]]) -> list[Distinct[T]]:
    """Join each record without an epoch to the newest one that is equal but for it."""
    kept: list[Distinct[T]] = []
    for each in newest:
        same = next((at for at, other in enumerate(kept) if _is_same(each, other)), None)
        if each.epoch is None and same is not None:
            kept[same] = kept[same]._replace(copies=kept[same].copies | each.copies)
        else:
            kept.append(each)
    return kept


def _is_same(one: Distinct[T], other: Distinct[T]) -> bool:
    mine, theirs = one.record, other.record
    same = (mine.log_offset, mine.key, mine.value) == (theirs.log_offset, theirs.key, theirs.value)
    return same and mine.is_control == theirs.is_control and mine.misplaced is theirs.misplaced is None

"""The bytes of one copy of one log partition, summed up by key as its batches pass, and given to the cleaner's rules.

Batches come as columns (sizes.sized_records), whoever has read them. Keys are decoded once each. Every byte of the log is in one of
the sums.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.errors import DecodeError
from offsets_tool.events import decode_key
from offsets_tool.records.kinds import COMMITS
from offsets_tool.rows import NO_TIMESTAMP, BatchRead, LogRecord, Unreadable
from offsets_tool.sizes.cleaning import NO_TRANSACTION, PENDING, Cleaning, newest_places
from offsets_tool.sizes.sized_records import (
    LATEST,
    NO_KEY,
    GatheredRecords,
    Sized,
    SizedBatches,
    SizedRecords,
    shared,
)

_GATHERED: Final = 1 << 15
"""Batches and records of the reference reader, or of an archive, that are made columns together."""
_EARLIEST: Final = int(np.iinfo(np.int64).min)


class KeyFacts(NamedTuple):
    """Facts of a key: its group, None if the key does not decode, and whether its records are commits."""

    group: str | None
    is_commit: bool


class KeySum(IntEnum):
    """What is summed up of the records of a key; HEAD counts those that cannot be cleaned yet."""

    RECORDS = 0
    BYTES = 1
    TOMBSTONES = 2
    HEAD_RECORDS = 3
    HEAD_BYTES = 4
    FIRST_TIMESTAMP = 5
    LAST_TIMESTAMP = 6


@dataclass(slots=True)
class Sums:
    """Records and bytes of what no group has; `head_*` count those that cannot be cleaned yet."""

    records: int = 0
    bytes: int = 0
    head_records: int = 0
    head_bytes: int = 0

    def add(self, records: int, size: int, *, is_head: bool) -> None:
        """Count records and their bytes."""
        self.records += records
        self.bytes += size
        if is_head:
            self.head_records += records
            self.head_bytes += size


class Tally:
    """The sizes of one copy of one log partition, by segments: `begin_segment`, then what is in it, and last `finish`."""

    def __init__(self, log_partition: int | None, copy: str | None) -> None:
        """Start before the first segment."""
        self.log_partition = log_partition
        self.copy = copy
        self.cleaning = Cleaning()
        self.keys: list[KeyFacts] = []
        self.markers, self.empty_batches, self.no_key, self.unreadable = Sums(), Sums(), Sums(), Sums()
        self.segments = 0
        self.next_offset: int | None = None
        self.begins: int | None = None
        """The base offset of the first segment, or the first offset where it has no name."""
        self.uncleanable_from: int | None = None
        """The base offset of the first segment that the cleaner leaves alone."""
        self.active_from: int | None = None
        self.held_bytes = 0
        """Bytes between the two: what an open transaction keeps from being cleaned."""
        self._sums = _no_sums(0)
        self._numbers: dict[bytes, int] = {}
        self._gathered = GatheredRecords(self.key_number)
        self._is_cleanable = False

    def begin_segment(self, base_offset: int | None, *, is_cleanable: bool, is_active: bool) -> None:
        """Begin the next segment; `is_cleanable` False where it is active, or not before the first unstable offset."""
        self.finish()
        self.segments += 1
        self._is_cleanable = is_cleanable
        if self.begins is None:
            self.begins = base_offset
        if not is_cleanable and self.uncleanable_from is None:
            self.uncleanable_from = base_offset
        if is_active:
            self.active_from = base_offset
            others = (self.markers, self.empty_batches, self.no_key, self.unreadable)
            self.held_bytes = int(self.sums[KeySum.HEAD_BYTES].sum()) + sum(
                each.head_bytes for each in others
            )

    def key_number(self, key: bytes) -> int:
        """Return the number of a key, decoding it if it is new."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.keys)
            self.keys.append(key_facts(key))
        return number

    def add(self, item: BatchRead | LogRecord | Unreadable) -> None:
        """Count a batch that the reference reader has read, a row of an archive, or bytes that cannot be read."""
        unreadable = item.unreadable if isinstance(item, BatchRead) else item
        if isinstance(unreadable, Unreadable):
            # The cleaner does not remove these either.
            self.unreadable.add(0, unreadable.size, is_head=True)
        elif not isinstance(item, Unreadable):
            self._gathered.add(item)
            if len(self._gathered) >= _GATHERED:
                self.finish()

    def finish(self) -> None:
        """Sum up what `add` has gathered."""
        if len(self._gathered):
            self._observe(self._gathered.take())

    def observe(self, batches: Sized) -> None:
        """Count batches that follow what was added."""
        self.finish()
        self._observe(batches)

    def _observe(self, batches: Sized) -> None:
        facts, records = batches
        self._observe_facts(facts)
        ends = self.cleaning.observe_batches(facts, is_cleanable=self._is_cleanable)
        size = shared(facts.size, records.own, records.batch)
        rows = np.flatnonzero(records.key != NO_KEY)
        if len(rows):
            newest = self._sum_up(records, size, rows, _transactions(batches, rows, ends))
            self.cleaning.observe_records(batches, newest, ends, is_cleanable=self._is_cleanable)
        is_keyless = (records.key == NO_KEY) & ~facts.is_control[records.batch]
        # The cleaner drops these.
        self.no_key.add(int(is_keyless.sum()), int(size[is_keyless].sum()), is_head=not self._is_cleanable)

    def _observe_facts(self, batches: SizedBatches) -> None:
        placed = np.flatnonzero(~batches.is_misplaced)
        if len(placed):
            if self.begins is None:
                self.begins = int(batches.base_offset[placed[0]])
            self.next_offset = max(self.next_offset or 0, int(batches.last_offset[placed].max()) + 1)
        is_empty, is_head = batches.records == 0, not self._is_cleanable
        is_marker = batches.is_control & ~is_empty
        self.empty_batches.add(0, int(batches.size[is_empty].sum()), is_head=is_head)
        markers = int(batches.records[is_marker].sum())
        self.markers.add(markers, int(batches.size[is_marker].sum()), is_head=is_head)

    def _sum_up(self, records: SizedRecords, size: Array, rows: Array, transactions: Array) -> Array:
        """Add records to the sums of their keys, and return of each key and transaction the newest record."""
        codes = transactions * len(self.keys) + records.key[rows]
        places = np.argsort(codes, kind="stable")
        order = rows[places]
        begins = np.flatnonzero(np.diff(codes[places], prepend=-1))
        newest: Array = order[np.append(begins[1:], len(order)) - 1]
        if (np.diff(records.log_offset) <= 0).any():
            newest = rows[newest_places(codes, records.log_offset[rows])]
        keys, times = records.key[newest], records.timestamp[order]
        is_none = times == NO_TIMESTAMP
        counts, sizes = np.diff(begins, append=len(order)), np.add.reduceat(size[order], begins)
        tombstones = np.add.reduceat(records.is_tombstone[order].astype(np.int64), begins)
        first = np.minimum.reduceat(np.where(is_none, LATEST, times), begins)
        last = np.maximum.reduceat(np.where(is_none, _EARLIEST, times), begins)
        sums = self.sums
        head = (counts, sizes) if not self._is_cleanable else ()
        for field, numbers in zip(KeySum, (counts, sizes, tombstones, *head), strict=False):
            np.add.at(sums[field], keys, numbers)
        np.minimum.at(sums[KeySum.FIRST_TIMESTAMP], keys, first)
        np.maximum.at(sums[KeySum.LAST_TIMESTAMP], keys, last)
        return newest

    @property
    def sums(self) -> Array:
        """The sums of each key, by KeySum and its number; the first time is behind the last where records have none."""
        missing = len(self.keys) - self._sums.shape[1]
        if missing > 0:
            self._sums = np.concatenate((self._sums, _no_sums(missing + len(self.keys))), axis=1)
        return self._sums[:, : len(self.keys)]

    @property
    def records(self) -> int:
        """How many records there are, markers among them."""
        return self.markers.records + self.no_key.records + int(self.sums[KeySum.RECORDS].sum())


def _no_sums(keys: int) -> Array:
    sums = np.zeros((len(KeySum), keys), np.int64)
    sums[KeySum.FIRST_TIMESTAMP], sums[KeySum.LAST_TIMESTAMP] = LATEST, _EARLIEST
    return sums


def _transactions(batches: Sized, rows: Array, ends: Array) -> Array:
    """Return a number for each row: 0 outside of transactions, and others for those of each that ends in another way."""
    ends = ends[batches.records.batch[rows]]
    if (ends == NO_TRANSACTION).all():
        return np.zeros(len(rows), np.int64)
    producers = np.unique(batches.batches.producer_id, return_inverse=True)[1]
    producer = producers[batches.records.batch[rows]]
    # What is pending waits for its producer's next marker.
    ended = np.where(batches.batches.commits[np.maximum(ends, 0)], 1, 2)
    return np.select([ends == NO_TRANSACTION, ends == PENDING], [0, 3 + producer], ended)


def key_facts(key: bytes) -> KeyFacts:
    """Return what a key says of its records."""
    try:
        decoded = decode_key(key)
    except DecodeError:
        return KeyFacts(None, is_commit=False)
    data = decoded.data
    return KeyFacts(data.group if hasattr(data, "group") else data.group_id, decoded.type.id in COMMITS)

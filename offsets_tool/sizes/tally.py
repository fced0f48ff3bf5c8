"""The bytes of one copy of one log partition, summed up by group and kind of record as they pass, and given to the cleaner's rules.

Takes whole batches, or runs of records of one key that somebody has summed up already; both say the same. Keys are decoded once
each. Every byte of the log is in one of the sums.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from offsets_tool.errors import DecodeError
from offsets_tool.events import decode_key
from offsets_tool.records.kinds import COMMITS
from offsets_tool.rows import NO_TIMESTAMP, Batch, BatchRead, LogRecord, Unreadable
from offsets_tool.sizes.cleaning import BatchFacts, Cleaning, SizedRecord
from offsets_tool.sizes.own_bytes import overhead_of, own_bytes, shared

NO_KEY: Final = -1
COMMIT: Final = b"\0\0\0\1"
"""The key of a marker that commits."""


class KeyFacts(NamedTuple):
    """Facts of a key: its group, None if the key does not decode, and whether its records are commits."""

    group: str | None
    is_commit: bool


class Run(NamedTuple):
    """Records of one key that follow each other, none of them in another transaction than the others.

    `size` are the bytes that they share of their batches; `newest` is the last of them.
    """

    key: int
    records: int
    size: int
    tombstones: int
    first_timestamp: int
    last_timestamp: int
    newest: SizedRecord
    is_transactional: bool


@dataclass(slots=True)
class Sums:
    """Records and bytes of one key, one group, or of what no group has; `head_*` count those that cannot be cleaned yet."""

    records: int = 0
    bytes: int = 0
    tombstones: int = 0
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    head_records: int = 0
    head_bytes: int = 0

    def add(self, records: int, size: int, tombstones: int = 0, *, is_head: bool) -> None:
        """Count records and their bytes."""
        self.records += records
        self.bytes += size
        self.tombstones += tombstones
        if is_head:
            self.head_records += records
            self.head_bytes += size

    def join(self, other: "Sums") -> None:
        """Add other sums to these."""
        self.add(other.records, other.bytes, other.tombstones, is_head=False)
        self.head_records += other.head_records
        self.head_bytes += other.head_bytes
        if other.first_timestamp is not None and other.last_timestamp is not None:
            self.reach(other.first_timestamp, other.last_timestamp)

    def reach(self, first: int, last: int) -> None:
        """Extend the span of times by those of the first and the last record of some; -1 is no time."""
        if first != NO_TIMESTAMP and (self.first_timestamp is None or first < self.first_timestamp):
            self.first_timestamp = first
        if last != NO_TIMESTAMP and (self.last_timestamp is None or last > self.last_timestamp):
            self.last_timestamp = last


class Tally:
    """The sizes of one copy of one log partition, segment by segment: call `begin_segment`, then observe what is in it."""

    def __init__(self, log_partition: int | None, copy: str | None) -> None:
        """Start before the first segment."""
        self.log_partition = log_partition
        self.copy = copy
        self.cleaning = Cleaning()
        self.keys: list[KeyFacts] = []
        self.by_key: list[Sums] = []
        """The sums of each key, by its number."""
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
        self._others = (self.markers, self.empty_batches, self.no_key, self.unreadable)
        self._numbers: dict[bytes, int] = {}
        self._is_cleanable = False

    def begin_segment(self, base_offset: int | None, *, is_cleanable: bool, is_active: bool) -> None:
        """Begin the next segment; `is_cleanable` False where it is active, or not before the first unstable offset."""
        self.segments += 1
        self._is_cleanable = is_cleanable
        if self.begins is None:
            self.begins = base_offset
        if not is_cleanable and self.uncleanable_from is None:
            self.uncleanable_from = base_offset
        if is_active:
            self.active_from = base_offset
            self.held_bytes = sum(sums.head_bytes for sums in (*self.by_key, *self._others))

    def key_number(self, key: bytes) -> int:
        """Return the number of a key, decoding it if it is new."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.keys)
            self.keys.append(key_facts(key))
            self.by_key.append(Sums())
        return number

    def add_run(self, run: Run) -> None:
        """Count a run of records with a key."""
        sums = self.by_key[run.key]
        sums.add(run.records, run.size, run.tombstones, is_head=not self._is_cleanable)
        sums.reach(run.first_timestamp, run.last_timestamp)
        self._observe(run.key, run.newest, is_transactional=run.is_transactional)

    def _observe(self, key: int, newest: SizedRecord, *, is_transactional: bool) -> None:
        cleaning, is_cleanable = self.cleaning, self._is_cleanable
        if is_transactional:
            cleaning.observe_pending(key, newest, newest.batch.producer_id, is_cleanable=is_cleanable)
        else:
            cleaning.observe_record(key, newest, is_cleanable=is_cleanable)

    def add_no_key(self, records: int, size: int) -> None:
        """Count records without a key, which the cleaner drops."""
        self.no_key.add(records, size, is_head=not self._is_cleanable)

    def add_batch(self, batch: BatchFacts, timestamp: int, *, is_transactional: bool) -> None:
        """Observe a batch of data; call this before its records are observed."""
        self.cleaning.observe_batch(
            batch, timestamp, is_transactional=is_transactional, is_cleanable=self._is_cleanable
        )

    def add_empty(self, size: int) -> None:
        """Count the bytes of a batch without records."""
        self.empty_batches.add(0, size, is_head=not self._is_cleanable)

    def add_marker(self, batch: BatchFacts, timestamp: int, *, commits: bool, records: int = 1) -> None:
        """Count a control batch that has a marker."""
        self.markers.add(records, batch.size, is_head=not self._is_cleanable)
        self.cleaning.observe_marker(batch, timestamp, commits=commits, is_cleanable=self._is_cleanable)

    def add_unreadable(self, found: Unreadable) -> None:
        """Count bytes that cannot be read, which the cleaner does not remove either."""
        self.unreadable.add(0, found.size, is_head=True)

    def reach(self, first_offset: int, last_offset: int) -> None:
        """Observe the offsets of batches, from the first to the last."""
        if self.begins is None:
            self.begins = first_offset
        self.next_offset = max(self.next_offset or 0, last_offset + 1)

    def add(self, item: BatchRead | LogRecord | Unreadable) -> None:
        """Count a batch that the reference reader has read, a row of an archive, or bytes that cannot be read."""
        if isinstance(item, BatchRead):
            self._add_batch(item)
        elif isinstance(item, LogRecord):
            self._add_row(item)
        else:
            self.add_unreadable(item)

    def _add_batch(self, read: BatchRead) -> None:
        batch, records = read.batch, read.records
        if read.unreadable is not None:
            self.add_unreadable(read.unreadable)
            return
        if read.misplaced is None:
            self.reach(batch.base_offset, batch.last_offset)
        own = [own_bytes(record) for record in records]
        facts = _facts(batch, sum(own))
        at = batch.max_timestamp
        if batch.is_control and records:
            self.add_marker(facts, at, commits=records[0].key == COMMIT, records=len(records))
            return
        if not batch.is_control:
            self.add_batch(facts, at, is_transactional=batch.is_transactional)
        if not records:
            self.add_empty(batch.size)
            return
        for record, each, size in zip(records, own, shared(batch.size, own), strict=True):
            self._add_record(record, SizedRecord(record.log_offset, each, record.value is None, facts), size)

    def _add_row(self, record: LogRecord) -> None:
        own = own_bytes(record)
        facts = BatchFacts(record.log_offset, record.log_offset, own, 0, own, None)
        self.reach(record.log_offset, record.log_offset)
        if record.is_control:
            self.markers.add(1, own, is_head=True)
            return
        self._add_record(record, SizedRecord(record.log_offset, own, record.value is None, facts), own)

    def _add_record(self, record: LogRecord, newest: SizedRecord, size: int) -> None:
        if record.key is None:
            self.add_no_key(1, size)
            return
        is_transactional = bool(record.is_transactional) and record.batch is not None
        at = record.timestamp
        key = self.key_number(record.key)
        self.add_run(Run(key, 1, size, newest.is_tombstone, at, at, newest, is_transactional))

    @property
    def records(self) -> int:
        """How many records there are, markers among them."""
        others = self.markers.records + self.no_key.records
        return others + sum(sums.records for sums in self.by_key)

    def by_group(self) -> Iterable[tuple[str | None, Sequence[int]]]:
        """Yield each group, None for keys that do not decode, with the numbers of its keys."""
        order = sorted(
            (facts.group is not None, facts.group or "", number) for number, facts in enumerate(self.keys)
        )
        for (is_group, group), found in groupby(order, key=itemgetter(0, 1)):
            yield group if is_group else None, [number for _, _, number in found]


def key_facts(key: bytes) -> KeyFacts:
    """Return what a key says of its records."""
    try:
        found = decode_key(key)
    except DecodeError:
        return KeyFacts(None, is_commit=False)
    data = found.data
    return KeyFacts(data.group if hasattr(data, "group") else data.group_id, found.type.id in COMMITS)


def _facts(batch: Batch, whole: int) -> BatchFacts:
    return BatchFacts(
        batch.base_offset,
        batch.last_offset,
        batch.size,
        overhead_of(batch),
        whole,
        batch.delete_horizon_ms,
        batch.producer_id,
        batch.producer_epoch,
    )

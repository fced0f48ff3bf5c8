"""The ledger: accounts for every byte and record of each file that is read.

It counts what the readers and the decoder report; it reads nothing itself. An entry adds up when every byte is in a batch or in
an unreadable range, and every record was decoded, kept raw with a reason, or is a control record.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce
from typing import Final, NamedTuple

from offsets_tool.rows import BatchRead, Codec, LogRecord, Misplacement, Unreadable, UnreadableKind

_TOPICS_NAMED: Final = 3


class Outcome(StrEnum):
    """What became of a record: decoded, kept raw with a reason, or a control record."""

    DECODED = "decoded"
    KEPT_RAW = "kept raw"
    CONTROL = "control"


class MisplacedRange(NamedTuple):
    """Neighbouring batches of a file that are misplaced, or have misplaced records: their offsets cannot be right.

    `records` are the misplaced ones; the offsets are what the headers say; `reason` is that of the first.
    """

    position: int
    size: int
    batches: int
    records: int
    first_offset: int
    last_offset: int
    reason: str

    def joined(self, other: "MisplacedRange") -> "MisplacedRange":
        """Return this range together with the one right behind it."""
        return self._replace(
            size=self.size + other.size,
            batches=self.batches + other.batches,
            records=self.records + other.records,
            first_offset=min(self.first_offset, other.first_offset),
            last_offset=max(self.last_offset, other.last_offset),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """The sums of one file, or of one byte range of it. `sha256` is of the file as it lies on disk, None for a range."""

    source: str
    log_partition: int | None
    is_archive: bool
    """An archive keeps rows, not batches: of its bytes only those that hold no row are told apart, of JSON lines."""
    bytes: int
    """Of the decompressed log or JSON lines; on disk where rows have no place in bytes (Parquet, Delta), or nothing was read."""
    bytes_in_batches: int
    bytes_unreadable: int
    batches: int
    empty_batches: int
    out_of_order_batches: int
    """Misplaced batches that do not begin after those before them, which stand where they say."""
    misplaced_batches: int
    """Batches that cannot stand where they say, or with such records (log.batches.misplaced): no checksum covers an offset. Their
    records are decoded and counted as all others."""
    misplaced_ranges: tuple[MisplacedRange, ...]
    records: int
    records_unreadable: int
    """What the headers of unreadable batches say that they had."""
    decoded_records: int
    raw_records: int
    reasons: Mapping[str, int]
    control_records: int
    foreign_rows: int
    """Rows of an archive that belong to other topics, or to other partitions than the one asked for."""
    foreign_topics: Mapping[str, int]
    """How many such rows name each of the first other topics, in their order."""
    unreadable: tuple[Unreadable, ...]
    first_offset: int | None
    last_offset: int | None
    min_timestamp: int | None
    max_timestamp: int | None
    magics: tuple[int, ...]
    codecs: tuple[Codec, ...]
    sha256: str | None = None

    @property
    def misplaced(self) -> MisplacedRange | None:
        """The sums of all misplaced ranges, with the position of the first; None without any."""
        return reduce(MisplacedRange.joined, self.misplaced_ranges) if self.misplaced_ranges else None

    @property
    def adds_up(self) -> bool:
        """Whether every byte and every record is accounted for."""
        placed = self.bytes_in_batches + self.bytes_unreadable
        outcomes = self.decoded_records + self.raw_records + self.control_records
        bytes_add_up = placed <= self.bytes if self.is_archive else placed == self.bytes
        return bytes_add_up and self.records == outcomes

    @property
    def lacks_records(self) -> bool:
        """Whether every state that is replayed from this file lacks records: unreadable ones, or misplaced ones."""
        return self.misplaced_batches > 0 or any(not found.kind.is_tail for found in self.unreadable)

    @property
    def is_cut_off(self) -> bool:
        """Whether the file ends in the middle of something: what came after it is not here."""
        return any(found.kind is UnreadableKind.TORN_TAIL for found in self.unreadable)


@dataclass(slots=True)
class _Range:
    first: int | None = None
    last: int | None = None

    def observe(self, value: int) -> None:
        self.first = value if self.first is None else min(self.first, value)
        self.last = value if self.last is None else max(self.last, value)


class BatchRun(NamedTuple):
    """The sums of batches that follow each other and are not misplaced.

    `offsets` and `timestamps`: least and greatest, if there are any.
    """

    batches: int
    empty_batches: int
    bytes: int
    records: int
    magic: int
    codecs: frozenset[Codec]
    missing_offsets: int
    """Offsets between the first and the last that no record has."""
    delete_horizons: int
    transactional: int
    leader_epochs: frozenset[int]
    offsets: tuple[int, int]
    timestamps: tuple[()] | tuple[int, int]


@dataclass(slots=True)
class Ledger:
    """Accumulates one file's entry while it is read."""

    source: str
    log_partition: int | None = None
    is_archive: bool = False
    has_hashes: bool = True
    """Whether the file's SHA-256 is wanted."""
    _bytes: int = 0
    _in_batches: int = 0
    _batches: int = 0
    _empty: int = 0
    _out_of_order: int = 0
    _misplaced: list[MisplacedRange] = field(default_factory=list)
    _records: int = 0
    _records_unreadable: int = 0
    _elsewhere: int = 0
    _foreign_topics: Counter[str] = field(default_factory=Counter)
    _outcomes: Counter[Outcome] = field(default_factory=Counter)
    _reasons: Counter[str] = field(default_factory=Counter)
    _unreadable: list[Unreadable] = field(default_factory=list)
    _offsets: _Range = field(default_factory=_Range)
    _timestamps: _Range = field(default_factory=_Range)
    _magics: set[int] = field(default_factory=set)
    _codecs: set[Codec] = field(default_factory=set)
    _sha256: str | None = None

    def size(self, count: int) -> None:
        """Set how many bytes are to be accounted for."""
        self._bytes = count

    def size_grows(self, count: int) -> None:
        """Add `count` bytes to account for, where a source's size is known only when it has been read."""
        self._bytes += count

    @property
    def last_offset(self) -> int | None:
        """The greatest offset that was read so far."""
        return self._offsets.last

    def add(self, item: BatchRead | LogRecord | Unreadable) -> None:
        """Count what a reader yielded: a batch, a row of an archive, or unreadable bytes."""
        if isinstance(item, LogRecord):
            self._add_row(item)
            return
        if isinstance(item, Unreadable):
            self._unreadable.append(item)
            return
        batch = item.batch
        self._batches += 1
        self._magics.add(batch.magic)
        self._codecs.add(batch.codec)
        if item.unreadable is not None:
            self._unreadable.append(item.unreadable)
            self._records_unreadable += batch.count
            return
        self._in_batches += batch.size
        self._records += len(item.records)
        self._empty += not item.records
        self._observe_batch(item)
        for record in item.records:
            self._timestamps.observe(record.timestamp)

    def _add_row(self, record: LogRecord) -> None:
        self._records += 1
        self._offsets_of((record,))
        self._timestamps.observe(record.timestamp)

    def count_elsewhere(self, rows: int, topic: str | None = None) -> None:
        """Count rows of an archive that are of another partition, or of another `topic`."""
        self._elsewhere += rows
        if topic is not None and (topic in self._foreign_topics or len(self._foreign_topics) < _TOPICS_NAMED):
            self._foreign_topics[topic] += rows

    def lost(self, size: int, reason: str, *, is_rest: bool = False) -> Unreadable:
        """Count a whole file of `size` bytes on disk that cannot be read, or the rest of one; return it as unreadable bytes."""
        found = whole_file(self.source, size, reason)
        if is_rest:
            found = found._replace(reason=reason)
        self.size(size)
        self.add(found)
        return found

    def _observe_batch(self, read: BatchRead) -> None:
        """Observe the offsets of a batch and its records; misplaced ones are counted, and are no offsets of the file."""
        batch = read.batch
        if read.misplaced is None:
            self._offsets.observe(batch.base_offset)
            self._offsets.observe(batch.last_offset)
            return
        found = range_of(read, read.misplaced)
        self._out_of_order += read.misplaced.goes_back
        self._offsets_of(read.records)
        last = self._misplaced[-1] if self._misplaced else None
        if last is not None and last.position + last.size == found.position:
            self._misplaced[-1] = last.joined(found)
        else:
            self._misplaced.append(found)

    def _offsets_of(self, records: Iterable[LogRecord]) -> None:
        for record in records:
            if record.misplaced is None:
                self._offsets.observe(record.log_offset)

    def add_run(self, run: BatchRun) -> None:
        """Count many batches at once, each of them readable."""
        self._batches += run.batches
        self._empty += run.empty_batches
        self._in_batches += run.bytes
        self._records += run.records
        self._magics.add(run.magic)
        self._codecs.update(run.codecs)
        for seen, values in ((self._offsets, run.offsets), (self._timestamps, run.timestamps)):
            for value in values:
                seen.observe(value)

    def count(self, outcome: Outcome, reason: str = "", times: int = 1) -> None:
        """Count what became of records; `reason` says why those that are kept raw are."""
        self._outcomes[outcome] += times
        if outcome is Outcome.KEPT_RAW:
            self._reasons[reason] += times

    def hashed(self, sha256: str) -> None:
        """Set the SHA-256 of the whole file, known when all of it has been read."""
        self._sha256 = sha256

    def entry(self) -> LedgerEntry:
        """Return the sums so far."""
        return LedgerEntry(
            source=self.source,
            log_partition=self.log_partition,
            is_archive=self.is_archive,
            bytes=self._bytes,
            bytes_in_batches=self._in_batches,
            bytes_unreadable=sum(item.size for item in self._unreadable),
            batches=self._batches,
            empty_batches=self._empty,
            out_of_order_batches=self._out_of_order,
            misplaced_batches=sum(found.batches for found in self._misplaced),
            misplaced_ranges=tuple(self._misplaced),
            records=self._records,
            records_unreadable=self._records_unreadable,
            decoded_records=self._outcomes[Outcome.DECODED],
            raw_records=self._outcomes[Outcome.KEPT_RAW],
            reasons=dict(sorted(self._reasons.items())),
            control_records=self._outcomes[Outcome.CONTROL],
            foreign_rows=self._elsewhere,
            foreign_topics=dict(self._foreign_topics),
            unreadable=tuple(self._unreadable),
            first_offset=self._offsets.first,
            last_offset=self._offsets.last,
            min_timestamp=self._timestamps.first,
            max_timestamp=self._timestamps.last,
            magics=tuple(sorted(self._magics)),
            codecs=tuple(sorted(self._codecs)),
            sha256=self._sha256,
        )


def range_of(read: BatchRead, misplacement: Misplacement) -> MisplacedRange:
    """Return one misplaced batch as a range that neighbours can be joined to."""
    batch, reason = read.batch, misplacement.reason
    records = sum(record.misplaced is not None for record in read.records)
    return MisplacedRange(
        batch.position, batch.size, 1, records, batch.base_offset, batch.last_offset, reason
    )


def whole_file(source: str, size: int, reason: str) -> Unreadable:
    """Return the unreadable bytes that stand for a file of `size` bytes on disk of which nothing can be read."""
    return Unreadable(source, 0, size, f"the whole file: {reason}", UnreadableKind.DAMAGE)

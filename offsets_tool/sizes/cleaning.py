"""Computes what Kafka's cleaner would leave of one log: of each key the newest effective record, by the rules of Cleaner (4.3).

Records of open and aborted transactions are not effective. The cleaner stops before the active segment, and before the first
segment that has an open transaction. Records come in the order of the log, with their keys as numbers. Knows no group and reads
nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from offsets_tool.sizes.own_bytes import left_bytes, shared

K = TypeVar("K")

PRODUCER_EXPIRATION_MS: Final = 86_400_000
"""How long a producer is remembered after its last record: producer.id.expiration.ms, by default."""


class BatchFacts(NamedTuple):
    """Facts of a record's batch that the cleaner looks at; `whole` is the sum of its records' own bytes."""

    base_offset: int
    last_offset: int
    size: int
    overhead: int
    whole: int
    delete_horizon_ms: int | None
    producer_id: int = -1
    producer_epoch: int = -1


class MarkerFacts(NamedTuple):
    """The position and size of a marker."""

    log_offset: int
    size: int


class SizedRecord(NamedTuple):
    """A record that the cleaner keeps if it stays the newest of its key; `own` are its own bytes."""

    log_offset: int
    own: int
    is_tombstone: bool
    batch: BatchFacts
    marker: MarkerFacts | None = None
    """What committed it; None outside of a transaction."""


class LeftOver(NamedTuple):
    """What is left of keys: of each its records and bytes, and besides them the bytes of markers and of empty batches."""

    keys: Mapping[int, tuple[int, int]]
    markers: tuple[int, int]
    empty_batches: tuple[int, int]


@dataclass(slots=True)
class _Producer:
    """A producer whose records the log has; `pending` are those of its open transaction, the newest of each key."""

    newest_timestamp: int = -1
    last_batch: BatchFacts | None = None
    has_batches: bool = False
    """Whether a batch of its transaction was there since its last marker, even an empty one."""
    open_from: int | None = None
    pending: dict[tuple[int, bool], SizedRecord] = field(default_factory=dict)


class Cleaning:
    """One log as the cleaner sees it: `observe_*` take it in order, and the others are right after that."""

    def __init__(self) -> None:
        self._newest: dict[int, SizedRecord] = {}
        self._cleanable: dict[int, SizedRecord] = {}
        """As `_newest`, among the records that can be cleaned."""
        self._producers: dict[int, _Producer] = {}
        self._markers: list[tuple[int, int | None]] = []
        """Markers that can be cleaned: size, and delete horizon where no record of the transaction is left."""
        self._round_ends: BatchFacts | None = None
        """The last batch that can be cleaned, unless it is a marker: it stays, if need be empty."""
        self._cleaned_to = -1
        """The last offset that can be cleaned."""

    def observe_record(self, key: int, record: SizedRecord, *, is_cleanable: bool) -> None:
        """Observe a record that is effective at once; `is_cleanable` says whether the cleaner may clean its segment."""
        _renew(self._newest, key, record)
        if is_cleanable:
            _renew(self._cleanable, key, record)

    def observe_pending(self, key: int, record: SizedRecord, producer_id: int, *, is_cleanable: bool) -> None:
        """Observe a record of a transaction, which is effective once the transaction is committed."""
        producer = self._producer(producer_id)
        _renew(producer.pending, (key, is_cleanable), record)

    def observe_batch(
        self, batch: BatchFacts, timestamp: int, *, is_transactional: bool, is_cleanable: bool
    ) -> None:
        """Observe a batch of data, also an empty one, with the newest time of its records."""
        if is_cleanable:
            self._round_ends, self._cleaned_to = batch, batch.last_offset
        if batch.producer_id < 0:
            return
        producer = self._producer(batch.producer_id)
        producer.newest_timestamp = max(producer.newest_timestamp, timestamp)
        producer.last_batch = batch
        producer.has_batches = True
        if is_transactional and producer.open_from is None:
            producer.open_from = batch.base_offset

    def observe_marker(self, batch: BatchFacts, timestamp: int, *, commits: bool, is_cleanable: bool) -> None:
        """Observe the marker that ends a producer's transaction."""
        producer = self._producer(batch.producer_id)
        if commits:
            marker = MarkerFacts(batch.last_offset, batch.size)
            for (key, is_early), record in producer.pending.items():
                self.observe_record(key, record._replace(marker=marker), is_cleanable=is_early)
        if is_cleanable:
            self._round_ends, self._cleaned_to = None, batch.last_offset
            horizon = None if producer.has_batches else batch.delete_horizon_ms
            self._markers.append((batch.size, horizon))
        if producer.last_batch is not None and producer.last_batch.producer_epoch != batch.producer_epoch:
            # ProducerStateEntry.maybeUpdateProducerEpoch: a raised epoch begins a new sequence.
            producer.last_batch = None
        producer.pending, producer.open_from, producer.has_batches = {}, None, False
        producer.newest_timestamp = max(producer.newest_timestamp, timestamp)

    def _producer(self, producer_id: int) -> _Producer:
        found = self._producers.get(producer_id)
        if found is None:
            found = self._producers[producer_id] = _Producer()
        return found

    @property
    def first_unstable_offset(self) -> int | None:
        """The log offset at which the earliest open transaction begins; None without one."""
        return min((p.open_from for p in self._producers.values() if p.open_from is not None), default=None)

    @property
    def open_producers(self) -> dict[int, int]:
        """The producers of open transactions, with the offset where each begins."""
        return {number: p.open_from for number, p in self._producers.items() if p.open_from is not None}

    def left_now(self, now: int) -> LeftOver:
        """Return what one run of the cleaner at `now` (epoch ms) leaves of what it can clean."""
        kept = {
            key: record
            for key, record in self._cleanable.items()
            if not (record.is_tombstone and _is_past(record.batch.delete_horizon_ms, now))
        }
        markers = [size for size, horizon in self._markers if not _is_past(horizon, now)]
        emptied = list(self._emptied(kept.values(), now))
        return LeftOver(_by_key(kept.items()), (len(markers), sum(markers)), (0, sum(emptied)))

    def left(self) -> LeftOver:
        """Return what is left when everything has been cleaned: transactions ended, retention of tombstones over, producers gone.

        Pending records count in addition to those that they would replace, because their transactions may end either way.
        """
        kept = [(key, record) for key, record in self._newest.items() if not record.is_tombstone]
        kept += [
            (key, record)
            for producer in self._producers.values()
            for (key, _), record in producer.pending.items()
        ]
        markers = {record.marker for _, record in kept if record.marker is not None}
        return LeftOver(_by_key(kept), (len(markers), sum(marker.size for marker in markers)), (0, 0))

    def _emptied(self, kept: Iterable[SizedRecord], now: int) -> Iterator[int]:
        """Yield the bytes of batches that the cleaner keeps without records: each active producer's last, and the last it read."""
        there = {record.batch.base_offset for record in kept}
        last = [
            producer.last_batch
            for producer in self._producers.values()
            if now - producer.newest_timestamp < PRODUCER_EXPIRATION_MS
        ]
        for batch in {each for each in (*last, self._round_ends) if each is not None}:
            if batch.base_offset <= self._cleaned_to and batch.base_offset not in there:
                yield batch.overhead


def _renew(newest: dict[K, SizedRecord], key: K, record: SizedRecord) -> None:
    known = newest.get(key)
    if known is None or known.log_offset < record.log_offset:
        newest[key] = record


def _is_past(horizon: int | None, now: int) -> bool:
    return horizon is not None and horizon <= now


def _by_key(kept: Collection[tuple[int, SizedRecord]]) -> dict[int, tuple[int, int]]:
    """Return records and bytes of each key: a batch's bytes are shared among the records that it keeps."""
    batches: dict[BatchFacts, list[tuple[int, int]]] = {}
    for key, record in kept:
        batches.setdefault(record.batch, []).append((key, record.own))
    found: dict[int, tuple[int, int]] = {}
    for batch, records in batches.items():
        own = [each for _, each in records]
        total = left_bytes(batch.size, batch.overhead, batch.whole, own)
        for (key, _), part in zip(records, shared(total, own), strict=True):
            count, size = found.get(key, (0, 0))
            found[key] = (count + 1, size + part)
    return found

"""Computes what Kafka's cleaner would leave of one log: of each key the newest effective record, by the rules of Cleaner (4.3).

Records of open and aborted transactions are not effective. The cleaner stops before the active segment, and before the first
segment that has an open transaction. Batches come in the order of the log, with their keys as numbers. Records are columns of
KeptField. Knows no group and reads nothing.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.sizes.sized_records import LATEST, Sized, SizedBatches, shared, sums_by

PRODUCER_EXPIRATION_MS: Final = 86_400_000
"""How long a producer is remembered after its last record: producer.id.expiration.ms, by default."""
NO_TRANSACTION: Final = -1
PENDING: Final = -2


class KeptField(IntEnum):
    """Fields of a record that the cleaner keeps if it stays the newest of its key, and of its batch."""

    KEY = 0
    LOG_OFFSET = 1
    OWN = 2
    IS_TOMBSTONE = 3
    IS_CLEANABLE = 4
    BATCH = 5
    """The number of its batch in the log."""
    BASE_OFFSET = 6
    SIZE = 7
    OVERHEAD = 8
    WHOLE = 9
    """The sum of the own bytes of its batch's records."""
    DELETE_HORIZON = 10
    PRODUCER_ID = 11
    MARKER = 12
    """The place of the marker that committed it; -1 outside of a transaction."""
    MARKER_SIZE = 13


class LeftOver(NamedTuple):
    """What is left: of each key its records and its bytes, and besides them the bytes of markers and of empty batches."""

    keys: Array
    markers: tuple[int, int]
    empty_batches: tuple[int, int]


class _LastBatch(NamedTuple):
    base_offset: int
    overhead: int


@dataclass(slots=True)
class _Producer:
    """A producer whose records the log has."""

    newest_timestamp: int = -1
    last_batch: _LastBatch | None = None
    last_epoch: int = -1
    has_batches: bool = False
    """Whether a batch of its transaction was there since its last marker, even an empty one."""
    open_from: int | None = None


class Cleaning:
    """One log as the cleaner sees it: `observe_batches` and `observe_records` take it in order, the others are right after that."""

    def __init__(self) -> None:
        self._newest = np.empty((len(KeptField), 0), np.int64)
        """The newest effective record of each key, by its number; one with the offset -1 of a key that has none."""
        self._cleanable = self._newest
        """As `_newest`, among the records that can be cleaned."""
        self._pending = self._newest
        """Records of open transactions, the newest of each producer and key."""
        self._producers: defaultdict[int, _Producer] = defaultdict(_Producer)
        self._batches = 0
        self._markers: list[tuple[int, int]] = []
        """Markers that can be cleaned: size, and delete horizon where no record of the transaction is left."""
        self._round_ends: _LastBatch | None = None
        """The last batch that can be cleaned, unless it is a marker: it stays, if need be empty."""
        self._cleaned_to = -1
        """The last offset that can be cleaned."""

    def observe_batches(self, batches: SizedBatches, *, is_cleanable: bool) -> Array:
        """Return for each batch the place of the marker that ends its transaction, or NO_TRANSACTION, or PENDING.

        `is_cleanable` says whether the cleaner may clean the segment.
        """
        if is_cleanable:
            self._clean_to(batches)
        is_marker = batches.is_control & (batches.records > 0)
        is_pending = batches.is_transactional & ~batches.is_control
        ends = np.where(is_pending, PENDING, NO_TRANSACTION)
        open_places, first_ends = defaultdict[int, list[int]](list), dict[int, int]()
        places = np.flatnonzero(is_marker | is_pending | (batches.producer_id >= 0) & ~batches.is_control)
        producer_ids = batches.producer_id[places].tolist()
        for place, producer_id, ends_one, has_begun in zip(
            places.tolist(),
            producer_ids,
            is_marker[places].tolist(),
            is_pending[places].tolist(),
            strict=True,
        ):
            if ends_one:
                ends[open_places.pop(producer_id, [])] = place
                first_ends.setdefault(producer_id, place)
                self._end(batches, place, producer_id, is_cleanable=is_cleanable)
                continue
            if has_begun:
                open_places[producer_id].append(place)
            if producer_id >= 0:
                self._go_on(batches, place, producer_id, has_begun=has_begun)
        self._end_pending(first_ends, batches)
        return ends

    def _clean_to(self, batches: SizedBatches) -> None:
        rows = np.flatnonzero(~batches.is_control | (batches.records > 0))[-1:]
        for place in rows.tolist():
            self._round_ends = None if batches.is_control[place] else _last_batch(batches, place)
            self._cleaned_to = int(batches.last_offset[place])

    def _go_on(self, batches: SizedBatches, place: int, producer_id: int, *, has_begun: bool) -> None:
        producer = self._producers[producer_id]
        producer.newest_timestamp = max(producer.newest_timestamp, int(batches.timestamp[place]))
        producer.last_batch = _last_batch(batches, place)
        producer.last_epoch = int(batches.producer_epoch[place])
        producer.has_batches = True
        if has_begun and producer.open_from is None:
            producer.open_from = producer.last_batch.base_offset

    def _end(self, batches: SizedBatches, place: int, producer_id: int, *, is_cleanable: bool) -> None:
        """Observe the marker that ends a producer's transaction."""
        producer = self._producers[producer_id]
        if is_cleanable:
            horizon = LATEST if producer.has_batches else int(batches.delete_horizon[place])
            self._markers.append((int(batches.size[place]), horizon))
        if producer.last_epoch != batches.producer_epoch[place]:
            # ProducerStateEntry.maybeUpdateProducerEpoch: a raised epoch begins a new sequence.
            producer.last_batch = None
        producer.open_from, producer.has_batches = None, False
        producer.newest_timestamp = max(producer.newest_timestamp, int(batches.timestamp[place]))

    def _end_pending(self, first_ends: Mapping[int, int], batches: SizedBatches) -> None:
        """Let records that have waited take effect, or go, where a marker of their producer is in the batches."""
        pending = self._pending
        if not first_ends or not pending.shape[1]:
            return
        producer_ids, of = np.unique(pending[KeptField.PRODUCER_ID], return_inverse=True)
        ends = np.array([first_ends.get(number, PENDING) for number in producer_ids.tolist()])[of]
        is_effective = (ends >= 0) & batches.commits[np.maximum(ends, 0)]
        self._renew(_committed(pending[:, is_effective], batches, ends[is_effective]))
        self._pending = pending[:, ends < 0]

    def observe_records(self, sized: Sized, rows: Array, ends: Array, *, is_cleanable: bool) -> None:
        """Observe records with keys, of each key and transaction the newest; `ends` as `observe_batches` returns it."""
        batches, records = sized
        batch = records.batch[rows]
        whole = sums_by(records.batch, records.own, len(batches.size))
        kept = np.stack(
            (
                records.key[rows],
                records.log_offset[rows],
                records.own[rows],
                records.is_tombstone[rows],
                np.full(len(rows), is_cleanable),
                batch + self._batches,
                batches.base_offset[batch],
                batches.size[batch],
                batches.overhead[batch],
                whole[batch],
                batches.delete_horizon[batch],
                batches.producer_id[batch],
                *np.full((2, len(rows)), -1),
            )
        )
        self._batches += len(batches.size)
        ends = ends[batch]
        self._renew(kept[:, ends == NO_TRANSACTION])
        if (ends != NO_TRANSACTION).any():
            is_committed = (ends >= 0) & batches.commits[np.maximum(ends, 0)]
            self._renew(_committed(kept[:, is_committed], batches, ends[is_committed]))
            self._wait(kept[:, ends == PENDING])

    def _renew(self, records: Array) -> None:
        self._newest = _renewed(self._newest, records)
        self._cleanable = _renewed(self._cleanable, records[:, records[KeptField.IS_CLEANABLE] > 0])

    def _wait(self, records: Array) -> None:
        pending = np.concatenate((self._pending, records), axis=1)
        subjects = pending[[KeptField.KEY, KeptField.PRODUCER_ID, KeptField.IS_CLEANABLE]]
        _, codes = np.unique(subjects, axis=1, return_inverse=True)
        self._pending = pending[:, newest_places(codes, pending[KeptField.LOG_OFFSET])]

    @property
    def first_unstable_offset(self) -> int | None:
        """The log offset at which the earliest open transaction begins; None without one."""
        return min(self.open_producers.values(), default=None)

    @property
    def open_producers(self) -> dict[int, int]:
        """The producers of open transactions, with the offset where each begins."""
        return {number: p.open_from for number, p in self._producers.items() if p.open_from is not None}

    def left_now(self, now: int, keys: int) -> LeftOver:
        """Return what one run of the cleaner at `now` (epoch ms) leaves of what it can clean, of the first so many keys."""
        there = self._cleanable[:, self._cleanable[KeptField.LOG_OFFSET] >= 0]
        is_gone = (there[KeptField.IS_TOMBSTONE] > 0) & (there[KeptField.DELETE_HORIZON] <= now)
        kept = there[:, ~is_gone]
        markers = [size for size, horizon in self._markers if horizon > now]
        emptied = sum(self._emptied(set(kept[KeptField.BASE_OFFSET].tolist()), now))
        return LeftOver(_by_key(kept, keys), (len(markers), sum(markers)), (0, emptied))

    def left(self, keys: int) -> LeftOver:
        """Return what is left when everything has been cleaned: transactions ended, retention of tombstones over, producers gone.

        Pending records count in addition to those that they would replace, because their transactions may end either way.
        """
        newest = self._newest
        is_kept = (newest[KeptField.LOG_OFFSET] >= 0) & (newest[KeptField.IS_TOMBSTONE] == 0)
        kept = np.concatenate((newest[:, is_kept], self._pending), axis=1)
        committed = kept[:, kept[KeptField.MARKER] >= 0]
        markers = np.unique(committed[[KeptField.MARKER, KeptField.MARKER_SIZE]], axis=1)
        return LeftOver(_by_key(kept, keys), (markers.shape[1], int(markers[1].sum())), (0, 0))

    def _emptied(self, kept: set[int], now: int) -> Iterator[int]:
        """Yield the bytes of batches that the cleaner keeps without records: each active producer's last, and the last it read.

        `kept` are the base offsets of those of which it keeps records.
        """
        last = [
            producer.last_batch
            for producer in self._producers.values()
            if now - producer.newest_timestamp < PRODUCER_EXPIRATION_MS
        ]
        for batch in {batch for batch in (*last, self._round_ends) if batch is not None}:
            if batch.base_offset <= self._cleaned_to and batch.base_offset not in kept:
                yield batch.overhead


def newest_places(codes: Array, log_offsets: Array) -> Array:
    """Return the place of the greatest log offset of each code, of equal ones the first, in the order of the codes."""
    places = len(codes) - 1 - np.lexsort((log_offsets[::-1], codes[::-1]))
    newest: Array = places[np.append(np.diff(codes[places]) != 0, True)[: len(codes)]]
    return newest


def _last_batch(batches: SizedBatches, place: int) -> _LastBatch:
    return _LastBatch(int(batches.base_offset[place]), int(batches.overhead[place]))


def _committed(records: Array, batches: SizedBatches, markers: Array) -> Array:
    records[KeptField.MARKER] = batches.last_offset[markers]
    records[KeptField.MARKER_SIZE] = batches.size[markers]
    return records


def _renewed(held: Array, records: Array) -> Array:
    """Return the newest records of keys, given those so far and more."""
    more = int(records[KeptField.KEY].max(initial=-1)) + 1 - held.shape[1]
    if more > 0:
        room = np.zeros((len(KeptField), more + held.shape[1]), np.int64)
        room[KeptField.LOG_OFFSET] = -1
        held = np.concatenate((held, room), axis=1)
    newest = records[:, newest_places(records[KeptField.KEY], records[KeptField.LOG_OFFSET])]
    is_newer = newest[KeptField.LOG_OFFSET] > held[KeptField.LOG_OFFSET, newest[KeptField.KEY]]
    held[:, newest[KeptField.KEY, is_newer]] = newest[:, is_newer]
    return held


def _by_key(kept: Array, keys: int) -> Array:
    """Return records and bytes of each key: a batch's bytes are shared among the records that it keeps.

    Exact where it is not compressed; of a compressed one the content shrinks in proportion.
    """
    # What is left of a byte goes to the first of them, whatever numbers their keys have.
    kept = kept[:, np.argsort(kept[KeptField.LOG_OFFSET], kind="stable")]
    _, first, batch = np.unique(kept[KeptField.BATCH], return_index=True, return_inverse=True)
    size, overhead, whole = kept[[KeptField.SIZE, KeptField.OVERHEAD, KeptField.WHOLE]][:, first]
    own, key = kept[KeptField.OWN], kept[KeptField.KEY]
    total = overhead + (size - overhead) * sums_by(batch, own, len(first)) // whole
    return np.stack((np.bincount(key, minlength=keys), sums_by(key, shared(total, own, batch), keys)))

"""The batches and records of the lane's chunks as columns of numbers, as sizes.sized_records makes them of others."""

from collections.abc import Callable

import numpy as np

from offsets_tool.columns.arrays import Array, repeated
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.columns.lane.layout import AttributeBit, BatchField, RecordField, has_any
from offsets_tool.log.batches.header import HEADER_SIZE_V2
from offsets_tool.sizes.sized_records import (
    COMMIT,
    LATEST,
    NO_KEY,
    Sized,
    SizedBatches,
    SizedRecords,
    own_sizes,
)


class LaneRecords:
    """Makes columns of chunks, whose keys `key_number` numbers, each once."""

    def __init__(self, key_number: Callable[[bytes], int]) -> None:
        """Start with no key."""
        self._key_number = key_number
        self._interned: InternedKeys | None = None
        self._numbers: Array = np.empty(0, np.int64)
        """For the keys of a lane, their numbers; NO_KEY for those not asked for yet."""

    def sized(self, chunk: Chunk) -> Sized:
        """Return the batches of a chunk, none of which is misplaced."""
        batches, records = chunk.batches, chunk.records
        attributes, batch = batches[BatchField.ATTRIBUTES], records[RecordField.BATCH]
        is_control = has_any(attributes, AttributeBit.CONTROL)
        times = records[RecordField.TIMESTAMP] - batches[BatchField.BASE_TIMESTAMP][batch]
        times[has_any(attributes, AttributeBit.LOG_APPEND_TIME)[batch]] = 0
        facts = SizedBatches(
            batches[BatchField.BASE_OFFSET],
            batches[BatchField.LAST_OFFSET],
            batches[BatchField.SIZE],
            repeated(HEADER_SIZE_V2, len(attributes)),
            np.where(
                has_any(attributes, AttributeBit.DELETE_HORIZON), batches[BatchField.BASE_TIMESTAMP], LATEST
            ),
            batches[BatchField.MAX_TIMESTAMP],
            batches[BatchField.PRODUCER_ID],
            batches[BatchField.PRODUCER_EPOCH],
            batches[BatchField.COUNT],
            is_control,
            has_any(attributes, AttributeBit.TRANSACTIONAL),
            _commits(chunk, is_control),
            repeated(False, len(attributes)),
        )
        own = own_sizes(
            _key_sizes(chunk),
            records[RecordField.VALUE_SIZE],
            records[RecordField.LOG_OFFSET] - facts.base_offset[batch],
            times,
            # The lane reads no record with headers.
            repeated(0, len(batch)),
        )
        return Sized(
            facts,
            SizedRecords(
                batch,
                records[RecordField.LOG_OFFSET],
                records[RecordField.TIMESTAMP],
                self._keys(chunk, is_control[batch]),
                own,
                records[RecordField.VALUE_SIZE] < 0,
            ),
        )

    def _keys(self, chunk: Chunk, is_marker: Array) -> Array:
        if self._interned is not chunk.interned:
            self._interned, self._numbers = chunk.interned, np.empty(0, np.int64)
        missing = len(chunk.interned) + 1 - len(self._numbers)
        if missing > 0:
            self._numbers = np.append(self._numbers, np.full(max(missing, 1 << 12), NO_KEY))
        keys = chunk.records[RecordField.KEY]
        has_key = (keys >= 0) & ~is_marker
        for key in np.unique(keys[has_key & (self._numbers[keys] == NO_KEY)]).tolist():
            self._numbers[key] = self._key_number(chunk.interned.key(key))
        return np.where(has_key, self._numbers[keys], NO_KEY)


def _key_sizes(chunk: Chunk) -> Array:
    starts, _ = chunk.interned.spans()
    # A record without a key has the number -1.
    sizes: Array = np.append(np.diff(starts), -1)[chunk.records[RecordField.KEY]]
    return sizes


def _commits(chunk: Chunk, is_control: Array) -> Array:
    commits = np.zeros(len(is_control), bool)
    markers = np.flatnonzero(is_control & (chunk.batches[BatchField.COUNT] > 0))
    keys = chunk.records[RecordField.KEY][np.searchsorted(chunk.records[RecordField.BATCH], markers)]
    commits[markers] = [key >= 0 and chunk.interned.key(key) == COMMIT for key in keys.tolist()]
    return commits

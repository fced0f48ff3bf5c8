"""The own bytes of the records of a chunk, and their shares of their batches: what sizes.own_bytes says of each, by column."""

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.layout import AttributeBit, BatchField, RecordField, has_any
from offsets_tool.sizes.own_bytes import RECORD_OVERHEAD, VARINT_STEPS


def own_sizes(chunk: Chunk) -> Array:
    """Return the own bytes of each record of a chunk, as sizes.own_bytes does; the lane reads no record with headers."""
    records, batches = chunk.records, chunk.batches
    keys, batch_of = records[RecordField.KEY], records[RecordField.BATCH]
    starts, _ = chunk.interned.spans()
    key_sizes = np.where(keys < 0, -1, np.diff(starts)[np.maximum(keys, 0)] if len(starts) > 1 else -1)
    value_sizes = records[RecordField.VALUE_SIZE]
    times = records[RecordField.TIMESTAMP] - batches[BatchField.BASE_TIMESTAMP][batch_of]
    times[of_batch(chunk, AttributeBit.LOG_APPEND_TIME)] = 0
    offsets = records[RecordField.LOG_OFFSET] - batches[BatchField.BASE_OFFSET][batch_of]
    body = RECORD_OVERHEAD + np.maximum(key_sizes, 0) + np.maximum(value_sizes, 0)
    for number in (times, offsets, key_sizes, value_sizes):
        body += _varint_bytes(number)
    found: Array = body + _varint_bytes(body)
    return found


def _varint_bytes(values: Array) -> Array:
    zigzag = ((values << 1) ^ (values >> 63)).view(np.uint64)
    highest = int(zigzag.max(initial=0))
    found = np.ones(len(values), np.int64)
    for step in VARINT_STEPS:
        if highest < step:
            break
        found += zigzag >= np.uint64(step)
    return found


def shared_sizes(totals: Array, weights: Array, whole: Array, batch_of: Array) -> Array:
    """Return how many bytes of its batch each record has, as sizes.own_bytes.shared does; `whole` are the batches' weights."""
    parts = totals[batch_of] * weights
    found = parts // whole[batch_of]
    left = totals - np.bincount(batch_of, found, len(totals)).astype(np.int64)
    several = np.flatnonzero(left[batch_of] > 0)
    if len(several):
        rests = (parts - found * whole[batch_of])[several]
        order = several[np.lexsort((several, -rests, batch_of[several]))]
        of = batch_of[order]
        rank = np.arange(len(of)) - np.searchsorted(of, of)
        found[order[rank < left[of]]] += 1
    return found


def of_batch(chunk: Chunk, bit: AttributeBit) -> Array:
    """Return for each record whether its batch has an attribute."""
    found: Array = has_any(chunk.batches[BatchField.ATTRIBUTES], bit)[chunk.records[RecordField.BATCH]]
    return found

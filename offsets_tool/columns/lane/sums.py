"""Sums of a chunk for the ledger: its batches, bytes, offsets and times."""

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.layout import AttributeBit, BatchField, RecordField, has_any
from offsets_tool.log.batches.header import CODECS
from offsets_tool.log.ledger import BatchRun


def run_of(chunk: Chunk) -> BatchRun:
    """Return a chunk's batches summed up for the ledger; none of them is misplaced."""
    batches, timestamps = chunk.batches, chunk.records[RecordField.TIMESTAMP]
    base, last = batches[BatchField.BASE_OFFSET], batches[BatchField.LAST_OFFSET]
    attributes = batches[BatchField.ATTRIBUTES]
    codecs = _distinct(attributes & int(AttributeBit.CODEC))
    return BatchRun(
        batches=batches.shape[1],
        empty_batches=int(np.count_nonzero(batches[BatchField.COUNT] == 0)),
        bytes=int(batches[BatchField.SIZE].sum()),
        records=chunk.records.shape[1],
        magic=2,
        codecs=frozenset(CODECS[codec] for codec in codecs),
        missing_offsets=_missing(batches),
        delete_horizons=int(np.count_nonzero(has_any(attributes, AttributeBit.DELETE_HORIZON))),
        transactional=int(np.count_nonzero(has_any(attributes, AttributeBit.TRANSACTIONAL))),
        leader_epochs=frozenset(_distinct(batches[BatchField.PARTITION_LEADER_EPOCH])),
        offsets=(int(base.min()), int(last.max())),
        timestamps=(int(timestamps.min()), int(timestamps.max())) if len(timestamps) else (),
    )


def offsets_of(chunk: Chunk) -> tuple[int, int]:
    """Return the first offset of a chunk's first batch and the last offset of its last."""
    return int(chunk.batches[BatchField.BASE_OFFSET, 0]), int(chunk.batches[BatchField.LAST_OFFSET, -1])


def _distinct(values: Array) -> list[int]:
    """Return the distinct values, quickly where all are equal, as they nearly always are."""
    first: list[int] = values[:1].tolist()
    return first if (values == values[0]).all() else np.unique(values).tolist()


def _missing(batches: Array) -> int:
    """Return how many offsets no record has, inside of batches and between one and the next."""
    base, last = batches[BatchField.BASE_OFFSET], batches[BatchField.LAST_OFFSET]
    inside = np.maximum(last - base + 1 - batches[BatchField.COUNT], 0).sum()
    return int(inside + (base[1:] - last[:-1] - 1).sum())

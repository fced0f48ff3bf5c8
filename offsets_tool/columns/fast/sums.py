"""What the ledger counts of a chunk: its batches, bytes, offsets and times, summed over the tables."""

import numpy as np

from offsets_tool.columns.fast.lane import Chunk
from offsets_tool.columns.fast.layout import B, R
from offsets_tool.log.header import CODECS
from offsets_tool.log.ledger import BatchRun

_CODEC = 7


def run_of(chunk: Chunk, last_offset: int | None) -> BatchRun:
    """The chunk's batches as the ledger takes them; `last_offset` is the highest offset before them."""
    batches, timestamps = chunk.batches, chunk.records[R.TIMESTAMP]
    base, last = batches[B.BASE_OFFSET], batches[B.LAST_OFFSET]
    before = np.concatenate(([-1 if last_offset is None else last_offset], np.maximum.accumulate(last)[:-1]))
    codecs = np.unique(batches[B.ATTRIBUTES] & _CODEC)
    return BatchRun(
        batches=batches.shape[1],
        empty_batches=int((batches[B.COUNT] == 0).sum()),
        out_of_order=int((base <= before).sum()),
        bytes=int(batches[B.SIZE].sum()),
        records=chunk.records.shape[1],
        magic=2,
        codecs=frozenset(CODECS[codec] for codec in codecs.tolist()),
        offsets=(int(base.min()), int(last.max())),
        timestamps=(int(timestamps.min()), int(timestamps.max())) if len(timestamps) else (),
    )

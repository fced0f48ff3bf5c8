"""The file that chunks are printed of, and a chunk's batches and records as the reference reader reads them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.layout import BatchField, RecordField
from offsets_tool.log.batches.batch import read_batch
from offsets_tool.log.batches.limits import Limits
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.names import Segment
from offsets_tool.rows import BatchRead, LogRecord

Passed = Callable[[int, int], None]


class FileInput(NamedTuple):
    """The file that chunks are printed of, its ledger, its limits, and a function that is called with ranges of printed offsets."""

    data: memoryview
    segment: Segment
    ledger: Ledger
    passed: Passed | None
    limits: Limits


class ReferenceRecords:
    """The batches and records of a chunk as the reference reader reads them, on demand."""

    def __init__(self, chunk: Chunk, file: FileInput) -> None:
        self._chunk = chunk
        self._file = file
        self._latest: tuple[int, BatchRead] | None = None
        self._first = np.cumsum(chunk.batches[BatchField.COUNT]) - chunk.batches[BatchField.COUNT]
        self.batch_numbers: Array = chunk.records[RecordField.BATCH]

    def batch(self, number: int) -> BatchRead:
        """Return a batch of the chunk, by its number there, as the reference reads it."""
        if self._latest is None or self._latest[0] != number:
            position = int(self._chunk.batches[BatchField.POSITION, number])
            place = self._file.segment
            read = read_batch(
                self._file.data, position, place.source, place.log_partition, limits=self._file.limits
            )
            self._latest = number, read
        return self._latest[1]

    def record(self, row: int) -> LogRecord:
        """Return a record of the chunk, by its row, as the reference reads it."""
        number = int(self._chunk.records[RecordField.BATCH, row])
        return self.batch(number).records[row - int(self._first[number])]

"""The lines of a chunk in their order, with the program of each."""

from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.layout import BatchField, RecordField
from offsets_tool.columns.text.programs import REFUSED

NO_RECORD: Final = -1


class Lines:
    """The lines to write, in order: the program of each, its batch, and its record; a batch's own line has no record."""

    def __init__(
        self,
        chunk: Chunk,
        of_batch: Array,
        has_records: Array,
        of_record: Array,
        wanted: Array | None,
        *,
        with_batches: bool,
    ) -> None:
        batch = chunk.records[RecordField.BATCH]
        refused = of_batch[batch] == REFUSED
        shown = has_records[batch] & ~refused
        self.in_lane: Array = np.flatnonzero(shown & (of_record != REFUSED))
        if wanted is not None:
            # What has no program is the caller's to select.
            shown &= wanted | (of_record == REFUSED)
        records = np.flatnonzero(shown)
        heads = np.flatnonzero(of_batch == REFUSED) if not with_batches else np.arange(len(of_batch))
        first = np.cumsum(chunk.batches[BatchField.COUNT]) - chunk.batches[BatchField.COUNT]
        # A batch's own line comes before its records.
        order = np.argsort(np.concatenate((2 * records + 1, 2 * first[heads])), kind="stable")
        self.batches: Array = np.concatenate((batch[records], heads))[order]
        self.records: Array = np.concatenate((records, np.full(len(heads), NO_RECORD)))[order]
        self.programs: Array = np.concatenate((of_record[records], of_batch[heads]))[order]

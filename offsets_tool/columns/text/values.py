"""Values of a chunk that compiled programs print as Kafka's JSON, row by row, for lines that hold them."""

from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.json.values import SLACK, JsonWriter
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.layout import (
    NO_KEY,
    AttributeBit,
    BatchField,
    RecordField,
    RecordKind,
    has_any,
)
from offsets_tool.columns.text.fields import TYPES_AT, KeyClass
from offsets_tool.columns.text.kernel import HAS_CODE, HAS_PART, find_marks

_LONGEST: Final = 1 << 20
"""Bytes of JSON that fit into what is written at once."""


class Values:
    """The JSON of the values of a chunk: that of row i is the `sizes[i]` bytes of `data` from `starts[i]` on.

    Making it changes the chunk: records whose value could be written get the kind JSON.
    """

    def __init__(self, chunk: Chunk, key_classes: Array, json: JsonWriter) -> None:
        rows = chunk.records.shape[1]
        self.data: Array = np.zeros(SLACK, np.uint8)
        self.starts: Array = np.zeros(rows, np.int64)
        self.sizes: Array = np.zeros(rows, np.int64)
        self.has_parts: Array = np.zeros(rows, np.int64)
        records = chunk.records
        has_key = records[RecordField.KEY] != NO_KEY
        is_left = records[RecordField.KIND] == RecordKind.REFERENCE
        candidates = is_left & has_key & (key_classes > KeyClass.MARKER)
        if candidates.any():
            found = np.flatnonzero(candidates)
            attributes = chunk.batches[BatchField.ATTRIBUTES, records[RecordField.BATCH, found]]
            control = has_any(attributes, AttributeBit.CONTROL)
            self._write(chunk, found[~control], key_classes, json)

    def _write(self, chunk: Chunk, rows: Array, key_classes: Array, json: JsonWriter) -> None:
        records = chunk.records
        places = records[RecordField.VALUE_START, rows]
        texts = json.write(
            chunk.data, key_classes[rows] - TYPES_AT, places, records[RecordField.VALUE_SIZE, rows]
        )
        printed = np.flatnonzero((texts.sizes >= 0) & (texts.sizes <= _LONGEST))
        if not len(printed):
            return
        self.data = texts.data
        starts, sizes, marks = texts.starts[printed], texts.sizes[printed], np.empty(len(printed), np.int64)
        find_marks(address(self.data), address(starts), address(sizes), len(printed), address(marks))
        # Not all write such codes in the same letters.
        same = marks & HAS_CODE == 0
        rows, places = rows[printed[same]], places[printed[same]]
        records[RecordField.KIND, rows] = RecordKind.JSON
        records[RecordField.VALUE_VERSION, rows] = (
            chunk.data[places].astype(np.int64) << 8 | chunk.data[places + 1]
        )
        self.starts[rows], self.sizes[rows] = starts[same], sizes[same]
        self.has_parts[rows] = marks[same] & HAS_PART

"""What the records of a chunk are: those that the lane has read, those that programs print as JSON, and the reference decoder's."""

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.assembly.keys import KeyColumns
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.json.values import JsonWriter
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.key_table import find_printable, mark_printed, sort_out
from offsets_tool.columns.lane.layout import AttributeBit, BatchField, RecordField, RecordKind, has_any


class Kinds:
    """Kinds of a chunk's records, uint8, the rows left to the reference decoder, and the JSON of those that programs print."""

    def __init__(self, chunk: Chunk, keys: KeyColumns, json: JsonWriter) -> None:
        self._chunk = chunk
        rows = chunk.records.shape[1]
        self.kind: Array = np.empty(rows, np.uint8)
        left = sort_out(address(chunk.records), rows, address(keys.table), address(self.kind))
        self.json: tuple[Array, Array] | None = self._printed(keys, json) if left else None
        """Where the JSON of each row begins, int32, and the bytes of all; empty where no program prints it. None if none does."""
        self.left: Array = np.flatnonzero(self.of(RecordKind.REFERENCE)) if left else np.empty(0, np.int64)
        self.control_left: Array = self._is_control(self.left)

    def of(self, *kinds: RecordKind) -> Array:
        """Return the rows that are of one of these kinds, as truth values."""
        # A number, not an enum: for that NumPy would make eight bytes of each kind.
        found: Array = self.kind == int(kinds[0])
        for kind in kinds[1:]:
            found |= self.kind == int(kind)
        return found

    def _is_control(self, rows: Array) -> Array:
        attributes = self._chunk.batches[BatchField.ATTRIBUTES]
        return has_any(attributes[self._chunk.records[RecordField.BATCH, rows]], AttributeBit.CONTROL)

    def _printed(self, keys: KeyColumns, json: JsonWriter) -> tuple[Array, Array] | None:
        """Print the values that programs print, whose kind becomes JSON."""
        records, rows = self._chunk.records, len(self.kind)
        found, types = np.empty((2, rows), np.int64)
        addresses = address(records), rows, address(self.kind)
        batches = address(self._chunk.batches)
        count = find_printable(*addresses, address(keys.table), batches, address(found), address(types))
        if not count:
            return None
        values = found[:count]
        places, sizes = records[RecordField.VALUE_START, values], records[RecordField.VALUE_SIZE, values]
        written = json.write(self._chunk.data, types[:count], places, sizes)
        # One after another in the order of the rows: as a column of texts has them.
        offsets = np.empty(rows + 1, np.int32)
        data, printed = address(self._chunk.data), address(written.sizes)
        mark_printed(*addresses, data, address(found), printed, count, address(offsets))
        return offsets, written.data

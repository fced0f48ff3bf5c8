"""Makes rows of `log` and `events` from a chunk's tables: the columns of the reference decoder, texts dictionary-encoded.

batch_columns.py makes the columns of batches and log offsets, event_columns.py those of decoded keys and values.
"""

from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.assembly.arrays import dictionary_column, interned_column
from offsets_tool.columns.assembly.batch_columns import BatchColumns
from offsets_tool.columns.assembly.event_columns import COMMIT_LAYOUT, EventColumns
from offsets_tool.columns.assembly.gather import gather
from offsets_tool.columns.assembly.keys import TEXTS, KeyColumns
from offsets_tool.columns.assembly.names import TextDictionary
from offsets_tool.columns.assembly.topic_ids import TopicIdTexts
from offsets_tool.columns.json.values import JsonWriter
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.columns.lane.layout import RecordField
from offsets_tool.columns.origin import Origin
from offsets_tool.table_rows import EventRow, LogRow
from offsets_tool.wire.arrow import arrow_schema

_MARKERS: Final = ("ABORT", "COMMIT")
_DICTIONARY: Final = ("control", "layout", "topic_id", "kept_raw", *TEXTS)
_MOST_KEYS_AS_DICTIONARY: Final = 1 << 16


class Assembler:
    """Makes rows of chunks; keeps what repeats from one chunk to the next, across files."""

    def __init__(self) -> None:
        self._json = JsonWriter()
        self._of(InternedKeys(keys=1, arena=1, topic_ids=1))

    def rows(
        self, chunk: Chunk, origin: Origin, *, log: bool = True
    ) -> tuple[pa.RecordBatch | None, pa.RecordBatch]:
        """Return the rows of `log` (None unless `log`) and the rows of `events` for a chunk."""
        if not self._keys.belong_to(chunk.interned):
            self._of(chunk.interned)
        self._keys.update()
        batch_columns = BatchColumns(chunk)
        both = batch_columns.both(origin)
        raw = None
        if log:
            raw = _batch(LogRow, both | batch_columns.of_log() | {"key": self._raw_keys(chunk)})
        decoded = EventColumns(chunk, self._keys, self._topic_ids, self._names, self._json)
        return raw, _batch(EventRow, both | decoded.columns())

    def _of(self, interned: InternedKeys) -> None:
        """Use these tables of keys for later chunks, with new dictionaries, so that memory stays flat when all keys are new."""
        self._raw: pa.Array | None = None
        self._names = {name: TextDictionary() for name in _DICTIONARY}
        self._names["control"] = TextDictionary(*_MARKERS)
        self._names["layout"] = TextDictionary(COMMIT_LAYOUT)
        self._keys = KeyColumns(interned, self._names)
        self._topic_ids = TopicIdTexts(interned, self._names["topic_id"])

    def _raw_keys(self, chunk: Chunk) -> pa.Array:
        numbers = chunk.records[RecordField.KEY]
        has_key = numbers >= 0
        valid = None if has_key.all() else has_key
        if len(chunk.interned) > _MOST_KEYS_AS_DICTIONARY:
            starts, data = chunk.interned.spans()
            sizes = np.where(has_key, starts[numbers + 1] - starts[numbers], 0)
            return gather(data, starts[numbers], sizes, pa.binary(), valid)
        if self._raw is None or len(self._raw) != len(chunk.interned):
            self._raw = interned_column(chunk.interned, is_text=False)
        return dictionary_column(numbers.astype(np.int32), self._raw)


def _batch(row: type, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """Return a batch of columns in the order in which `row` declares them; texts keep their encoding."""
    names = arrow_schema(row).names
    arrays = [columns[name] for name in names]
    return pa.RecordBatch.from_arrays(arrays, schema=_schema(row, tuple(array.type for array in arrays)))


@lru_cache(8)
def _schema(row: type, types: tuple[pa.DataType, ...]) -> pa.Schema:
    declared = arrow_schema(row)
    fields = [field.with_type(type_) for field, type_ in zip(declared, types, strict=True)]
    return pa.schema(fields, declared.metadata)

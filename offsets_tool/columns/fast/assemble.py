"""A chunk's tables as rows of `log` and of `events`: the columns that the reference decoder gives, texts dictionary-encoded.

What decoding adds to a record's place in the log is event_columns.py.
"""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.fast.event_columns import COMMIT_LAYOUT, EventColumns
from offsets_tool.columns.fast.gather import gather
from offsets_tool.columns.fast.json_text import JsonWriter
from offsets_tool.columns.fast.keys import TEXTS, KeyColumns
from offsets_tool.columns.fast.lane import Chunk, spread
from offsets_tool.columns.fast.layout import B, R
from offsets_tool.columns.fast.names import Names
from offsets_tool.columns.origin import Origin
from offsets_tool.log.header import CODECS, MAX_INT
from offsets_tool.rows import TimestampType
from offsets_tool.table_rows import EventRow, LogRow
from offsets_tool.wire.arrow import arrow_schema

Array = np.ndarray[Any, Any]

_LOG_APPEND_TIME: Final = 8
_TRANSACTIONAL: Final = 16
_CONTROL: Final = 32
_DELETE_HORIZON: Final = 64
_CODEC: Final = 7

_MARKERS: Final = ("ABORT", "COMMIT")
_DICTIONARY: Final = ("control", "layout", "topic_id", "kept_raw", *TEXTS)
_MOST_KEYS_AS_DICTIONARY: Final = 1 << 16


class Assembler:
    """Makes rows of chunks; keeps what repeats from one chunk to the next, across files."""

    def __init__(self) -> None:
        self._names = {name: Names() for name in _DICTIONARY}
        self._names["control"] = Names(*_MARKERS)
        self._names["layout"] = Names(COMMIT_LAYOUT)
        self._codecs = Names(*map(str, CODECS[:5]))
        self._timestamp_types = Names(str(TimestampType.CREATE_TIME), str(TimestampType.LOG_APPEND_TIME))
        self._keys: KeyColumns | None = None
        self._json = JsonWriter()

    def log(self, chunk: Chunk, origin: Origin) -> pa.RecordBatch:
        """Rows of `log`."""
        columns = self._facts(chunk, origin) | self._log_facts(chunk)
        sizes = chunk.records[R.VALUE_SIZE]
        missing = sizes < 0
        columns["key"] = self._raw_keys(chunk)
        columns["value"] = gather(
            chunk.data,
            chunk.records[R.VALUE_START],
            np.maximum(sizes, 0),
            pa.binary(),
            missing if missing.any() else None,
        )
        return _batch(LogRow, columns)

    def events(self, chunk: Chunk, origin: Origin) -> pa.RecordBatch:
        """Rows of `events`."""
        keys = self._key_columns(chunk)
        rows = EventColumns(chunk, keys, self._names, self._json)
        return _batch(EventRow, self._facts(chunk, origin) | rows.columns())

    def _key_columns(self, chunk: Chunk) -> KeyColumns:
        if self._keys is None or not self._keys.belong_to(chunk.interned):
            self._keys = KeyColumns(chunk.interned, self._names)
        self._keys.update()
        return self._keys

    def _raw_keys(self, chunk: Chunk) -> pa.Array:
        numbers = chunk.records[R.KEY]
        keys = self._key_columns(chunk)
        missing = numbers < 0
        mask = missing if missing.any() else None
        if len(keys.raw) > _MOST_KEYS_AS_DICTIONARY:
            return pa.array(
                [None if number < 0 else keys.raw[number] for number in numbers.tolist()], pa.binary()
            )
        indices = pa.array(numbers.astype(np.int32), mask=mask)
        return pa.DictionaryArray.from_arrays(indices, keys.raw_column(), safe=False)

    def _facts(self, chunk: Chunk, origin: Origin) -> dict[str, pa.Array]:
        """What both tables have."""
        rows = chunk.records.shape[1]
        flags = spread(chunk, B.ATTRIBUTES)
        return {
            "cluster": _constant(origin.cluster, rows),
            "source": _constant(origin.source, rows),
            "log_partition": _number(origin.log_partition, rows, pa.int32()),
            "log_offset": pa.array(chunk.records[R.LOG_OFFSET].copy()),
            "timestamp": pa.array(chunk.records[R.TIMESTAMP].copy()),
            "timestamp_type": self._timestamp_types.column((flags & _LOG_APPEND_TIME) // _LOG_APPEND_TIME),
            "base_offset": pa.array(spread(chunk, B.BASE_OFFSET)),
            "partition_leader_epoch": pa.array(spread(chunk, B.PARTITION_LEADER_EPOCH).astype(np.int32)),
            "producer_id": pa.array(spread(chunk, B.PRODUCER_ID)),
            "producer_epoch": pa.array(spread(chunk, B.PRODUCER_EPOCH).astype(np.int16)),
            "sequence": pa.array(_sequences(chunk)),
            "is_transactional": pa.array(flags & _TRANSACTIONAL != 0),
            "is_control": pa.array(flags & _CONTROL != 0),
            "run": _number(origin.run, rows, pa.int64()),
        }

    def _log_facts(self, chunk: Chunk) -> dict[str, pa.Array]:
        rows = chunk.records.shape[1]
        flags = spread(chunk, B.ATTRIBUTES)
        return {
            "batch_position": pa.array(spread(chunk, B.POSITION)),
            "last_offset": pa.array(spread(chunk, B.LAST_OFFSET)),
            "magic": _number(2, rows, pa.int8()),
            "codec": self._codecs.column(flags & _CODEC),
            "base_sequence": pa.array(spread(chunk, B.BASE_SEQUENCE).astype(np.int32)),
            "delete_horizon_ms": pa.array(spread(chunk, B.BASE_TIMESTAMP), mask=flags & _DELETE_HORIZON == 0),
            "headers": _no_headers(rows),
        }


def _batch(row: type, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """The declared columns in their order, texts as they were encoded."""
    declared = arrow_schema(row)
    fields = [field.with_type(columns[field.name].type) for field in declared]
    return pa.record_batch(
        [columns[field.name] for field in declared], schema=pa.schema(fields, declared.metadata)
    )


def _sequences(chunk: Chunk) -> Array:
    first = spread(chunk, B.BASE_SEQUENCE)
    sequence = first + chunk.records[R.LOG_OFFSET] - spread(chunk, B.BASE_OFFSET)
    sequence[sequence > MAX_INT] -= MAX_INT + 1
    return np.where(first < 0, -1, sequence).astype(np.int32)


def _constant(text: str, rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]), safe=False)


def _number(value: int | None, rows: int, type_: pa.DataType) -> pa.Array:
    if value is None:
        return pa.nulls(rows, type_)
    return pa.array(np.full(rows, value, type_.to_pandas_dtype()))


def _no_headers(rows: int) -> pa.Array:
    type_ = arrow_schema(LogRow).field("headers").type
    nothing = pa.array([], type_.value_type)
    return pa.ListArray.from_arrays(pa.array(np.zeros(rows + 1, np.int32)), nothing).cast(type_)

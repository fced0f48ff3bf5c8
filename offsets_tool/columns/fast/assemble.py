"""A chunk's tables as rows of `log` and of `events`: the columns that the reference decoder gives, texts dictionary-encoded.

What the lane left to the reference decoder is decoded here, record by record, and put in its place among its neighbours.
"""

from typing import Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.decode import added_columns
from offsets_tool.columns.fast.gather import gather
from offsets_tool.columns.fast.keys import TEXTS, KeyColumns
from offsets_tool.columns.fast.lane import Chunk
from offsets_tool.columns.fast.layout import B, Kind, R
from offsets_tool.columns.fast.names import NULL, Names
from offsets_tool.columns.origin import Origin
from offsets_tool.log.header import CODECS, MAX_INT
from offsets_tool.records import RECORD_TYPES
from offsets_tool.rows import TimestampType
from offsets_tool.table_rows import EventRow, LogRow
from offsets_tool.wire.arrow import arrow_schema
from offsets_tool.wire.json import uuid_text

Array = np.ndarray[Any, Any]

_LOG_APPEND_TIME: Final = 8
_TRANSACTIONAL: Final = 16
_CONTROL: Final = 32
_DELETE_HORIZON: Final = 64
_CODEC: Final = 7

_MARKERS: Final = ("ABORT", "COMMIT")
_COMMIT_LAYOUT: Final = RECORD_TYPES[1].layouts[0].since
_NUMBERS: Final = {
    "committed_offset": R.COMMITTED_OFFSET,
    "leader_epoch": R.LEADER_EPOCH,
    "commit_timestamp": R.COMMIT_TIMESTAMP,
    "expire_timestamp": R.EXPIRE_TIMESTAMP,
}
_DICTIONARY: Final = ("control", "layout", "topic_id", "kept_raw", *TEXTS)
_MOST_KEYS_AS_DICTIONARY: Final = 1 << 16


class Assembler:
    """Makes rows of chunks; keeps what repeats from one chunk to the next, across files."""

    def __init__(self) -> None:
        self._names = {name: Names() for name in _DICTIONARY}
        self._names["control"] = Names(*_MARKERS)
        self._names["layout"] = Names(_COMMIT_LAYOUT)
        self._codecs = Names(*map(str, CODECS[:5]))
        self._timestamp_types = Names(str(TimestampType.CREATE_TIME), str(TimestampType.LOG_APPEND_TIME))
        self._keys: KeyColumns | None = None

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
        rows = _Rows(chunk, keys, self._names)
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
        flags = _spread(chunk, B.ATTRIBUTES)
        return {
            "cluster": _constant(origin.cluster, rows),
            "source": _constant(origin.source, rows),
            "log_partition": _number(origin.log_partition, rows, pa.int32()),
            "log_offset": pa.array(chunk.records[R.LOG_OFFSET].copy()),
            "timestamp": pa.array(chunk.records[R.TIMESTAMP].copy()),
            "timestamp_type": self._timestamp_types.column((flags & _LOG_APPEND_TIME) // _LOG_APPEND_TIME),
            "base_offset": pa.array(_spread(chunk, B.BASE_OFFSET)),
            "partition_leader_epoch": pa.array(_spread(chunk, B.PARTITION_LEADER_EPOCH).astype(np.int32)),
            "producer_id": pa.array(_spread(chunk, B.PRODUCER_ID)),
            "producer_epoch": pa.array(_spread(chunk, B.PRODUCER_EPOCH).astype(np.int16)),
            "sequence": pa.array(_sequences(chunk)),
            "is_transactional": pa.array(flags & _TRANSACTIONAL != 0),
            "is_control": pa.array(flags & _CONTROL != 0),
            "run": _number(origin.run, rows, pa.int64()),
        }

    def _log_facts(self, chunk: Chunk) -> dict[str, pa.Array]:
        rows = chunk.records.shape[1]
        flags = _spread(chunk, B.ATTRIBUTES)
        return {
            "batch_position": pa.array(_spread(chunk, B.POSITION)),
            "last_offset": pa.array(_spread(chunk, B.LAST_OFFSET)),
            "magic": _number(2, rows, pa.int8()),
            "codec": self._codecs.column(flags & _CODEC),
            "base_sequence": pa.array(_spread(chunk, B.BASE_SEQUENCE).astype(np.int32)),
            "delete_horizon_ms": pa.array(
                _spread(chunk, B.BASE_TIMESTAMP), mask=flags & _DELETE_HORIZON == 0
            ),
            "headers": _no_headers(rows),
        }


class _Rows:
    """The decoded columns of one chunk."""

    def __init__(self, chunk: Chunk, keys: KeyColumns, names: dict[str, Names]) -> None:
        self._chunk = chunk
        self._keys = keys
        self._names = names
        self._control = _spread(chunk, B.ATTRIBUTES) & _CONTROL != 0
        self._kind = self._sorted_out()
        self._left = np.flatnonzero(self._kind == Kind.REFERENCE)
        self._decoded = self._by_reference()

    def _sorted_out(self) -> Array:
        """Kinds, with what has no clean key left to the reference decoder."""
        kind, key = self._chunk.records[R.KIND], self._chunk.records[R.KEY]
        unclean = ~self._control & ((key < 0) | ~self._keys.clean[key])
        return np.where(unclean, Kind.REFERENCE, kind) if unclean.any() else kind

    def _by_reference(self) -> dict[str, list[Any]]:
        """The columns that decoding adds, for the rows that the lane left."""
        if not len(self._left):
            return {}
        fields = (R.KEY, R.VALUE_START, R.VALUE_SIZE)
        places = zip(*(self._chunk.records[field, self._left].tolist() for field in fields), strict=True)
        data, raw = self._chunk.data, self._keys.raw
        return added_columns(
            (
                None if key < 0 else raw[key],
                None if size < 0 else data[start : start + size].tobytes(),
                control,
            )
            for (key, start, size), control in zip(places, self._control[self._left].tolist(), strict=True)
        )

    def columns(self) -> dict[str, pa.Array]:
        """All of ADDED."""
        made = self._texts() | self._numbers() | self._sparse()
        made["metadata"] = self._metadata()
        made["tombstone"] = self._tombstones()
        return made

    def _texts(self) -> dict[str, pa.Array]:
        records, is_commit = self._chunk.records, self._kind == Kind.COMMIT
        keyed = (self._kind == Kind.COMMIT) | (self._kind == Kind.TOMBSTONE)
        numbers = {name: np.where(keyed, self._keys.texts[name][records[R.KEY]], NULL) for name in TEXTS}
        marker = self._kind == Kind.MARKER
        numbers["control"] = np.where(marker, records[R.VALUE_VERSION], NULL)
        numbers["layout"] = np.where(is_commit, 0, NULL)
        numbers["kept_raw"] = np.full(len(is_commit), NULL)
        numbers["topic_id"] = np.where(
            is_commit, self._topic_ids()[np.where(is_commit, records[R.TOPIC_ID], 0)], NULL
        )
        for name, column in numbers.items():
            if self._decoded:
                column[self._left] = [self._names[name].number(text) for text in self._decoded[name]]
        return {name: self._names[name].column(column) for name, column in numbers.items()}

    def _topic_ids(self) -> Array:
        """Numbers of topic ids in the tables, as numbers of their texts."""
        interned, names = self._chunk.interned, self._names["topic_id"]
        ids = (UUID(bytes=interned.topic_id(number)) for number in range(interned.topic_id_count))
        return np.array([names.number(uuid_text(topic_id)) for topic_id in ids])

    def _numbers(self) -> dict[str, pa.Array]:
        records, keys = self._chunk.records, self._keys
        is_commit, marker = self._kind == Kind.COMMIT, self._kind == Kind.MARKER
        keyed = is_commit | (self._kind == Kind.TOMBSTONE)
        made = {name: self._patched(name, records[field], is_commit) for name, field in _NUMBERS.items()}
        made["coordinator_epoch"] = self._patched("coordinator_epoch", records[R.LEADER_EPOCH], marker)
        made["value_version"] = self._patched("value_version", records[R.VALUE_VERSION], is_commit)
        made["record_type"] = self._patched("record_type", keys.record_type[records[R.KEY]], keyed)
        has_partition = keyed & keys.has_partition[records[R.KEY]]
        made["partition"] = self._patched("partition", keys.partition[records[R.KEY]], has_partition)
        return made

    def _patched(self, name: str, values: Array, valid: Array) -> pa.Array:
        """A column of numbers, with the reference decoder's in their places."""
        type_ = _EVENT_TYPES[name]
        if self._decoded:
            told = self._decoded[name]
            values, valid = values.copy(), valid.copy()
            values[self._left] = [0 if value is None else value for value in told]
            valid[self._left] = [value is not None for value in told]
        # Always a copy: the chunk's tables are filled again for the next one.
        values = values.astype(type_.to_pandas_dtype())
        return pa.array(values, type_, mask=None if valid.all() else ~valid)

    def _metadata(self) -> pa.Array:
        records, missing = self._chunk.records, self._kind != Kind.COMMIT
        sizes = np.where(missing, 0, records[R.METADATA_SIZE])
        starts = np.where(missing, 0, records[R.METADATA_START])
        column = gather(self._chunk.data, starts, sizes, pa.string(), missing if missing.any() else None)
        return self._replaced(column, "metadata")

    def _sparse(self) -> dict[str, pa.Array]:
        rows = len(self._kind)
        return {name: self._replaced(pa.nulls(rows, pa.string()), name) for name in ("value_json", "problem")}

    def _replaced(self, column: pa.Array, name: str) -> pa.Array:
        if not self._decoded or all(text is None for text in self._decoded[name]):
            return column
        return pc.replace_with_mask(
            column, pa.array(self._kind == Kind.REFERENCE), pa.array(self._decoded[name], column.type)
        )

    def _tombstones(self) -> pa.Array:
        tombstones = self._kind == Kind.TOMBSTONE
        if self._decoded:
            tombstones[self._left] = self._decoded["tombstone"]
        return pa.array(tombstones)


_EVENT_TYPES: Final = {field.name: field.type for field in arrow_schema(EventRow)}


def _batch(row: type, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """The declared columns in their order, texts as they were encoded."""
    declared = arrow_schema(row)
    fields = [field.with_type(columns[field.name].type) for field in declared]
    return pa.record_batch(
        [columns[field.name] for field in declared], schema=pa.schema(fields, declared.metadata)
    )


def _spread(chunk: Chunk, field: B) -> Array:
    """A field of the batches, once for each of their records."""
    values = chunk.batches[field]
    if len(values) and (values == values[0]).all():
        return np.full(chunk.records.shape[1], values[0])
    return np.repeat(values, chunk.batches[B.COUNT])


def _sequences(chunk: Chunk) -> Array:
    first = _spread(chunk, B.BASE_SEQUENCE)
    sequence = first + chunk.records[R.LOG_OFFSET] - _spread(chunk, B.BASE_OFFSET)
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

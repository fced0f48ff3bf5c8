"""Makes rows of `log` and `events` from a chunk's tables: the columns of the reference decoder, texts dictionary-encoded.

Columns of batches, positions and log offsets are spread over their records. Of what `events` has beyond `log`, a record's key
decides how it is decoded. Commits, tombstones and markers come from the tables, other kinds' JSON from programs; what is left over
is decoded by the reference decoder, record by record, and put in its place among its neighbours.
"""

from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.assembly.arrays import (
    booleans,
    column,
    dictionary_column,
    interned_column,
    repeated,
    repeated_name,
    texts,
)
from offsets_tool.columns.assembly.gather import gather
from offsets_tool.columns.assembly.keys import TEXTS, KeyColumns
from offsets_tool.columns.assembly.kinds import Kinds
from offsets_tool.columns.assembly.names import NULL, TextDictionary
from offsets_tool.columns.assembly.topic_ids import TopicIdTexts
from offsets_tool.columns.decode import Origin, added_columns
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.json.values import JsonWriter
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.columns.lane.key_table import ROW_FIELDS, KeyField, KeyFlag, ValueField, pick_fields
from offsets_tool.columns.lane.layout import (
    LINE_GAP,
    AttributeBit,
    BatchField,
    RecordField,
    RecordKind,
    has_any,
)
from offsets_tool.log.batches.header import CODECS, MAX_INT
from offsets_tool.records.kinds import RECORD_TYPES
from offsets_tool.rows import TimestampType
from offsets_tool.table_rows import EventRow, LogRow
from offsets_tool.wire.arrow import arrow_schema
from offsets_tool.wire.schema import FieldValue

_EVENT_TYPES: Final = {field.name: field.type for field in arrow_schema(EventRow)}
_OF_COMMITS: Final = {
    "committed_offset": RecordField.COMMITTED_OFFSET,
    "leader_epoch": RecordField.LEADER_EPOCH,
    "commit_timestamp": RecordField.COMMIT_TIMESTAMP,
    "expire_timestamp": RecordField.EXPIRE_TIMESTAMP,
}


class EventColumns:
    """The decoded columns of one chunk."""

    def __init__(
        self,
        chunk: Chunk,
        keys: KeyColumns,
        topic_ids: TopicIdTexts,
        names: dict[str, TextDictionary],
        json: JsonWriter,
    ) -> None:
        self._chunk = chunk
        self._names = names
        self._rows = chunk.records.shape[1]
        self._kinds = Kinds(chunk, keys, json)
        self._kind = self._kinds.kind
        self._fields = self._picked(keys, topic_ids.numbers())
        self._left = self._kinds.left
        self._decoded = self._by_reference(keys)
        self._is_commit = self._where(RecordKind.COMMIT)

    def _where(self, *kinds: RecordKind) -> Array | None:
        """Return which rows are of these kinds, as truth values; None where all are."""
        found = self._kinds.of(*kinds)
        return None if found.all() else found

    def _picked(self, keys: KeyColumns, topic_ids: Array) -> Array:
        """Return the fields of each row: a line for each of KeyField and ValueField, int32."""
        columns = np.empty((ROW_FIELDS, self._rows + LINE_GAP), np.int32)
        # Held here: compiled code gets their address alone.
        layouts = self._layouts()
        pick_fields(
            address(self._chunk.records),
            self._rows,
            address(self._kind),
            address(keys.table),
            address(layouts),
            address(topic_ids),
            address(columns),
            columns.shape[1],
        )
        return columns[:, : self._rows]

    def _by_reference(self, keys: KeyColumns) -> dict[str, list[FieldValue]]:
        """Return by name the columns that decoding adds, of the rows that only the reference decoder reads."""
        if not len(self._left):
            return {}
        fields = (RecordField.KEY, RecordField.VALUE_START, RecordField.VALUE_SIZE)
        places = zip(*(self._chunk.records[field, self._left].tolist() for field in fields), strict=True)
        data, control = self._chunk.data, self._kinds.control_left.tolist()
        return added_columns(
            (
                None if key < 0 else keys.raw(key),
                None if size < 0 else data[start : start + size].tobytes(),
                is_control,
            )
            for (key, start, size), is_control in zip(places, control, strict=True)
        )

    def columns(self) -> dict[str, pa.Array]:
        """Return all columns that `events` has beyond `log`."""
        made = self._key_columns() | self._commit_columns() | self._texts()
        made["coordinator_epoch"] = self._of_markers("coordinator_epoch", RecordField.LEADER_EPOCH)
        made["value_version"] = self._numbers(
            "value_version",
            self._chunk.records[RecordField.VALUE_VERSION],
            self._where(RecordKind.COMMIT, RecordKind.JSON),
        )
        made["metadata"] = self._metadata()
        made["is_tombstone"] = self._tombstones()
        return made

    def _key_columns(self) -> dict[str, pa.Array]:
        made = {name: self._text_column(name, self._fields[place]) for name, place in TEXTS.items()}
        types, flags = self._fields[KeyField.RECORD_TYPE], self._fields[KeyField.FLAGS]
        has_key, has_partition = types >= 0, (flags & int(KeyFlag.PARTITION)) != 0
        made["record_type"] = self._numbers("record_type", types, None if has_key.all() else has_key)
        made["partition"] = self._numbers(
            "partition", self._fields[KeyField.PARTITION], None if has_partition.all() else has_partition
        )
        return made

    def _commit_columns(self) -> dict[str, pa.Array]:
        records = self._chunk.records
        return {
            name: self._numbers(name, records[field], self._is_commit) for name, field in _OF_COMMITS.items()
        }

    def _of_markers(self, name: str, field: RecordField) -> pa.Array:
        return self._numbers(name, self._chunk.records[field], self._where(RecordKind.MARKER))

    def _numbers(self, name: str, values: Array, valid: Array | None) -> pa.Array:
        """Return a column of numbers; its values in rows that the lane left to the reference decoder are that decoder's."""
        type_ = _EVENT_TYPES[name]
        if not self._decoded and valid is not None and not valid.any():
            return repeated(None, type_, self._rows)
        # Always a copy: the chunk's tables are filled again for the next one.
        values = values.astype(type_.to_pandas_dtype())
        if self._decoded:
            decoded = self._decoded[name]
            valid = np.ones(self._rows, np.bool_) if valid is None else valid.copy()
            values[self._left] = [0 if value is None else value for value in decoded]
            valid[self._left] = [value is not None for value in decoded]
        return column(type_, values, valid)

    def _texts(self) -> dict[str, pa.Array]:
        """Return the columns of texts that do not come from the key."""
        made = {
            field.name.lower(): self._text_column(field.name.lower(), self._fields[field])
            for field in ValueField
        }
        made["kept_raw"] = self._text_column("kept_raw", np.full(self._rows, NULL, np.int32))
        nothing = repeated(None, pa.string(), self._rows)
        made["value_json"] = self._replaced(self._json() if self._kinds.json else nothing, "value_json")
        made["problem"] = self._replaced(nothing, "problem")
        return made

    def _json(self) -> pa.Array:
        assert self._kinds.json is not None
        return texts(pa.string(), *self._kinds.json, self._kinds.of(RecordKind.JSON))

    def _text_column(self, name: str, numbers: Array) -> pa.DictionaryArray:
        """Return a column of texts, given the number of each; texts in rows left to the reference decoder are that decoder's."""
        if self._decoded:
            numbers[self._left] = [self._names[name].number(text) for text in self._decoded[name]]
        return self._names[name].column(numbers)

    def _layouts(self) -> Array:
        """Return the number of the newest layout's name, by record type: that of commits, and of what programs print."""
        newest = np.full(max(RECORD_TYPES) + 1, NULL, np.int32)
        for record_type in RECORD_TYPES.values():
            newest[record_type.id] = self._names["layout"].number(record_type.layouts[0].since)
        return newest

    def _metadata(self) -> pa.Array:
        records, valid = self._chunk.records, self._is_commit
        sizes = records[RecordField.METADATA_SIZE]
        if valid is not None:
            sizes = np.where(valid, sizes, 0)
        starts = records[RecordField.METADATA_START]
        return self._replaced(gather(self._chunk.data, starts, sizes, pa.string(), valid), "metadata")

    def _replaced(self, column: pa.Array, name: str) -> pa.Array:
        if not self._decoded or all(text is None for text in self._decoded[name]):
            return column
        left = np.zeros(self._rows, np.bool_)
        left[self._left] = True
        return pc.replace_with_mask(column, booleans(left), pa.array(self._decoded[name], column.type))

    def _tombstones(self) -> pa.Array:
        tombstones = self._kinds.of(RecordKind.TOMBSTONE)
        if self._decoded:
            tombstones[self._left] = self._decoded["is_tombstone"]
        return booleans(tombstones)


_TIMESTAMP_TYPES: Final = pa.array([str(TimestampType.CREATE_TIME), str(TimestampType.LOG_APPEND_TIME)])
_CODECS: Final = pa.array([str(codec) for codec in CODECS[:5]])
_HEADERS: Final = arrow_schema(LogRow).field("headers").type


class BatchColumns:
    """Columns of one chunk."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._rows = chunk.records.shape[1]
        self._batch_of = chunk.records[RecordField.BATCH]

    def both(self, origin: Origin) -> dict[str, pa.Array]:
        """Return the columns that `log` and `events` share."""
        records, rows = self._chunk.records, self._rows
        return {
            "cluster": repeated_name(origin.cluster, rows),
            "source": repeated_name(origin.source, rows),
            "log_partition": repeated(origin.log_partition, pa.int32(), rows),
            "log_offset": column(pa.int64(), records[RecordField.LOG_OFFSET].copy()),
            "timestamp": column(pa.int64(), records[RecordField.TIMESTAMP].copy()),
            "timestamp_type": self._name_column(_TIMESTAMP_TYPES, self._has(AttributeBit.LOG_APPEND_TIME)),
            "base_offset": self._numbers(BatchField.BASE_OFFSET, pa.int64()),
            "partition_leader_epoch": self._numbers(BatchField.PARTITION_LEADER_EPOCH, pa.int32()),
            "producer_id": self._numbers(BatchField.PRODUCER_ID, pa.int64()),
            "producer_epoch": self._numbers(BatchField.PRODUCER_EPOCH, pa.int16()),
            "sequence": self._sequences(),
            "is_transactional": self._flags(AttributeBit.TRANSACTIONAL),
            "is_control": self._flags(AttributeBit.CONTROL),
            "misplaced": repeated(None, pa.string(), rows),
            "run": repeated(origin.run, pa.int64(), rows),
        }

    def of_log(self) -> dict[str, pa.Array]:
        """Return the columns that only `log` has, without the key."""
        records, batches, rows = self._chunk.records, self._chunk.batches, self._rows
        sizes = records[RecordField.VALUE_SIZE]
        has_value = sizes >= 0
        return {
            "batch_position": self._numbers(BatchField.POSITION, pa.int64()),
            "last_offset": self._numbers(BatchField.LAST_OFFSET, pa.int64()),
            "magic": repeated(2, pa.int8(), rows),
            "codec": self._name_column(_CODECS, batches[BatchField.ATTRIBUTES] & int(AttributeBit.CODEC)),
            "base_sequence": self._numbers(BatchField.BASE_SEQUENCE, pa.int32()),
            "delete_horizon_ms": self._delete_horizons(),
            "headers": repeated((), _HEADERS, rows),
            "value": gather(
                self._chunk.data,
                records[RecordField.VALUE_START],
                sizes,
                pa.binary(),
                None if has_value.all() else has_value,
            ),
        }

    def _has(self, bit: AttributeBit) -> Array:
        return has_any(self._chunk.batches[BatchField.ATTRIBUTES], bit)

    def _numbers(self, field: BatchField, type_: pa.DataType) -> pa.Array:
        values = self._chunk.batches[field]
        if _is_constant(values):
            return repeated(int(values[0]), type_, self._rows)
        return column(type_, values.astype(type_.to_pandas_dtype()).take(self._batch_of))

    def _flags(self, bit: AttributeBit) -> pa.Array:
        flags = self._has(bit)
        if _is_constant(flags):
            return repeated(bool(flags[0]), pa.bool_(), self._rows)
        return booleans(flags.take(self._batch_of))

    def _name_column(self, names: pa.Array, numbers: Array) -> pa.DictionaryArray:
        """Return a dictionary-encoded column, given the number of a name for each batch."""
        if _is_constant(numbers):
            indices = repeated(int(numbers[0]), pa.int32(), self._rows)
        else:
            indices = column(pa.int32(), numbers.astype(np.int32).take(self._batch_of))
        return pa.DictionaryArray.from_arrays(indices, names, safe=False)

    def _sequences(self) -> pa.Array:
        first = self._chunk.batches[BatchField.BASE_SEQUENCE]
        if (first < 0).all():
            return repeated(-1, pa.int32(), self._rows)
        from_base = (first - self._chunk.batches[BatchField.BASE_OFFSET]).take(self._batch_of)
        sequence = from_base + self._chunk.records[RecordField.LOG_OFFSET]
        sequence[sequence > MAX_INT] -= MAX_INT + 1
        sequence[(first < 0).take(self._batch_of)] = -1
        return column(pa.int32(), sequence.astype(np.int32))

    def _delete_horizons(self) -> pa.Array:
        has_horizon = self._has(AttributeBit.DELETE_HORIZON)
        if not has_horizon.any():
            return repeated(None, pa.int64(), self._rows)
        horizons = self._chunk.batches[BatchField.BASE_TIMESTAMP][self._batch_of]
        return column(pa.int64(), horizons, has_horizon[self._batch_of])


def _is_constant(values: Array) -> bool:
    return bool((values == values[0]).all())


_MARKERS: Final = ("ABORT", "COMMIT")
_DICTIONARY: Final = ("control", "layout", "topic_id", "kept_raw", *TEXTS)
_MOST_KEYS_AS_DICTIONARY: Final = 1 << 16


class Assembler:
    """Makes rows of chunks; keeps what repeats from one chunk to the next, across files."""

    def __init__(self) -> None:
        self._json = JsonWriter()
        self._interned: InternedKeys | None = None

    def rows(
        self, chunk: Chunk, origin: Origin, *, log: bool = True
    ) -> tuple[pa.RecordBatch | None, pa.RecordBatch]:
        """Return the rows of `log` (None unless `log`) and the rows of `events` for a chunk."""
        if self._interned is not chunk.interned:
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
        self._interned = interned
        self._raw: pa.Array | None = None
        self._names = {name: TextDictionary() for name in _DICTIONARY}
        self._names["control"] = TextDictionary(*_MARKERS)
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
    are_encoded = tuple(isinstance(array, pa.DictionaryArray) for array in arrays)
    return pa.RecordBatch.from_arrays(arrays, schema=_schema(row, are_encoded))


@lru_cache(8)
def _schema(row: type, are_encoded: tuple[bool, ...]) -> pa.Schema:
    """Return the schema of a row some of whose columns are dictionary-encoded; to compare types takes longer than all else here."""
    declared = arrow_schema(row)
    fields = [
        field.with_type(pa.dictionary(pa.int32(), field.type)) if is_encoded else field
        for field, is_encoded in zip(declared, are_encoded, strict=True)
    ]
    return pa.schema(fields, declared.metadata)

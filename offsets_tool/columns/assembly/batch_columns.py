"""Makes the columns of `log` and `events` for which nothing is decoded: those of batches, positions and log offsets."""

from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.assembly.arrays import booleans, column, repeated, repeated_name
from offsets_tool.columns.assembly.gather import gather
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.layout import AttributeBit, BatchField, RecordField, has_any
from offsets_tool.columns.origin import Origin
from offsets_tool.log.batches.header import CODECS, MAX_INT
from offsets_tool.rows import TimestampType
from offsets_tool.table_rows import LogRow
from offsets_tool.wire.arrow import arrow_schema

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
        return column(type_, values.astype(type_.to_pandas_dtype())[self._batch_of])

    def _flags(self, bit: AttributeBit) -> pa.Array:
        flags = self._has(bit)
        if _is_constant(flags):
            return repeated(bool(flags[0]), pa.bool_(), self._rows)
        return booleans(flags[self._batch_of])

    def _name_column(self, names: pa.Array, numbers: Array) -> pa.DictionaryArray:
        """Return a dictionary-encoded column, given the number of a name for each batch."""
        if _is_constant(numbers):
            indices = repeated(int(numbers[0]), pa.int32(), self._rows)
        else:
            indices = column(pa.int32(), numbers.astype(np.int32)[self._batch_of])
        return pa.DictionaryArray.from_arrays(indices, names, safe=False)

    def _sequences(self) -> pa.Array:
        first = self._chunk.batches[BatchField.BASE_SEQUENCE]
        if (first < 0).all():
            return repeated(-1, pa.int32(), self._rows)
        from_base = (first - self._chunk.batches[BatchField.BASE_OFFSET])[self._batch_of]
        sequence = from_base + self._chunk.records[RecordField.LOG_OFFSET]
        sequence[sequence > MAX_INT] -= MAX_INT + 1
        sequence[(first < 0)[self._batch_of]] = -1
        return column(pa.int32(), sequence.astype(np.int32))

    def _delete_horizons(self) -> pa.Array:
        has_horizon = self._has(AttributeBit.DELETE_HORIZON)
        if not has_horizon.any():
            return repeated(None, pa.int64(), self._rows)
        horizons = self._chunk.batches[BatchField.BASE_TIMESTAMP][self._batch_of]
        return column(pa.int64(), horizons, has_horizon[self._batch_of])


def _is_constant(values: Array) -> bool:
    return bool((values == values[0]).all())

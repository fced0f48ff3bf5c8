"""The decoded columns of a chunk: what `events` has beyond `log`.

Commits, tombstones and markers come from the tables, other kinds' JSON from programs; what is left over is decoded by the reference
decoder, record by record, and put in its place among its neighbours.
"""

from typing import Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.decode import added_columns
from offsets_tool.columns.fast.gather import gather
from offsets_tool.columns.fast.json_text import JsonWriter
from offsets_tool.columns.fast.keys import TEXTS, KeyColumns
from offsets_tool.columns.fast.lane import Chunk, spread
from offsets_tool.columns.fast.layout import B, Kind, R
from offsets_tool.columns.fast.names import NULL, Names
from offsets_tool.records import RECORD_TYPES
from offsets_tool.table_rows import EventRow
from offsets_tool.wire.arrow import arrow_schema
from offsets_tool.wire.json import uuid_text

Array = np.ndarray[Any, Any]

COMMIT_LAYOUT: Final = RECORD_TYPES[1].layouts[0].since

_CONTROL: Final = 32
_EVENT_TYPES: Final = {field.name: field.type for field in arrow_schema(EventRow)}
_NUMBERS: Final = {
    "committed_offset": R.COMMITTED_OFFSET,
    "leader_epoch": R.LEADER_EPOCH,
    "commit_timestamp": R.COMMIT_TIMESTAMP,
    "expire_timestamp": R.EXPIRE_TIMESTAMP,
}


class EventColumns:
    """The decoded columns of one chunk."""

    def __init__(self, chunk: Chunk, keys: KeyColumns, names: dict[str, Names], json: JsonWriter) -> None:
        self._chunk = chunk
        self._keys = keys
        self._names = names
        self._control = spread(chunk, B.ATTRIBUTES) & _CONTROL != 0
        self._kind = self._sorted_out()
        self._texts_of = self._by_program(json)
        self._left = np.flatnonzero(self._kind == Kind.REFERENCE)
        self._decoded = self._by_reference()

    def _sorted_out(self) -> Array:
        """Kinds, with what has no clean key left to the reference decoder; in which letters a commit is makes no difference."""
        kind, key = self._chunk.records[R.KIND], self._chunk.records[R.KEY]
        kind = np.where(kind == Kind.COMMIT_IN_UTF8, Kind.COMMIT, kind)
        unclean = ~self._control & ((key < 0) | ~self._keys.clean[key])
        return np.where(unclean, Kind.REFERENCE, kind) if unclean.any() else kind

    def _by_program(self, json: JsonWriter) -> pa.Array | None:
        """JSON of the values that programs print, for all rows; None if there is none."""
        rows = np.flatnonzero(
            (self._kind == Kind.REFERENCE) & ~self._control & self._keys.clean[self._chunk.records[R.KEY]]
        )
        if not len(rows):
            return None
        records = self._chunk.records
        types = self._keys.record_type[records[R.KEY, rows]].astype(np.int64)
        texts = json.write(self._chunk.data, types, records[R.VALUE_START, rows], records[R.VALUE_SIZE, rows])
        printed = texts.sizes >= 0
        rows, starts, sizes = rows[printed], texts.starts[printed], texts.sizes[printed]
        if not len(rows):
            return None
        self._kind = self._kind.copy()
        self._kind[rows] = Kind.JSON
        # Read here once more: only commits had it from the kernel.
        places = records[R.VALUE_START, rows]
        records[R.VALUE_VERSION, rows] = (
            self._chunk.data[places].astype(np.int64) << 8 | self._chunk.data[places + 1]
        )
        missing = self._kind != Kind.JSON
        all_starts, all_sizes = np.zeros(len(missing), np.int64), np.zeros(len(missing), np.int64)
        all_starts[rows], all_sizes[rows] = starts, sizes
        return gather(texts.data, all_starts, all_sizes, pa.string(), missing)

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
        numbers = {
            name: np.where(self._keyed(), self._keys.texts[name][records[R.KEY]], NULL) for name in TEXTS
        }
        marker = self._kind == Kind.MARKER
        numbers["control"] = np.where(marker, records[R.VALUE_VERSION], NULL)
        numbers["layout"] = self._layouts()
        numbers["kept_raw"] = np.full(len(is_commit), NULL)
        numbers["topic_id"] = np.where(
            is_commit, self._topic_ids()[np.where(is_commit, records[R.TOPIC_ID], 0)], NULL
        )
        for name, column in numbers.items():
            if self._decoded:
                column[self._left] = [self._names[name].number(text) for text in self._decoded[name]]
        return {name: self._names[name].column(column) for name, column in numbers.items()}

    def _keyed(self) -> Array:
        """Rows whose key columns are those of their key."""
        kind = self._kind
        keyed: Array = (kind == Kind.COMMIT) | (kind == Kind.TOMBSTONE) | (kind == Kind.JSON)
        return keyed

    def _layouts(self) -> Array:
        """Commits have one layout; what programs print has the newest of its type."""
        layouts = np.where(self._kind == Kind.COMMIT, 0, NULL)
        printed = self._kind == Kind.JSON
        if printed.any():
            types = self._keys.record_type[self._chunk.records[R.KEY, printed]]
            newest = {
                t: self._names["layout"].number(RECORD_TYPES[t].layouts[0].since)
                for t in np.unique(types).tolist()
            }
            layouts[printed] = [newest[type_id] for type_id in types.tolist()]
        return layouts

    def _topic_ids(self) -> Array:
        """Numbers of topic ids in the tables, as numbers of their texts."""
        interned, names = self._chunk.interned, self._names["topic_id"]
        ids = (UUID(bytes=interned.topic_id(number)) for number in range(interned.topic_id_count))
        numbers: Array = np.array([names.number(uuid_text(topic_id)) for topic_id in ids])
        return numbers

    def _numbers(self) -> dict[str, pa.Array]:
        records, keys = self._chunk.records, self._keys
        is_commit, marker = self._kind == Kind.COMMIT, self._kind == Kind.MARKER
        keyed, valued = self._keyed(), is_commit | (self._kind == Kind.JSON)
        made = {name: self._patched(name, records[field], is_commit) for name, field in _NUMBERS.items()}
        made["coordinator_epoch"] = self._patched("coordinator_epoch", records[R.LEADER_EPOCH], marker)
        made["value_version"] = self._patched("value_version", records[R.VALUE_VERSION], valued)
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
        nothing = pa.nulls(len(self._kind), pa.string())
        json = nothing if self._texts_of is None else self._texts_of
        return {
            "value_json": self._replaced(json, "value_json"),
            "problem": self._replaced(nothing, "problem"),
        }

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

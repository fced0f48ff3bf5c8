"""What compiled code is told of a chunk: where everything is that its lines are made of."""

from uuid import UUID

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.layout import NO_KEY, Kind, R
from offsets_tool.columns.text.fields import NUMBERS, KeyClass, columns
from offsets_tool.columns.text.kernel import SLACK, At
from offsets_tool.columns.text.keys import KeyTable
from offsets_tool.columns.text.lines import Lines
from offsets_tool.columns.text.values import Values
from offsets_tool.wire.json import uuid_text


class Told:
    """What compiled code is told of a chunk: addresses, and the arrays they are of."""

    def __init__(self, chunk: Chunk, keys: KeyTable) -> None:
        self._chunk = chunk
        self._keys = keys
        numbers = chunk.records[R.KEY]
        has_key = numbers != NO_KEY
        self.key_classes: Array = np.where(has_key, keys.classes[numbers], KeyClass.OTHER)
        self.wanted: Array = np.where(has_key, keys.wanted[numbers], True)
        self.columns = columns(chunk, np.where(has_key, keys.sizes[numbers], -1))
        self._column_addresses = np.array([address(self.columns[name]) for name in NUMBERS], np.int64)
        sizes = np.where(chunk.records[R.KIND] == Kind.COMMIT, chunk.records[R.METADATA_SIZE], 0)
        self._metadata_sizes = sizes
        texts = (chunk.interned.topic_id(number) for number in range(chunk.interned.topic_id_count))
        joined = "".join(uuid_text(UUID(bytes=topic_id)) for topic_id in texts).encode()
        self._topic_ids = np.frombuffer(joined + bytes(SLACK), np.uint8)
        self._kept: list[Array] = []
        self._told: Array = np.zeros(len(At), np.int64)

    @property
    def address(self) -> int:
        return address(self._told)

    def take(self, lines: Lines, programs: Array, escapes: Array, values: Values) -> None:
        """The rest of what it is told."""
        records = self._chunk.records
        told = {
            At.PROGRAMS: programs,
            At.COLUMNS: self._column_addresses,
            At.LINE_PROGRAMS: lines.programs,
            At.LINE_BATCHES: lines.batches,
            At.LINE_RECORDS: lines.records,
            At.KEYS: records[R.KEY],
            At.KEY_STARTS: self._keys.text_starts,
            At.KEY_SIZES: self._keys.text_sizes,
            At.KEY_TEXTS: self._keys.arena,
            At.METADATA_STARTS: records[R.METADATA_START],
            At.METADATA_SIZES: self._metadata_sizes,
            At.DATA: self._chunk.data,
            At.ESCAPES: escapes,
            At.TOPIC_IDS: records[R.TOPIC_ID],
            At.TOPIC_ID_TEXTS: self._topic_ids,
            At.VALUE_STARTS: values.starts,
            At.VALUE_SIZES: values.sizes,
            At.VALUES: values.data,
        }
        self._kept = [*told.values()]
        for place, array in told.items():
            self._told[place] = address(array)

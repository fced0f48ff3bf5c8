"""The input of the compiled writer for one chunk: the lines to write in their order, and the addresses of what they are made of."""

from typing import Final
from uuid import UUID

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.layout import NO_KEY, BatchField, RecordField, RecordKind
from offsets_tool.columns.text.fields import NUMBERS, KeyClass, columns
from offsets_tool.columns.text.kernel import SLACK, KernelInput
from offsets_tool.columns.text.keys import KeyTable
from offsets_tool.columns.text.programs import REFUSED
from offsets_tool.columns.text.values import Values
from offsets_tool.wire.json import uuid_text

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


class KernelArguments:
    """The input of the compiled writer for one chunk: a table of addresses, and the arrays that they point to."""

    def __init__(self, chunk: Chunk, keys: KeyTable) -> None:
        self._chunk = chunk
        self._keys = keys
        numbers = chunk.records[RecordField.KEY]
        has_key = numbers != NO_KEY
        self.key_classes: Array = np.where(has_key, keys.classes[numbers], KeyClass.OTHER)
        self.wanted: Array = np.where(has_key, keys.wanted[numbers], True)
        self.columns = columns(chunk, np.where(has_key, keys.sizes[numbers], -1))
        self._column_addresses = np.array([address(self.columns[name]) for name in NUMBERS], np.int64)
        sizes = np.where(
            chunk.records[RecordField.KIND] == RecordKind.COMMIT, chunk.records[RecordField.METADATA_SIZE], 0
        )
        self._metadata_sizes = sizes
        texts = (chunk.interned.topic_id(number) for number in range(chunk.interned.topic_id_count))
        joined = "".join(uuid_text(UUID(bytes=topic_id)) for topic_id in texts).encode()
        self._topic_ids = np.frombuffer(joined + bytes(SLACK), np.uint8)
        self._kept: list[Array] = []
        self._inputs: Array = np.zeros(len(KernelInput), np.int64)

    @property
    def address(self) -> int:
        """The address of the table, for compiled code."""
        return address(self._inputs)

    def fill(self, lines: Lines, programs: Array, escapes: Array, values: Values) -> None:
        """Fill in the lines to write, their programs, the escapes of metadata and the JSON of values."""
        records = self._chunk.records
        arrays = {
            KernelInput.PROGRAMS: programs,
            KernelInput.COLUMNS: self._column_addresses,
            KernelInput.LINE_PROGRAMS: lines.programs,
            KernelInput.LINE_BATCHES: lines.batches,
            KernelInput.LINE_RECORDS: lines.records,
            KernelInput.KEYS: records[RecordField.KEY],
            KernelInput.KEY_STARTS: self._keys.text_starts,
            KernelInput.KEY_SIZES: self._keys.text_sizes,
            KernelInput.KEY_TEXTS: self._keys.arena,
            KernelInput.METADATA_STARTS: records[RecordField.METADATA_START],
            KernelInput.METADATA_SIZES: self._metadata_sizes,
            KernelInput.DATA: self._chunk.data,
            KernelInput.ESCAPES: escapes,
            KernelInput.TOPIC_IDS: records[RecordField.TOPIC_ID],
            KernelInput.TOPIC_ID_TEXTS: self._topic_ids,
            KernelInput.VALUE_STARTS: values.starts,
            KernelInput.VALUE_SIZES: values.sizes,
            KernelInput.VALUES: values.data,
        }
        self._kept = [*arrays.values()]
        for place, array in arrays.items():
            self._inputs[place] = address(array)

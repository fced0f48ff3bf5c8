"""A segment's records as text: compiled code writes what has a template, and what has none is handed to the caller in its place.

The caller prints those as it would without the lane, one by one, so the whole is what the printer gives of every record in turn.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple
from uuid import UUID

import numpy as np

from offsets_tool.columns.fast.interned import Interned
from offsets_tool.columns.fast.lane import Chunk
from offsets_tool.columns.fast.layout import NO_KEY, B, Kind, R
from offsets_tool.columns.fast.machine import address
from offsets_tool.columns.fast.text.classes import Templates
from offsets_tool.columns.fast.text.fields import NUMBERS, Classes, KeyClass, classes, columns
from offsets_tool.columns.fast.text.kernel import SLACK, At, write_lines
from offsets_tool.columns.fast.text.keys import KeyTable, KeyTexts
from offsets_tool.columns.fast.text.printer import Printer
from offsets_tool.columns.fast.text.programs import REFUSED, Programs
from offsets_tool.log.batch import read_batch
from offsets_tool.log.ledger import Ledger, Outcome
from offsets_tool.log.names import Segment
from offsets_tool.rows import BatchRead, LogRecord
from offsets_tool.wire.json import uuid_text

Array = np.ndarray[Any, Any]

_ROOM: Final = 4 << 20
"""Bytes of text held at once: more than the longest line."""
_MOST_CLASSES: Final = 500
"""Classes of one file that are learned: real ones have a dozen, and a file made to have more is not read more slowly for it."""
_NO_RECORD: Final = -1
_RECORD_BITS: Final = 20
_RECORD_MASK: Final = (1 << _RECORD_BITS) - 1

Passed = Callable[[int, int], None]
Written = memoryview | LogRecord | BatchRead
"""Text, which is overwritten by the next; or what the caller prints, counts and decodes: a record, or a whole batch."""


class TextWriter:
    """The text of one file after another, by one printer; what it knows of keys is kept."""

    def __init__(self, printer: Printer) -> None:
        self.printer: Final = printer
        self.key_texts: Final = KeyTexts(printer.record)
        self.out: Final[Array] = np.empty(_ROOM + 2 * SLACK, np.uint8)
        self._keys: KeyTable | None = None

    def keys(self, interned: Interned) -> KeyTable:
        """The table of these keys, up to date."""
        if self._keys is None or not self._keys.belongs_to(interned):
            self._keys = KeyTable(interned, self.key_texts)
        self._keys.update()
        return self._keys

    def file(self, data: memoryview, segment: Segment, ledger: Ledger, passed: Passed | None) -> "FileWriter":
        """The writer of one file's chunks: what is printed may depend on the file.

        The ledger is told of what compiled code printed; `passed` of all offsets that were printed, as first and last of
        some that follow each other.
        """
        return FileWriter(self, _File(data, segment, ledger, passed))


class _File(NamedTuple):
    data: memoryview
    segment: Segment
    ledger: Ledger
    passed: Passed | None


class FileWriter:
    """The text of one file's chunks."""

    def __init__(self, writer: TextWriter, file: _File) -> None:
        self._writer = writer
        self._printer = writer.printer
        self._file = file
        self._out = writer.out
        self._templates = Templates(writer.printer, writer.key_texts)
        self._programs = Programs()
        self._of_batches: dict[int, tuple[int, bool]] = {}
        self._of_records: dict[int, int] = {}
        self._numbers: dict[int, int] = {}

    def write(self, chunk: Chunk) -> Iterator[Written]:
        """Text of the chunk's records and batches, and in their places those that the caller prints."""
        told = _Told(chunk, self._writer.keys(chunk.interned))
        found = classes(chunk, told.columns, told.key_classes)
        real = _Real(chunk, self._file)
        lines = self._lines(chunk, found, real)
        told.take(lines, self._programs.table, self._templates.escape_table())
        self._count(chunk, lines)
        yield from self._written(chunk, lines, told, real)

    def _count(self, chunk: Chunk, lines: "_Lines") -> None:
        records = lines.records[(lines.programs != REFUSED) & (lines.records != _NO_RECORD)]
        control = int((chunk.records[R.KIND, records] == Kind.MARKER).sum())
        self._file.ledger.count(Outcome.CONTROL, times=control)
        self._file.ledger.count(Outcome.DECODED, times=len(records) - control)

    def _lines(self, chunk: Chunk, found: Classes, real: "_Real") -> "_Lines":
        values, first, which = np.unique(found.batches, return_index=True, return_inverse=True)
        of_class = [
            self._batch_program(one, place, real)
            for one, place in zip(values.tolist(), first.tolist(), strict=True)
        ]
        of_batch = np.array([program for program, _ in of_class], np.int64)[which]
        has_records = np.array([shown for _, shown in of_class])[which]
        numbers = [self._numbers.setdefault(one, len(self._numbers)) for one in values.tolist()]
        both = found.records | (np.array(numbers)[which] << _RECORD_BITS)[chunk.records[R.BATCH]]
        of_record = self._record_programs(np.where(found.records < 0, REFUSED, both), found.batches, real)
        return _Lines(chunk, of_batch, has_records, of_record, with_batches=self._printer.batch is not None)

    def _batch_program(self, batch_class: int, first: int, real: "_Real") -> tuple[int, bool]:
        if batch_class < 0:
            return REFUSED, False
        if self._printer.batch is None:
            return 0, True
        if batch_class not in self._of_batches:
            if len(self._of_batches) == _MOST_CLASSES:
                return REFUSED, False
            template, has_records = self._templates.of_batch(real.batch(first).batch, batch_class)
            self._of_batches[batch_class] = self._programs.add(template), has_records
        return self._of_batches[batch_class]

    def _record_programs(self, both: Array, batches: Array, real: "_Real") -> Array:
        """Programs of records by the class of their batch and their own."""
        values, first, which = np.unique(both, return_index=True, return_inverse=True)
        rows = real.batch_numbers[first].tolist()
        programs = [
            self._record_program(one, int(batches[number]), place, real)
            for one, number, place in zip(values.tolist(), rows, first.tolist(), strict=True)
        ]
        return np.array(programs, np.int64)[which]

    def _record_program(self, both: int, batch_class: int, first: int, real: "_Real") -> int:
        if both < 0 or batch_class < 0:
            return REFUSED
        if both not in self._of_records:
            if len(self._of_records) == _MOST_CLASSES:
                return REFUSED
            record_class = both & _RECORD_MASK
            template = self._templates.of_record(real.record(first), batch_class, record_class)
            self._of_records[both] = self._programs.add(template)
        return self._of_records[both]

    def _written(self, chunk: Chunk, lines: "_Lines", told: "_Told", real: "_Real") -> Iterator[Written]:
        out, line, count = address(self._out), 0, len(lines.programs)
        while line < count:
            reached, end = write_lines(told.address, line, count, out, out + _ROOM)
            if end > out:
                yield self._out[: end - out].data
            by_caller = reached < count and lines.programs[reached] == REFUSED
            self._pass(chunk, lines.records[line : reached + by_caller])
            line = reached + by_caller
            if by_caller:
                record = int(lines.records[reached])
                whole = record == _NO_RECORD
                yield real.batch(int(lines.batches[reached])) if whole else real.record(record)

    def _pass(self, chunk: Chunk, records: Array) -> None:
        if self._file.passed is None:
            return
        offsets = chunk.records[R.LOG_OFFSET, records[records != _NO_RECORD]]
        cuts = np.flatnonzero(offsets[1:] != offsets[:-1] + 1) + 1
        first, last = np.append(0, cuts), np.append(cuts, len(offsets)) - 1
        if len(offsets):
            for one, other in zip(offsets[first].tolist(), offsets[last].tolist(), strict=True):
                self._file.passed(one, other)


class _Lines:
    """What is to be written, in order: programs, and the batches and records they are of; a batch's own line has no record."""

    def __init__(
        self, chunk: Chunk, of_batch: Array, has_records: Array, of_record: Array, *, with_batches: bool
    ) -> None:
        batch = chunk.records[R.BATCH]
        refused = of_batch[batch] == REFUSED
        shown = has_records[batch] & ~refused
        records = np.flatnonzero(shown)
        heads = np.flatnonzero(of_batch == REFUSED) if not with_batches else np.arange(len(of_batch))
        first = np.cumsum(chunk.batches[B.COUNT]) - chunk.batches[B.COUNT]
        # A batch's own line comes before its records.
        order = np.argsort(np.concatenate((2 * records + 1, 2 * first[heads])), kind="stable")
        self.batches: Array = np.concatenate((batch[records], heads))[order]
        self.records: Array = np.concatenate((records, np.full(len(heads), _NO_RECORD)))[order]
        self.programs: Array = np.concatenate((of_record[records], of_batch[heads]))[order]


class _Told:
    """What compiled code is told of a chunk: addresses, and the arrays they are of."""

    def __init__(self, chunk: Chunk, keys: KeyTable) -> None:
        self._chunk = chunk
        self._keys = keys
        numbers = chunk.records[R.KEY]
        has_key = numbers != NO_KEY
        self.key_classes: Array = np.where(has_key, keys.classes[numbers], KeyClass.OTHER)
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

    def take(self, lines: _Lines, programs: Array, escapes: Array) -> None:
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
        }
        self._kept = [*told.values()]
        for place, array in told.items():
            self._told[place] = address(array)


class _Real:
    """Batches and records of a chunk as the reference reader has them."""

    def __init__(self, chunk: Chunk, file: _File) -> None:
        self._chunk = chunk
        self._file = file
        self._latest: tuple[int, BatchRead] | None = None
        self._first = np.cumsum(chunk.batches[B.COUNT]) - chunk.batches[B.COUNT]
        self.batch_numbers: Array = chunk.records[R.BATCH]

    def batch(self, number: int) -> BatchRead:
        """A batch of the chunk, by its number there."""
        if self._latest is None or self._latest[0] != number:
            position = int(self._chunk.batches[B.POSITION, number])
            place = self._file.segment
            read = read_batch(self._file.data, position, place.source, place.log_partition)
            self._latest = number, read
        return self._latest[1]

    def record(self, row: int) -> LogRecord:
        """A record of the chunk, by its row."""
        number = int(self._chunk.records[R.BATCH, row])
        return self.batch(number).records[row - int(self._first[number])]

"""A segment's records as text: compiled code writes what has a template, and what has none is handed to the caller in its place.

The caller prints those as it would without the lane, one by one, so the whole is what the printer gives of every record in turn.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.json.values import JsonWriter
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.columns.lane.layout import RecordField, RecordKind
from offsets_tool.columns.text.arguments import NO_RECORD, KernelArguments, Lines
from offsets_tool.columns.text.classes import Templates
from offsets_tool.columns.text.fields import Classes, classes, distinct
from offsets_tool.columns.text.kernel import SLACK, write_lines
from offsets_tool.columns.text.keys import KeyTable, KeyTexts
from offsets_tool.columns.text.programs import REFUSED, Programs
from offsets_tool.columns.text.reference import FileInput, Passed, ReferenceRecords
from offsets_tool.columns.text.request import Printer, Selection
from offsets_tool.columns.text.values import Values
from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.log.ledger import Ledger, Outcome
from offsets_tool.log.names import Segment
from offsets_tool.rows import BatchRead, LogRecord

_ROOM: Final = 4 << 20
"""Bytes of text held at once: more than the longest line."""
_MOST_CLASSES: Final = 500
"""Classes of one file that are learned: real ones have a dozen, and a file made to have more is not read more slowly for it."""
_RECORD_BITS: Final = 20
_RECORD_MASK: Final = (1 << _RECORD_BITS) - 1

TextOrRecord = memoryview | LogRecord | BatchRead
"""Text, which is overwritten by the next; or what the caller prints, counts and decodes: a record, or a whole batch."""


class TextWriter:
    """The text of one file after another, by one printer; what it knows of keys is kept."""

    def __init__(self, printer: Printer, selection: Selection | None = None) -> None:
        self.printer: Final = printer
        self.selection: Final = selection
        self.key_texts: Final = KeyTexts(printer.record)
        self.json: Final = JsonWriter()
        self.out: Final[Array] = np.empty(_ROOM + 2 * SLACK, np.uint8)
        self._keys: KeyTable | None = None

    def keys(self, interned: InternedKeys) -> KeyTable:
        """Return the table of the keys in `interned`, with those that are new since the last call added."""
        if self._keys is None or not self._keys.belongs_to(interned):
            about = self.selection.about if self.selection else None
            self._keys = KeyTable(interned, self.key_texts, about)
        self._keys.update()
        return self._keys

    def file(
        self,
        data: memoryview,
        segment: Segment,
        ledger: Ledger,
        passed: Passed | None,
        limits: Limits = LIMITS,
    ) -> "FileWriter":
        """Return a writer of one file's chunks: what is printed may depend on the file.

        It counts in `ledger` what compiled code printed, and calls `passed` with the first and the last log offset of each run of
        records without a gap that was printed.
        """
        return FileWriter(self, FileInput(data, segment, ledger, passed, limits))


class FileWriter:
    """The text of one file's chunks."""

    def __init__(self, writer: TextWriter, file: FileInput) -> None:
        self._writer = writer
        self._printer = writer.printer
        self._file = file
        self._out = writer.out
        self._templates = Templates(writer.printer, writer.key_texts)
        self._programs = Programs()
        self._of_batches: dict[int, tuple[int, bool]] = {}
        self._of_records: dict[int, int] = {}
        self._numbers: dict[int, int] = {}

    def write(self, chunk: Chunk) -> Iterator[TextOrRecord]:
        """Yield the text of the chunk's records and batches in their order, and in between those that the caller has to print."""
        arguments = KernelArguments(chunk, self._writer.keys(chunk.interned))
        values = Values(chunk, arguments.key_classes, self._writer.json)
        found = classes(chunk, arguments.columns, arguments.key_classes, values.has_parts)
        reference = ReferenceRecords(chunk, self._file)
        lines = self._lines(chunk, found, reference, self._wanted(chunk, arguments))
        arguments.fill(lines, self._programs.table, self._templates.escape_table(), values)
        self._count(chunk, lines)
        yield from self._written(chunk, lines, arguments, reference)

    def _count(self, chunk: Chunk, lines: Lines) -> None:
        control = int((chunk.records[RecordField.KIND, lines.in_lane] == RecordKind.MARKER).sum())
        self._file.ledger.count(Outcome.CONTROL, times=control)
        self._file.ledger.count(Outcome.DECODED, times=len(lines.in_lane) - control)

    def _wanted(self, chunk: Chunk, arguments: KernelArguments) -> Array | None:
        """Return which records are selected, as truth values; None where all are."""
        selection = self._writer.selection
        if selection is None:
            return None
        found = selection.range_of(self._file.segment.log_partition)
        if found is None:
            return np.zeros(chunk.records.shape[1], bool)
        wanted = arguments.wanted
        for field, (first, end) in (
            (RecordField.TIMESTAMP, found.times),
            (RecordField.LOG_OFFSET, found.offsets),
        ):
            if first is not None:
                wanted = wanted & (chunk.records[field] >= first)
            if end is not None:
                wanted = wanted & (chunk.records[field] < end)
        return wanted

    def _lines(
        self, chunk: Chunk, found: Classes, reference: ReferenceRecords, wanted: Array | None
    ) -> Lines:
        values, first, which = distinct(found.batches)
        of_class = [
            self._batch_program(one, place, reference)
            for one, place in zip(values.tolist(), first.tolist(), strict=True)
        ]
        of_batch = np.array([program for program, _ in of_class], np.int64)[which]
        has_records = np.array([shown for _, shown in of_class])[which]
        numbers = [self._numbers.setdefault(one, len(self._numbers)) for one in values.tolist()]
        both = found.records | (np.array(numbers)[which] << _RECORD_BITS)[chunk.records[RecordField.BATCH]]
        of_record = self._record_programs(
            np.where(found.records < 0, REFUSED, both), found.batches, reference
        )
        with_batches = self._printer.batch is not None
        return Lines(chunk, of_batch, has_records, of_record, wanted, with_batches=with_batches)

    def _batch_program(self, batch_class: int, first: int, reference: ReferenceRecords) -> tuple[int, bool]:
        if batch_class < 0:
            return REFUSED, False
        if self._printer.batch is None:
            return 0, True
        if batch_class not in self._of_batches:
            if len(self._of_batches) == _MOST_CLASSES:
                return REFUSED, False
            template, has_records = self._templates.of_batch(reference.batch(first).batch, batch_class)
            self._of_batches[batch_class] = self._programs.add(template), has_records
        return self._of_batches[batch_class]

    def _record_programs(self, both: Array, batches: Array, reference: ReferenceRecords) -> Array:
        """Return, by record, the number of its program, given the class of its batch and its own as one number (`both`)."""
        values, first, which = distinct(both)
        rows = reference.batch_numbers[first].tolist()
        programs = [
            self._record_program(one, int(batches[number]), place, reference)
            for one, number, place in zip(values.tolist(), rows, first.tolist(), strict=True)
        ]
        return np.array(programs, np.int64)[which]

    def _record_program(self, both: int, batch_class: int, first: int, reference: ReferenceRecords) -> int:
        if both < 0 or batch_class < 0:
            return REFUSED
        if both not in self._of_records:
            if len(self._of_records) == _MOST_CLASSES:
                return REFUSED
            record_class = both & _RECORD_MASK
            template = self._templates.of_record(reference.record(first), batch_class, record_class)
            self._of_records[both] = self._programs.add(template)
        return self._of_records[both]

    def _written(
        self, chunk: Chunk, lines: Lines, arguments: KernelArguments, reference: ReferenceRecords
    ) -> Iterator[TextOrRecord]:
        out, line, count = address(self._out), 0, len(lines.programs)
        while line < count:
            reached, end = write_lines(arguments.address, line, count, out, out + _ROOM)
            if end > out:
                yield self._out[: end - out].data
            by_caller = reached < count and lines.programs[reached] == REFUSED
            self._pass(chunk, lines.records[line : reached + by_caller])
            line = reached + by_caller
            if by_caller:
                record = int(lines.records[reached])
                whole = record == NO_RECORD
                yield reference.batch(int(lines.batches[reached])) if whole else reference.record(record)

    def _pass(self, chunk: Chunk, records: Array) -> None:
        if self._file.passed is None:
            return
        offsets = chunk.records[RecordField.LOG_OFFSET, records[records != NO_RECORD]]
        cuts = np.flatnonzero(offsets[1:] != offsets[:-1] + 1) + 1
        first, last = np.append(0, cuts), np.append(cuts, len(offsets)) - 1
        if len(offsets):
            for one, other in zip(offsets[first].tolist(), offsets[last].tolist(), strict=True):
                self._file.passed(one, other)

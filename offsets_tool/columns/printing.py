"""Segments as text, by column: rows that are not asked for are dropped before anything is made of them; commits, their tombstones
and markers become lines many at a time; all else is handed to the caller, in its place, who prints it one by one.

Has no rules about what is printed. Rows of one class differ only in texts and in numbers that are not negative: what the printer
makes of one of them, with marks for these, is the template of all. A template that does not give the line of that row is none.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

import numpy as np
import pyarrow as pa

from offsets_tool.as_of.selection import Range, Wanted
from offsets_tool.columns.arrays import Array
from offsets_tool.columns.assembly.arrays import column
from offsets_tool.columns.assembly.gather import gather
from offsets_tool.columns.assembly.keys import KeyColumns
from offsets_tool.columns.assembly.names import TextDictionary
from offsets_tool.columns.assembly.topic_ids import TopicIdTexts
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.lane.chunks import Chunk
from offsets_tool.columns.lane.interned import NO_TOPIC_ID, InternedKeys
from offsets_tool.columns.lane.key_table import KeyField, sort_out
from offsets_tool.columns.lane.layout import BatchField, RecordField, RecordKind
from offsets_tool.columns.lane.segments import ChunkRead, SegmentReader
from offsets_tool.columns.lines import Template, classes, cut_at, filled, number_texts, text_of, written
from offsets_tool.dialects.output import Output, Printer
from offsets_tool.events import decode_key, decode_value, encode_key, encode_value
from offsets_tool.log.batches.batch import read_batch
from offsets_tool.log.batches.header import MAX_INT, increment_sequence
from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.log.ledger import Ledger, Outcome
from offsets_tool.log.names import Segment
from offsets_tool.log.segment import SegmentReading
from offsets_tool.records.kinds import COMMITS
from offsets_tool.rows import Batch, BatchRead, LogRecord, Unreadable
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.text import from_shown

_OF_BATCH: Final = {
    name: BatchField[name.upper()]
    for name in (
        *("position", "size", "base_offset", "last_offset", "base_timestamp", "max_timestamp", "producer_id"),
        *("producer_epoch", "base_sequence", "partition_leader_epoch", "crc", "count"),
    )
}
"""Numbers of Batch, by its names."""
_OF_RECORD: Final = {name: RecordField[name.upper()] for name in ("log_offset", "timestamp", "value_size")}
_OF_COMMIT: Final = {
    "offset": RecordField.COMMITTED_OFFSET,
    "leader_epoch": RecordField.LEADER_EPOCH,
    "commit_timestamp": RecordField.COMMIT_TIMESTAMP,
    "expire_timestamp": RecordField.EXPIRE_TIMESTAMP,
}
"""Numbers of OffsetCommitValue, by its names; a marker's coordinator epoch stands where a leader epoch does."""
_MARKS: Final = {
    # No mark is the sum or the difference of others.
    name: 1_000_000_019 + 7_717 * (place**3 + place)
    for place, name in enumerate((*_OF_BATCH, *_OF_RECORD, *_OF_COMMIT, "sequence", "partition"))
}
_GROUP_MARK, _TOPIC_MARK, _METADATA_MARK = "G" * 31_000, "T" * 31, "M" * 20_000
"""So long that the sizes of keys and values with them are numbers of their own."""
_TOPIC_ID_MARK: Final = UUID(int=0x1111222233334444_5555666677778888)
_MARKER_KEYS: Final = (b"\0\0\0\0", b"\0\0\0\1")
_NAMES_KEPT: Final = 1 << 16
_ROWS_AT_ONCE: Final = 1 << 15
_MOST_CLASSES: Final = 1_000
"""Classes of a file that have a template: real files have a dozen or two, and one made to have more costs no more."""

Passed = Callable[[int, int], None]
TextsOf = Callable[[str, Array], pa.Array]
TextOrItem = memoryview | LogRecord | BatchRead
"""Text; or what the caller prints, counts and decodes: a record, or a whole batch."""


class Selection(NamedTuple):
    """A choice of records: by names, by record types (-1 for control records), by a range of the log partition, if any of it."""

    wanted: Wanted
    types: frozenset[int]
    range_of: Callable[[int | None], Range | None]

    def of_keys(self, keys: KeyColumns, first: int, last: int) -> Array:
        """Return which keys are asked for, of those from the number `first` to `last`, as truth values."""
        table, chosen = keys.table[first:last], np.ones(last - first, bool)
        # A topic is looked for in the groups that are asked for: filters remember what they met.
        for filter_, name in ((self.wanted.groups, "group"), (self.wanted.topics, "topic")):
            if filter_:
                numbers, names = table[chosen, KeyField[name.upper()]], keys.names[name].table
                distinct = np.unique(numbers[numbers >= 0]).tolist()
                met = [number for number in distinct if from_shown(names.key(number).decode()) in filter_]
                chosen[chosen] = np.isin(numbers, met)
        if self.wanted.partition is not None:
            chosen &= table[:, KeyField.PARTITION] == self.wanted.partition
        # Keys of control records have no record type, as `types` says of them.
        return chosen & np.isin(table[:, KeyField.RECORD_TYPE], list(self.types)) if self.types else chosen


class ChunkText(NamedTuple):
    """Bytes of a file, as many as `size`, printed. To be used up before the next is asked for."""

    size: int
    pieces: Iterator[TextOrItem]


class PrintedFile(NamedTuple):
    """A file that is printed, and its templates by the numbers that make a class, None where there is none."""

    data: memoryview
    segment: Segment
    ledger: Ledger
    limits: Limits
    passed: Passed | None
    templates: dict[tuple[int, ...], Template | None]


class SegmentPrinter:
    """Prints segments one after another by one printer; what repeats from file to file is kept."""

    def __init__(self, printer: Printer, selection: Selection | None = None) -> None:
        """Print the records that `selection` has; what is not printed by column is left for the caller to select."""
        self.printer, self.selection = printer, selection
        self._written = lru_cache(_NAMES_KEPT)(lambda text: printer.text(from_shown(text)))
        self._segments = SegmentReader()
        self._begin(InternedKeys(keys=1, arena=1, topic_ids=1))

    def _begin(self, interned: InternedKeys) -> None:
        self.interned, self.keys, self.are_chosen = interned, KeyColumns(interned), np.zeros(0, bool)
        self._topic_ids = TextDictionary()
        self._topic_id_numbers = TopicIdTexts(interned, self._topic_ids)

    def read(
        self,
        segment: Segment,
        ledger: Ledger,
        *,
        verify: bool = True,
        limits: Limits = LIMITS,
        passed: Passed | None = None,
    ) -> Iterator[ChunkText | BatchRead | Unreadable]:
        """Yield a whole segment: chunks of text, which the ledger counts, and what the caller has to print, decode and count.

        `verify=False` also reads the records of batches whose checksum is wrong. `passed` is called with the first and the last
        log offset of each run of printed records without a gap.
        """
        reading = SegmentReading(segment, verify=verify, limits=limits, ledger=ledger)
        file = PrintedFile(reading.data, segment, ledger, limits, passed, {})
        for item in self._segments.read(reading, ledger, verify=verify):
            yield ChunkText(item.size, self.print(item.chunk, file)) if isinstance(item, ChunkRead) else item

    def print(self, chunk: Chunk, file: PrintedFile) -> Iterator[TextOrItem]:
        """Yield the text of the chunk's records and batches in their order, and in between those that the caller has to print."""
        if self.interned is not chunk.interned:
            self._begin(chunk.interned)
        self.keys.update()
        self.key_sizes = np.diff(chunk.interned.spans()[0])
        if self.selection is not None:
            chosen = self.selection.of_keys(self.keys, len(self.are_chosen), len(self.interned))
            self.are_chosen = np.append(self.are_chosen, chosen)
        for part in _parts(chunk):
            yield from _ChunkPrinter(self, file, part).print()

    def names(self, name: str, keys: Array) -> pa.Array:
        """Return the group or the topic in each of these keys as it is printed."""
        texts = self.keys.names[name].column(self.keys.table[keys, KeyField[name.upper()]])
        return written(texts.dictionary_decode(), self._written)

    def topic_ids(self, numbers: Array) -> pa.Array:
        """Return the texts of topic ids by their numbers."""
        return self._topic_ids.column(self._topic_id_numbers.numbers()[numbers]).dictionary_decode()


class _ChunkPrinter:
    """The text of one chunk."""

    def __init__(self, owner: SegmentPrinter, file: PrintedFile, chunk: Chunk) -> None:
        self._owner, self._file, self._chunk = owner, file, chunk
        self._batch_of: Array = chunk.records[RecordField.BATCH]
        self._first_of: Array = np.cumsum(chunk.batches[BatchField.COUNT]) - chunk.batches[BatchField.COUNT]
        self._key_of: Array = chunk.records[RecordField.KEY]
        self._types: Array = owner.keys.table[self._key_of, KeyField.RECORD_TYPE]
        self._kinds = self._by_column()
        self._latest: tuple[int, BatchRead] | None = None

    def _by_column(self) -> Array:
        """Return what each row is if it may be printed by column, else REFERENCE."""
        kinds, table = np.empty(len(self._batch_of), np.uint8), self._owner.keys.table
        sort_out(address(self._chunk.records), len(kinds), address(table), address(kinds))
        is_marker = kinds == int(RecordKind.MARKER)
        distinct = np.unique(self._key_of[is_marker]).tolist()
        marker_keys = [number for number in distinct if self._owner.interned.key(number) in _MARKER_KEYS]
        is_commit = np.isin(self._types, list(COMMITS))
        kinds[~np.where(is_marker, np.isin(self._key_of, marker_keys), is_commit)] = RecordKind.REFERENCE
        return kinds.astype(np.int64)

    def print(self) -> Iterator[TextOrItem]:
        by_column = self._kinds != RecordKind.REFERENCE
        are_shown = ~by_column | self._are_chosen()
        heads, head_lines, are_whole = self._heads(by_column, are_shown)
        in_whole = np.isin(self._batch_of, heads[are_whole])
        rows = np.flatnonzero(are_shown & ~in_whole)
        lines, are_alone = self._record_lines(rows)
        by_column[in_whole] = by_column[rows[are_alone]] = False
        self._count(by_column)
        if len(heads):
            # A batch's own line comes before its records.
            order = np.argsort(np.concatenate((2 * self._first_of[heads], 2 * rows + 1)), kind="stable")
            lines = pa.concat_arrays([head_lines, lines]).take(column(pa.int64(), order))
            are_alone = np.concatenate((are_whole, are_alone))[order]
            rows = np.concatenate((~heads, rows))[order]
        yield from self._in_order(lines, rows, np.flatnonzero(are_alone).tolist())

    def _in_order(self, lines: pa.StringArray, rows: Array, alone: list[int]) -> Iterator[TextOrItem]:
        """Yield the lines of rows, and in the place of those `alone` the record; a batch stands there as ~number."""
        begin = 0
        for place in (*alone, len(rows)):
            if place > begin:
                yield text_of(lines.slice(begin, place - begin))
            self._pass(rows[begin : place + 1])
            if place < len(rows):
                row = int(rows[place])
                yield self._batch(~row) if row < 0 else self._record(row)
            begin = place + 1

    def _are_chosen(self) -> Array:
        selection, records = self._owner.selection, self._chunk.records
        if selection is None:
            return np.ones(len(self._batch_of), bool)
        if (within := selection.range_of(self._file.segment.log_partition)) is None:
            return np.zeros(len(self._batch_of), bool)
        chosen = self._owner.are_chosen[self._key_of]
        bounds = ((RecordField.TIMESTAMP, within.times), (RecordField.LOG_OFFSET, within.offsets))
        for field, (first, end) in bounds:
            chosen = chosen if first is None else chosen & (records[field] >= first)
            chosen = chosen if end is None else chosen & (records[field] < end)
        return chosen

    def _heads(self, by_column: Array, are_shown: Array) -> tuple[Array, pa.StringArray, Array]:
        """Return the batches that have a line of their own, their lines, and which of them the caller prints with their records."""
        batches, selection = np.arange(self._chunk.batches.shape[1]), self._owner.selection
        if self._owner.printer.batch is None:
            batches = batches[:0]
        elif selection is not None:
            batches = np.unique(self._batch_of[are_shown])
        numbers = self._batch_numbers(batches)
        lines, are_alone = self._lines(
            [np.full(len(batches), -1), *self._signs(numbers, batches)],
            lambda slot, places: number_texts(numbers[slot][places]),
            lambda place: self._batch(int(batches[place])),
        )
        if selection is not None:
            # Such a batch has a line if the caller selects one of its records.
            are_alone |= np.isin(batches, self._batch_of[~by_column])
        return batches, lines, are_alone

    def _record_lines(self, rows: Array) -> tuple[pa.StringArray, Array]:
        records, kinds, data = self._chunk.records[:, rows], self._kinds[rows], self._chunk.data
        is_commit, numbers = kinds == RecordKind.COMMIT, self._batch_numbers(self._batch_of[rows])
        has_version = is_commit | (kinds == RecordKind.MARKER)
        base = numbers["base_sequence"]
        sequences = base + (records[RecordField.LOG_OFFSET] - numbers["base_offset"])
        numbers |= {name: records[field] for name, field in _OF_RECORD.items()}
        numbers |= {name: np.where(is_commit, records[field], -1) for name, field in _OF_COMMIT.items()}
        numbers["leader_epoch"] = np.where(has_version, records[RecordField.LEADER_EPOCH], -1)
        numbers["sequence"] = np.where(base < 0, -1, _wrapped(sequences))
        numbers["partition"] = self._owner.keys.table[self._key_of[rows], KeyField.PARTITION]
        numbers["key_size"] = self._owner.key_sizes[self._key_of[rows]]
        has_metadata = is_commit & (records[RecordField.METADATA_SIZE] > 0)
        columns = [
            kinds,
            self._types[rows],
            np.where(has_version, records[RecordField.VALUE_VERSION], 0),
            # Only metadata varies in size.
            np.where(has_metadata, -2, records[RecordField.VALUE_SIZE]),
            is_commit & (records[RecordField.TOPIC_ID] != NO_TOPIC_ID),
            *self._signs(numbers, self._batch_of[rows]),
        ]

        def texts_of(slot: str, places: Array) -> pa.Array:
            if slot in numbers:
                return number_texts(numbers[slot][places])
            if slot == "topic_id":
                return self._owner.topic_ids(records[RecordField.TOPIC_ID, places])
            if slot != "metadata":
                return self._owner.names(slot, self._key_of[rows[places]])
            starts, sizes = (
                records[RecordField.METADATA_START, places],
                records[RecordField.METADATA_SIZE, places],
            )
            return written(gather(data, starts, sizes, pa.string()), self._owner.printer.text)

        by_column = kinds != RecordKind.REFERENCE
        if not by_column.all():
            columns = [np.where(by_column, column, 0) for column in columns]
        return self._lines(columns, texts_of, lambda place: self._record(int(rows[place])))

    def _batch_numbers(self, batches: Array) -> dict[str, Array]:
        numbers = {name: self._chunk.batches[field, batches] for name, field in _OF_BATCH.items()}
        base, span = numbers["base_sequence"], numbers["last_offset"] - numbers["base_offset"]
        return numbers | {"last_sequence": np.where(base < 0, -1, _wrapped(base + span))}

    def _signs(self, numbers: dict[str, Array], batches: Array) -> list[Array]:
        """Return what of batches and their records makes a class: flags, and numbers that are negative."""
        attributes = self._chunk.batches[BatchField.ATTRIBUTES, batches]
        return [attributes, *(np.minimum(column, 0) for column in numbers.values())]

    def _lines(
        self, columns: list[Array], texts_of: TextsOf, item_of: Callable[[int], LogRecord | BatchRead]
    ) -> tuple[pa.StringArray, Array]:
        """Return lines, given what makes their classes and what stands in them, and which of them are the caller's."""
        codes, firsts = classes(columns)
        known, templates = self._file.templates, []
        for first in firsts.tolist():
            key = tuple(int(column[first]) for column in columns)
            if key not in known and key[0] != RecordKind.REFERENCE and len(known) < _MOST_CLASSES:
                known[key] = self._template(item_of(first), texts_of, np.array([first]))
            templates.append(known.get(key))
        are_alone = np.array([template is None for template in templates], bool)[codes]
        return filled([template or Template() for template in templates], codes, texts_of), are_alone

    def _template(self, item: LogRecord | BatchRead, texts_of: TextsOf, place: Array) -> Template | None:
        """Return what is printed of an item's class; None if its own line is another, or an error."""
        if isinstance(item, LogRecord):
            marked, marks = _marked_record(item)
            line, probe = self._owner.printer.record(item), self._owner.printer.record(marked)
        else:
            batch, marks = _marked_batch(item.batch)
            line, probe = self._head(item.batch), self._head(batch)
        template = cut_at(marks, probe.text.decode())
        (text,) = filled([template], np.zeros(1, np.int64), lambda slot, _: texts_of(slot, place)).to_pylist()
        is_whole = line.error is None and probe.error is None and text.encode() == line.text
        return template if is_whole else None

    def _head(self, batch: Batch) -> Output:
        assert self._owner.printer.batch is not None
        output, has_records = self._owner.printer.batch(batch)
        return output if has_records else Output(error="no line of a record follows")

    def _count(self, by_column: Array) -> None:
        control = int((self._kinds[by_column] == RecordKind.MARKER).sum())
        self._file.ledger.count(Outcome.CONTROL, times=control)
        self._file.ledger.count(Outcome.DECODED, times=int(by_column.sum()) - control)

    def _pass(self, rows: Array) -> None:
        offsets = self._chunk.records[RecordField.LOG_OFFSET, rows[rows >= 0]]
        if self._file.passed is None or not len(offsets):
            return
        for run in np.split(offsets, np.flatnonzero(offsets[1:] != offsets[:-1] + 1) + 1):
            self._file.passed(int(run[0]), int(run[-1]))

    def _batch(self, number: int) -> BatchRead:
        """Return a batch of the chunk, by its number there, as the reference reads it."""
        if self._latest is None or self._latest[0] != number:
            file, position = self._file, int(self._chunk.batches[BatchField.POSITION, number])
            source, log_partition = file.segment.source, file.segment.log_partition
            self._latest = number, read_batch(file.data, position, source, log_partition, limits=file.limits)
        return self._latest[1]

    def _record(self, row: int) -> LogRecord:
        """Return a record of the chunk, by its row, as the reference reads it."""
        number = int(self._batch_of[row])
        return self._batch(number).records[row - int(self._first_of[number])]


def _parts(chunk: Chunk) -> Iterator[Chunk]:
    """Yield the batches of a chunk in parts of some records, which change the chunk's tables: text takes many times their bytes."""
    ends = np.cumsum(chunk.batches[BatchField.COUNT])
    batch = row = 0
    while batch < len(ends):
        last = max(batch + 1, int(np.searchsorted(ends, row + _ROWS_AT_ONCE)))
        end = int(ends[last - 1])
        records = chunk.records[:, row:end]
        records[RecordField.BATCH] -= batch
        yield chunk._replace(batches=chunk.batches[:, batch:last], records=records)
        batch, row = last, end


def _wrapped(sequences: Array) -> Array:
    """Return sequence numbers as DefaultRecordBatch.incrementSequence counts on behind the greatest."""
    return np.where(sequences > MAX_INT, sequences - MAX_INT - 1, sequences)


def _marked_batch(batch: Batch) -> tuple[Batch, dict[str, str]]:
    """Return a batch with marks for its numbers, and the slot that each mark makes."""
    numbers: dict[str, Any] = {name: _MARKS[name] for name in _OF_BATCH if getattr(batch, name) >= 0}
    marks = {str(mark): name for name, mark in numbers.items()}
    if batch.delete_horizon_ms is not None:
        numbers["delete_horizon_ms"] = numbers.get("base_timestamp", batch.delete_horizon_ms)
    marked = replace(batch, **numbers)
    if batch.base_sequence >= 0:
        span = marked.last_offset - marked.base_offset
        marks[str(increment_sequence(marked.base_sequence, span))] = "last_sequence"
    return marked, marks


def _marked_record(record: LogRecord) -> tuple[LogRecord, dict[str, str]]:
    """Return a record with marks for its numbers and texts, and the slot that each mark makes."""
    assert record.batch is not None and record.key is not None
    batch, marks = _marked_batch(record.batch)
    names = ("log_offset", "timestamp", "sequence")
    changed: dict[str, Any] = {name: _MARKS[name] for name in names if getattr(record, name) >= 0}
    marks |= {str(mark): name for name, mark in changed.items()}
    changed |= {"producer_id": batch.producer_id, "producer_epoch": batch.producer_epoch}
    value = record.value
    if not record.is_control:
        changed["key"], changed["value"], of_commit = _marked_commit(record.key, value)
        marks |= of_commit
    elif value is not None and int.from_bytes(value[2:6], "big", signed=True) >= 0:
        changed["value"] = value[:2] + _MARKS["leader_epoch"].to_bytes(4, "big") + value[6:]
        marks[str(_MARKS["leader_epoch"])] = "leader_epoch"
    return replace(record, batch=batch, **changed), marks


def _marked_commit(key: bytes, value: bytes | None) -> tuple[bytes, bytes | None, dict[str, str]]:
    names: dict[str, Any] = {"group": _GROUP_MARK, "topic": _TOPIC_MARK, "partition": _MARKS["partition"]}
    of_key = decode_key(key)
    key = encode_key(of_key._replace(data=replace(of_key.data, **names)))
    marks = {str(mark): name for name, mark in names.items()} | {str(len(key)): "key_size"}
    if value is None:
        return key, None, marks
    of_value = decode_value(of_key.type, value)
    changed: dict[str, Any] = {name: _MARKS[name] for name in _OF_COMMIT if getattr(of_value.data, name) >= 0}
    if of_value.data.metadata:
        changed["metadata"] = _METADATA_MARK
    marks |= {str(mark): name for name, mark in changed.items()}
    if of_value.data.topic_id.int:
        changed["topic_id"] = _TOPIC_ID_MARK
        marks[uuid_text(_TOPIC_ID_MARK)] = "topic_id"
    value = encode_value(of_value._replace(data=replace(of_value.data, **changed)))
    return key, value, marks | ({str(len(value)): "value_size"} if of_value.data.metadata else {})

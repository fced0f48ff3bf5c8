"""Kafka's dialects on the command line: its text to stdout, its exceptions' words to stderr, and on with the next record."""

import os
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from offsets_tool.cli.reading import Reading
from offsets_tool.cli.render import note
from offsets_tool.cli.text_lane import TextLane
from offsets_tool.columns.text.printer import Printer
from offsets_tool.dialects import formatter
from offsets_tool.dialects.dump_log.segment import DumpLog
from offsets_tool.dialects.output import NOTHING, Output
from offsets_tool.dialects.versions import NEWEST, name_of
from offsets_tool.errors import UsageError
from offsets_tool.evidence.sources import Source
from offsets_tool.rows import BatchRead, LogRecord, Unreadable

Write = Callable[[BinaryIO, Reading], None]
DUMP_LOG: Final = "dump-log"
"""The name of kafka-dump-log among the formatters."""


def formatter_writer(name: str, kafka_version: str | None) -> Write:
    """The console consumer with one of Kafka's formatters: data records only, source after source."""
    dialect = formatter(name, kafka_version, besides=(DUMP_LOG,))

    def show(record: LogRecord) -> Output:
        return NOTHING if record.is_control else dialect.format(record)

    def write(out: BinaryIO, reading: Reading) -> None:
        _leave_out_set_aside(reading)
        lane = TextLane(reading, Printer(show))
        for source in reading.sources:
            for piece in lane.pieces(source):
                if isinstance(piece, memoryview):
                    out.write(piece)
                    continue
                for event in reading.shown(piece):
                    _print(out, reading, show(event.record), counted=event.problem is not None)

    return write


def dump_log_writer(kafka_version: str | None, *, records: bool) -> Write:
    """kafka-dump-log over each segment, with or without its record lines."""
    release = kafka_version or name_of(NEWEST)
    any_file = DumpLog("", release, base_offset=0, records=records)
    # Without records, those that the lane leaves to the reference would not be counted.
    printer = Printer(any_file.record, any_file.batch) if any_file.has_batches and records else None

    def write(out: BinaryIO, reading: Reading) -> None:
        _leave_out_set_aside(reading)
        lane = TextLane(reading, printer)
        for source in reading.sources:
            dump = DumpLog(_file_name(source), release, base_offset=_base_offset(source), records=records)
            for line in _dumped(out, reading, source, dump, lane):
                # What is wrong with a record or with bytes was counted when they were read.
                _print(out, reading, line, counted=True)

    return write


def _dumped(
    out: BinaryIO, reading: Reading, source: Source, dump: DumpLog, lane: TextLane
) -> Iterator[Output]:
    """What is to be printed one by one; text from the lane is written in between."""
    yield dump.begin()
    for piece in lane.pieces(source, verify=False, passed=dump.passed):
        if isinstance(piece, memoryview):
            out.write(piece)
        elif isinstance(piece, LogRecord):
            _demand_batches(source)
            for event in reading.decoded(piece):
                yield dump.record(event.record)
        elif (item := _filtered(reading, piece)) is not None:
            yield from dump.show(item)
    yield from dump.end()


def _print(out: BinaryIO, reading: Reading, said: Output, *, counted: bool) -> None:
    out.write(said.text)
    if said.harmless and said.error is not None:
        note(said.error)
    elif said.error is not None:
        out.flush()
        reading.refused(said.error, counted=counted)


def _leave_out_set_aside(reading: Reading) -> None:
    """Kafka's tools read the log as the broker does; what it has set aside is left out, and said."""
    aside = [source for source in reading.sources if source.is_set_aside]
    if aside:
        reading.sources = [source for source in reading.sources if not source.is_set_aside]
        note(
            f"{len(aside)} file(s) that Kafka had set aside are not part of its log; name them to see them: {aside[0].name}"
        )


def _file_name(source: Source) -> str:
    """As text that can be printed: a name on disk may be any bytes."""
    path = source.segment.path if source.segment else source.name
    return os.fsencode(path).decode("utf-8", "replace")


def _base_offset(source: Source) -> int:
    if source.segment is None or source.segment.base_offset is None:
        return 0
    return source.segment.base_offset


def _demand_batches(source: Source) -> None:
    if source.segment is None:
        raise UsageError(
            "an archive keeps no batches for dump-log to print: use --formatter offsets, or drop it"
        )


def _filtered(reading: Reading, item: BatchRead | Unreadable) -> BatchRead | Unreadable | None:
    """A batch with the records that the filters let through; None for one without any, if there are filters."""
    shown = tuple(event.record for event in reading.shown(item))
    if not isinstance(item, BatchRead) or not reading.filters.active:
        return item
    return item._replace(records=shown) if shown else None

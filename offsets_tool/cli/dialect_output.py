"""Kafka's dialects on the command line: the text of Kafka's tools to stdout, the messages of their exceptions to stderr.

After an exception the next record follows, where Kafka's tool would have ended; `--strict` ends there too.
"""

import os
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from offsets_tool.cli.opening import STRICT_EXIT
from offsets_tool.cli.render import note
from offsets_tool.dialects import formatter
from offsets_tool.dialects.dump_log.segment import DumpLog
from offsets_tool.dialects.output import NOTHING, Output, Printer
from offsets_tool.dialects.versions import NEWEST, name_of
from offsets_tool.errors import UsageError
from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.lanes import TextLane
from offsets_tool.evidence.sources import Source
from offsets_tool.rows import BatchRead, LogRecord, Unreadable

WriteEvidence = Callable[[BinaryIO, Evidence], None]
DUMP_LOG: Final = "dump-log"
"""The name of kafka-dump-log among the formatters."""


def formatter_writer(name: str, kafka_version: str | None, *, strict: bool) -> WriteEvidence:
    """Return a function that prints data records as kafka-console-consumer does with this formatter.

    `name` is a short name or Kafka's class name; UsageError for an unknown formatter or release.
    """
    dialect = formatter(name, kafka_version, besides=(DUMP_LOG,))

    def show(record: LogRecord) -> Output:
        return NOTHING if record.is_control else dialect.format(record)

    def write(out: BinaryIO, evidence: Evidence) -> None:
        _leave_out_set_aside(evidence)
        console, lane = (
            _Console(out, evidence, strict=strict),
            TextLane(evidence, Printer(show, dialect.text)),
        )
        for source in evidence.sources:
            for piece in lane.pieces(source):
                if isinstance(piece, memoryview):
                    out.write(piece)
                    continue
                for event in evidence.shown(piece):
                    console.print(show(event.record), is_counted=event.problem is not None)

    return write


def dump_log_writer(kafka_version: str | None, *, records: bool, strict: bool) -> WriteEvidence:
    """Return a function that prints segments as kafka-dump-log does, with or without record lines.

    UsageError for an unknown release.
    """
    release = kafka_version or name_of(NEWEST)
    any_file = DumpLog("", release, base_offset=0, records=records)
    # The lane counts records as it prints them: without record lines, its counts would lack some.
    printer = (
        Printer(any_file.record, any_file.text, any_file.batch) if any_file.has_batches and records else None
    )

    def write(out: BinaryIO, evidence: Evidence) -> None:
        _leave_out_set_aside(evidence)
        console, lane = _Console(out, evidence, strict=strict), TextLane(evidence, printer)
        for source in evidence.sources:
            dump = DumpLog(_file_name(source), release, base_offset=_base_offset(source), records=records)
            for line in _dumped(out, evidence, source, dump, lane):
                # A problem of a record or of bytes was counted when they were read.
                console.print(line, is_counted=True)

    return write


def _dumped(
    out: BinaryIO, evidence: Evidence, source: Source, dump: DumpLog, lane: TextLane
) -> Iterator[Output]:
    """Yield the output for a source piece by piece; text of the fast lane is written to `out` in between."""
    yield dump.begin()
    for piece in lane.pieces(source, verify=False, passed=dump.passed):
        if isinstance(piece, memoryview):
            out.write(piece)
        elif isinstance(piece, LogRecord):
            _demand_batches(source)
            for event in evidence.decoded(piece):
                yield dump.record(event.record)
        elif (item := _filtered(evidence, piece)) is not None:
            yield from dump.show(item)
    yield from dump.end()


class _Console:
    """The output of one of Kafka's tools: its text goes to stdout, the messages of its exceptions to stderr."""

    def __init__(self, out: BinaryIO, evidence: Evidence, *, strict: bool) -> None:
        """Write to `out`; `strict` ends the program where Kafka's tool would have ended, otherwise the next record follows."""
        self._out, self._evidence, self._is_strict = out, evidence, strict

    def print(self, printed: Output, *, is_counted: bool) -> None:
        """Write what Kafka's tool prints; `is_counted` says that the evidence counts the record as a problem already.

        SystemExit with 3 for an exception of the tool, if `strict` was asked for.
        """
        self._out.write(printed.text)
        if printed.error is None:
            return
        if not printed.is_harmless:
            self._out.flush()
            self._evidence.problems += not is_counted
        note(printed.error)
        if self._is_strict and not printed.is_harmless:
            raise SystemExit(STRICT_EXIT)


def _leave_out_set_aside(evidence: Evidence) -> None:
    """Leave out the files that Kafka has set aside, with a note: Kafka's tools read the log as the broker does."""
    if aside := evidence.leave_out_set_aside():
        note(
            f"{len(aside)} file(s) that Kafka had set aside are not part of its log; name them to see them: {aside[0].name}"
        )


def _file_name(source: Source) -> str:
    """Return the path of a source as text that can be printed: a name on disk may be any bytes."""
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


def _filtered(evidence: Evidence, item: BatchRead | Unreadable) -> BatchRead | Unreadable | None:
    """Return a batch with the records that the filters let through; None where there are filters and none is left."""
    shown = tuple(event.record for event in evidence.shown(item))
    if not isinstance(item, BatchRead) or not evidence.filters.is_active:
        return item
    return item._replace(records=shown) if shown else None

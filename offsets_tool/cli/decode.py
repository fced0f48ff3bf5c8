"""`offsets-tool decode`: every record, as JSON for `jq` or byte for byte as a Kafka release prints it.

The text of Kafka's tools goes to stdout, the messages of their exceptions to stderr. After an exception the next record follows,
where Kafka's tool would have ended; `--strict` ends there too.
"""

import os
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

import click

from offsets_tool.cli.filter_options import clock_of, filter_options, parse_filters
from offsets_tool.cli.not_shown import AbsentNames, nothing_of, passed_over
from offsets_tool.cli.opening import STRICT_EXIT, evidence_of, finish
from offsets_tool.cli.options import Option, OptionsGiven, output_options
from offsets_tool.cli.render import default_format, note, note_all, output, write_caption, write_rows
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.cli.texts import json_line, json_text
from offsets_tool.dialects import formatter
from offsets_tool.dialects.dump_log.segment import DumpLog
from offsets_tool.dialects.output import NOTHING, Output, Printer
from offsets_tool.dialects.versions import NEWEST, name_of
from offsets_tool.errors import UsageError
from offsets_tool.events import Event, decode
from offsets_tool.evidence.distinct_records import DistinctRecord, shown_records
from offsets_tool.evidence.event_json import event_json, event_summary
from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.lanes import TextLane
from offsets_tool.evidence.sources import Source
from offsets_tool.evidence.understood_moments import note_range
from offsets_tool.rows import BatchRead, LogRecord, Row, Unreadable

WriteEvidence = Callable[[BinaryIO, Evidence], None]
"""Writes all records of an evidence to a file, in the form that was asked for."""
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
        for event in _left_by(lane, evidence, out):
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


TABLE = PrintedTable.of(
    Column.number("partition", 1),
    Column.number("offset", 2),
    Column.time("time", 8),
    Column.word("type", 3),
    Column.name("group", 4),
    Column.name("about", 7),
    Column.text("value", 6),
    Column.text("problem", 5),
)

UNION_TABLE = PrintedTable.of(
    *TABLE.columns,
    Column.word("branch", 2),
    Column.word("recovered", 9, lambda row: "yes" if row["is_recovered"] else None),
    Column.name("copies", 3, lambda row: " ".join(row["copies"])),
)

_EPILOG = """
\b
Examples:
  offsets-tool decode /var/lib/kafka/data | jq 'select(.problem)'
  offsets-tool decode __consumer_offsets-12 --group orders --since 2026-11-20T22:00:00Z
  offsets-tool decode 00000000000000000000.log --formatter dump-log --kafka-version 3.6
  offsets-tool decode __consumer_offsets-12 --formatter offsets --kafka-version 2.8.1
  offsets-tool decode --bootstrap-server 127.0.0.1:9092 --type GroupMetadata
"""


@click.command("decode", epilog=_EPILOG)
@source_options
@filter_options
@click.option(
    "--formatter",
    metavar="NAME",
    help="offsets, group-metadata, share-group, dump-log, or Kafka's own class name.",
)
@click.option(
    "--kafka-version",
    metavar="X.Y[.Z]",
    help="The release whose output --formatter gives; default: the newest.",
)
@click.option("--no-records", is_flag=True, help="With --formatter dump-log: batch lines only.")
@click.option(
    "--union",
    is_flag=True,
    help="Show each distinct record of several copies once, with `copies` that have it, and its `branch`: current or abandoned.",
)
@click.option("--raw", is_flag=True, help="Add key and value bytes (base64) to every JSON object.")
@output_options
def decode_command(*, output_path: str | None, strict: bool, **options: Option) -> None:
    """Show every record of LOG..., one JSON object each, or as a Kafka release's own tool prints it.

    LOG is a .log file, a __consumer_offsets-N directory, a broker's data directory, a directory of those, a compressed
    copy or tar of any, or a Parquet, Delta or JSON-lines archive. Times are UTC; --until is exclusive. Where --since or
    --until name places (LOG_PARTITION:LOG_OFFSET), only those partitions are read.
    """
    clock = clock_of(options)
    filters = parse_filters(options, clock)
    write = _writer(options, default_format(output_path), strict=strict)
    to_terminal = default_format(output_path) == "table"
    evidence = evidence_of(options, filters, has_bar=not to_terminal, has_hashes=False, is_of_records=True)
    sources = evidence.sources
    said = note_range(evidence, filters, clock)
    shown_as = "" if options["formatter"] else options["format_"] or default_format(output_path)
    with evidence, output(output_path, evidence.files) as out:
        write_caption(out, shown_as, said)
        write(out, evidence)
    absent = AbsentNames(filters.wanted, sources, "", passed_over)
    empty = nothing_of(filters, evidence, options["types"], "--type")
    note_all((*absent.notes(evidence.has_shown), *empty))
    finish(evidence, strict=strict)


def _writer(options: OptionsGiven, default: str, *, strict: bool) -> WriteEvidence:
    _refuse_what_excludes_another(options)
    formatter, kafka_version = options["formatter"], options["kafka_version"]
    if formatter == DUMP_LOG:
        return dump_log_writer(kafka_version, records=not options["no_records"], strict=strict)
    if formatter is not None:
        return formatter_writer(formatter, kafka_version, strict=strict)
    format_ = options["format_"] or default
    if options["union"]:
        return _union_writer(format_, UNION_TABLE.chosen(format_, options), raw=options["raw"])
    table = TABLE.chosen(format_, options)
    return _json_writer(options["raw"]) if format_ == "jsonl" else _table_writer(format_, table)


def _refuse_what_excludes_another(options: OptionsGiven) -> None:
    formatter = options["formatter"]
    ours = [
        f"--{name}"
        for name in ("format", "raw", "show", "wide", "union")
        if options.get(name) or options.get(f"{name}_")
    ]
    if formatter is not None and ours:
        raise UsageError(f"--formatter prints as Kafka does: drop {' and '.join(ours)}, or drop --formatter")
    if options["no_records"] and formatter != DUMP_LOG:
        raise UsageError(
            "--no-records leaves out dump-log's record lines: add --formatter dump-log, or drop it"
        )
    if formatter is None and options["kafka_version"]:
        raise UsageError(
            "--kafka-version is the release whose output --formatter gives: name a --formatter, or drop it"
        )


def _table_writer(format_: str, table: PrintedTable) -> WriteEvidence:
    def write(out: BinaryIO, evidence: Evidence) -> None:
        rows = (event_summary(event) for event in evidence.events())
        write_rows(out, rows, format_, table)

    return write


def _union_writer(format_: str, table: PrintedTable, *, raw: bool) -> WriteEvidence:
    def row(found: DistinctRecord) -> Row:
        fields = event_json(found.event, raw=raw) if format_ == "jsonl" else event_summary(found.event)
        return fields | {
            "copies": list(found.copies),
            "branch": found.branch.value,
            "is_recovered": found.is_recovered,
        }

    def write(out: BinaryIO, evidence: Evidence) -> None:
        write_rows(out, map(row, shown_records(evidence)), format_, table)

    return write


def _json_writer(raw: bool) -> WriteEvidence:
    def line(event: Event) -> bytes:
        return json_line(event_json(event, raw=raw))

    def record_line(record: LogRecord) -> Output:
        return Output(line(decode(record)))

    printer = None if raw else Printer(record_line, lambda text: json_text(text)[1:-1])

    def write(out: BinaryIO, evidence: Evidence) -> None:
        for event in _left_by(TextLane(evidence, printer), evidence, out):
            out.write(line(event))

    return write


def _left_by(lane: TextLane, evidence: Evidence, out: BinaryIO) -> Iterator[Event]:
    """Write the text that the lane makes of an evidence, and yield the events that it leaves, each in its place."""
    for source in evidence.sources:
        for piece in lane.pieces(source):
            if isinstance(piece, memoryview):
                out.write(piece)
            else:
                yield from evidence.shown(piece)

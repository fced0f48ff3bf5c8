"""`offsets-tool decode`: every record, as JSON for `jq` or byte for byte as a Kafka release prints it."""

from collections.abc import Callable
from typing import BinaryIO

import click

from offsets_tool.cli.absent_names import AbsentNames, passed_over
from offsets_tool.cli.dialect_output import DUMP_LOG, dump_log_writer, formatter_writer
from offsets_tool.cli.filter_options import clock_of, filter_options, parse_filters
from offsets_tool.cli.nothing_shown import nothing_of
from offsets_tool.cli.opening import evidence_of, finish
from offsets_tool.cli.options import Option, OptionsGiven, output_options
from offsets_tool.cli.render import default_format, note, output, write_caption, write_rows
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.cli.texts import json_line, json_text
from offsets_tool.dialects.output import Output, Printer
from offsets_tool.errors import UsageError
from offsets_tool.events import Event, decode
from offsets_tool.evidence.distinct_records import DistinctRecord, shown_records
from offsets_tool.evidence.event_json import event_json, event_summary
from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.lanes import TextLane
from offsets_tool.evidence.moment_notes import note_range
from offsets_tool.rows import LogRecord, Row

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

Write = Callable[[BinaryIO, Evidence], None]
"""Writes all records of an evidence to a file, in the form that was asked for."""


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
    evidence = evidence_of(options, filters, has_bar=not to_terminal, has_hashes=False, is_archive=True)
    sources = evidence.sources
    said = note_range(evidence, filters, clock)
    shown_as = "" if options["formatter"] else options["format_"] or default_format(output_path)
    with evidence, output(output_path, evidence.files) as out:
        write_caption(out, shown_as, said)
        write(out, evidence)
    absent = AbsentNames(filters.wanted, sources, "", passed_over)
    empty = nothing_of(filters, evidence, options["types"], "--type")
    for text in (*absent.notes(evidence.has_shown), *empty):
        note(text)
    finish(evidence, strict=strict)


def _writer(options: OptionsGiven, default: str, *, strict: bool) -> Write:
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


def _table_writer(format_: str, table: PrintedTable) -> Write:
    def write(out: BinaryIO, evidence: Evidence) -> None:
        rows = (event_summary(event) for event in evidence.events())
        write_rows(out, rows, format_, table)

    return write


def _union_writer(format_: str, table: PrintedTable, *, raw: bool) -> Write:
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


def _json_writer(raw: bool) -> Write:
    def line(event: Event) -> bytes:
        return json_line(event_json(event, raw=raw))

    def record_line(record: LogRecord) -> Output:
        return Output(line(decode(record)))

    printer = None if raw else Printer(record_line, lambda text: json_text(text)[1:-1])

    def write(out: BinaryIO, evidence: Evidence) -> None:
        lane = TextLane(evidence, printer)
        for source in evidence.sources:
            for piece in lane.pieces(source):
                if isinstance(piece, memoryview):
                    out.write(piece)
                    continue
                for event in evidence.shown(piece):
                    out.write(line(event))

    return write

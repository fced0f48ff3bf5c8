"""`offsets-tool inspect`: what this evidence is and covers, file by file, with a ledger that shows whether anything is lost."""

import os
import posixpath
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO, Final

import click

from offsets_tool.cli.inspect_notes import (
    Reached,
    copies_notes,
    overlap_note,
    problem_count,
    problem_notes,
)
from offsets_tool.cli.opening import evidence_of, finish
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note, output, write_rows
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.columns.jit.code_cache import why_not_cached
from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.lanes import SurveyLane
from offsets_tool.evidence.sources import Source
from offsets_tool.log.ledger import Ledger, LedgerEntry
from offsets_tool.log.storage import real_path
from offsets_tool.log.unread_files import find_unread
from offsets_tool.review.coverage import ledger_total
from offsets_tool.rows import Row
from offsets_tool.survey import Survey
from offsets_tool.time_texts import shown_time

TABLE = PrintedTable.of(
    Column.name("source", 1),
    Column.number("log_partition", 2),
    Column.number("bytes", 8),
    Column.number("batches", 9),
    Column.number("records", 3),
    Column.number("decoded", 12, "decoded_records"),
    Column.number("kept_raw", 17, "raw_records"),
    Column.number("control", 13, "control_records"),
    Column.number("unreadable_bytes", 5, "bytes_unreadable"),
    Column.number("problems", 6, problem_count),
    Column.word("adds_up", 4),
    Column.word("magic", 16, lambda row: " ".join(map(str, row["magics"])) or None),
    Column.word("codec", 15, lambda row: " ".join(row["codecs"]) or None),
    Column.word("offsets", 7, lambda row: _range(row["first_offset"], row["last_offset"])),
    Column.time("from", 10, lambda row: _time(row["min_timestamp"])),
    Column.time("to", 11, lambda row: _time(row["max_timestamp"])),
    Column.number("groups", 14),
)

_LEFT_OUT_NAMED: Final = 20
"""How many files that are not read get a note; all get a row."""

_EPILOG = """
\b
Examples:
  offsets-tool inspect /var/lib/kafka/data
  offsets-tool inspect backup.tar.gz | jq '{source, sha256, adds_up, unreadable}'
  offsets-tool inspect __consumer_offsets-12 | jq '.unreadable[], .problems[]'
"""


@click.command("inspect", epilog=_EPILOG)
@source_options
@output_options
def inspect_command(*, format_: str | None, output_path: str | None, strict: bool, **options: Option) -> None:
    """Show what LOG... is: files and hashes, offsets and times, formats and codecs, record kinds, gaps, and the ledger.

    Times are UTC. The ledger of a file adds up when every byte is in a batch or an unreadable range, and every record was decoded,
    kept raw, or is a control record. What could not be read is named with its place: `unreadable` are ranges of bytes,
    `problems` are records. Files that are there but not read have a row with the reason in `not_read`; other topics are
    counted.
    """
    chosen = format_ or default_format(output_path)
    table = TABLE.chosen(chosen, options)
    evidence = evidence_of(options, has_bar=True, is_archive=True)
    with evidence, output(output_path, evidence.files) as out:
        rows = chain(_rows(evidence), _left_out(options["logs"], evidence))
        if chosen == "jsonl":
            write_rows(out, rows, chosen, table)
        else:
            _write_when_read(out, list(rows), chosen, table, evidence)
    for text in copies_notes(evidence.sources):
        note(text)
    note(ledger_total(evidence.ledgers))
    if (reason := why_not_cached()) is not None:
        note(reason)
    where = "`unreadable` and `problems` of the rows name them" if chosen == "jsonl" else "see above"
    finish(evidence, strict=strict, where=where)


def _write_when_read(
    out: BinaryIO, rows: list[Row], format_: str, table: PrintedTable, evidence: Evidence
) -> None:
    """Write the rows only when everything is read, so that no progress bar runs through a table; then write notes on problems."""
    evidence.all_is_read()
    write_rows(out, _in_folder(rows, _folder(evidence, format_)), format_, table)
    out.flush()
    for text in problem_notes(rows):
        note(text)


def _rows(evidence: Evidence) -> Iterator[Row]:
    lane, reached = SurveyLane(evidence), Reached()
    for source in evidence.sources:
        survey = lane.survey(source)
        overlap = reached.overlap(source, evidence.ledgers[-1])
        if overlap is not None:
            evidence.overlaps += 1
            note(overlap_note(source.name, overlap))
        yield _row(source, evidence.ledgers[-1], survey) | {"overlap": overlap}


def _left_out(paths: tuple[str, ...], evidence: Evidence) -> Iterator[Row]:
    """Yield a row for each file that is not read, and write a note for what has no row, such as other topics."""
    read = {
        (real_path(source.path), source.segment.member if source.segment else "")
        for source in evidence.sources
        if source.path
    }
    for number, each in enumerate(find_unread(paths, read), 1):
        if number <= _LEFT_OUT_NAMED or not each.has_row:
            note(f"{each.source}: not read: {each.reason}")
        if not each.has_row:
            continue
        entry = Ledger(each.source).entry()
        row = _row(Source(each.source, None, 0, lambda *_: iter(())), entry, Survey())
        yield row | {"overlap": None, "bytes": each.size, "adds_up": None, "not_read": each.reason}


def _row(source: Source, entry: LedgerEntry, survey: Survey) -> Row:
    row: Row = {"source": entry.source, "log_partition": entry.log_partition}
    if source.segment is not None:
        names = ("kind", "fate", "base_offset", "cluster_id", "broker_id")
        row |= {
            name: getattr(source.segment, name)
            for name in names
            if getattr(source.segment, name) not in ("", None)
        }
    row |= {"copy": source.copy, "sha256": entry.sha256}
    for name in (
        "bytes",
        "bytes_in_batches",
        "bytes_unreadable",
        "batches",
        "empty_batches",
        "out_of_order_batches",
        "misplaced_batches",
        "foreign_rows",
    ):
        row[name] = getattr(entry, name)
    for name in (
        "records",
        "records_unreadable",
        "decoded_records",
        "raw_records",
        "reasons",
        "control_records",
        "adds_up",
    ):
        row[name] = getattr(entry, name)
    row["unreadable"] = [
        {"position": u.position, "size": u.size, "kind": u.kind, "reason": u.reason} for u in entry.unreadable
    ]
    row["misplaced_ranges"] = [found._asdict() for found in entry.misplaced_ranges]
    for name in ("first_offset", "last_offset", "min_timestamp", "max_timestamp", "magics", "codecs"):
        row[name] = getattr(entry, name)
    return row | survey.json()


def _folder(evidence: Evidence, format_: str) -> str:
    """Return the folder that all files are in, which a table names once above its rows; empty where there is none."""
    folders = [posixpath.dirname(source.name) for source in evidence.sources if source.path]
    # Absolute and relative paths have none in common, and a live topic has none at all.
    if format_ != "table" or len(folders) < 2 or len({folder.startswith("/") for folder in folders}) > 1:
        return ""
    # Of a URI, two slashes become one.
    folder = os.path.commonpath(folders).rstrip("/").replace(":/", "://", 1)
    if not folder or folder.endswith(":"):
        return ""
    note(f"files in {folder}:")
    return f"{folder}/"


def _in_folder(rows: Iterable[Row], folder: str) -> Iterator[Row]:
    for row in rows:
        yield row | {"source": row["source"].removeprefix(folder)}


def _range(first: int | None, last: int | None) -> str | None:
    return None if first is None else f"{first}-{last}"


def _time(timestamp: int | None) -> str | None:
    return None if timestamp is None else shown_time(timestamp)

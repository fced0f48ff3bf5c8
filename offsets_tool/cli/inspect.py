"""`offsets-tool inspect`: what this evidence is and covers, file by file, with a ledger that shows whether anything is lost.

Notes are on what could not be read and why, and on whether the ledger adds up. Each note is one sentence, made from the rows as
they are written.
"""

import os
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import PurePosixPath
from typing import BinaryIO, Final

import click

from offsets_tool.cli.opening import evidence_of, finish
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note, note_all, output, write_rows
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.columns.jit.code_cache import why_not_cached
from offsets_tool.evidence.evidence import UNREADABLE_NAMED, Evidence
from offsets_tool.evidence.lanes import SurveyLane
from offsets_tool.evidence.moments.moment_notes import offset_text
from offsets_tool.evidence.sources import Source
from offsets_tool.log.ledger import Ledger, LedgerEntry
from offsets_tool.log.storage import real_path
from offsets_tool.log.unread_files import find_unread
from offsets_tool.review.coverage import ledger_total
from offsets_tool.rows import Row
from offsets_tool.survey import Survey
from offsets_tool.time_texts import shown_time

SHOWN: Final = 10
"""How many problems get a note of their own; the others are counted."""


def problem_count(row: Row) -> int:
    """Return how many records of a row's source have a problem."""
    counts = [*(found["records"] for found in row["problems"]), row["other_problems"]]
    return sum(map(int, counts))


def problem_notes(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a note for each kind of problem in a file, with the first and the last record that has it.

    Unreadable ranges got their notes while they were read; here only the number of the others follows.
    """
    ranges = sum(len(row["unreadable"]) for row in rows)
    if ranges > UNREADABLE_NAMED:
        yield f"{ranges - UNREADABLE_NAMED:,} more unreadable range(s): `unreadable` of --format jsonl names all"
    found = [(row, problem) for row in rows for problem in row["problems"]]
    for row, problem in found[:SHOWN]:
        yield f"{row['source']}: {_where(problem)}{_outcome(problem)}: {problem['problem']}"
    rest = sum(problem["records"] for _, problem in found[SHOWN:]) + sum(
        row["other_problems"] for row in rows
    )
    if rest:
        yield (
            f"{rest:,} more record(s) have other problems: `problems` of --format jsonl names them, "
            "and `offsets-tool decode LOG... | jq 'select(.problem)'` shows each record"
        )


class Reached:
    """Finds overlapping segments: remembers for each partition's folder the segment that reaches furthest."""

    def __init__(self) -> None:
        self._furthest: dict[tuple[str, int | None], LedgerEntry] = {}

    def overlap(self, source: Source, entry: LedgerEntry) -> Row | None:
        """Return the offsets that a segment shares with an earlier one of its folder, as a row; None where it shares none.

        Call it for each source in the order of reading. Set-aside files are left out.
        """
        if (
            source.segment is None
            or source.is_set_aside
            or entry.first_offset is None
            or entry.last_offset is None
        ):
            return None
        folder = PurePosixPath(source.name).parent.as_posix(), source.log_partition
        before = self._furthest.get(folder)
        if before is None or before.last_offset is None or before.first_offset is None:
            self._furthest[folder] = entry
            return None
        if before.last_offset < entry.last_offset:
            self._furthest[folder] = entry
        first = max(before.first_offset, entry.first_offset)
        last = min(before.last_offset, entry.last_offset)
        return (
            {"source": before.source, "first_offset": first, "last_offset": last} if first <= last else None
        )


def overlap_note(source: str, overlap: Row) -> str:
    """Return a sentence on a segment that overlaps another, as `Reached.overlap` found it."""
    return (
        f"{source}: offsets {overlap['first_offset']} to {overlap['last_offset']} are in {overlap['source']} too: a replay takes "
        "each offset once, from the first that has it; give one of the two if they are copies"
    )


def _where(problem: Row) -> str:
    first = offset_text(problem["log_partition"], problem["first_offset"])
    if problem["records"] == 1:
        return f"the record at {first}"
    return f"{problem['records']:,} records, {first} to {problem['last_offset']},"


def _outcome(problem: Row) -> str:
    if problem["kept_raw"] is None:
        return " read, but"
    return " kept raw"


def copies_notes(sources: Iterable[Source]) -> Iterator[str]:
    """Yield a note on partitions with several copies, and on the command that compares them."""
    copies: dict[int, set[str]] = {}
    for source in sources:
        if source.log_partition is not None and source.copy is not None and not source.is_set_aside:
            copies.setdefault(source.log_partition, set()).add(source.copy)
    several = {number: len(found) for number, found in copies.items() if len(found) > 1}
    if several:
        yield (
            f"{len(several)} partition(s) are here in up to {max(several.values())} copies: `offsets-tool copies` says what each "
            "has, and commands that replay make one log of them"
        )


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
    Column.time("from", 10, lambda row: shown_time(row["min_timestamp"])),
    Column.time("to", 11, lambda row: shown_time(row["max_timestamp"])),
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
    evidence = evidence_of(options, has_bar=True, is_of_records=True)
    with evidence, output(output_path, evidence.files) as out:
        rows = chain(_rows(evidence), _left_out(options["logs"], evidence))
        if chosen == "jsonl":
            write_rows(out, rows, chosen, table)
        else:
            _write_when_read(out, list(rows), chosen, table, evidence)
    note_all(copies_notes(evidence.sources))
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
    note_all(problem_notes(rows))


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
    of_segment = {name: getattr(source.segment, name, None) for name in _OF_SEGMENT}
    return {
        "source": entry.source,
        "log_partition": entry.log_partition,
        **{name: value for name, value in of_segment.items() if value not in ("", None)},
        "copy": source.copy,
        "sha256": entry.sha256,
        **{name: getattr(entry, name) for name in _COUNTS},
        "unreadable": [{name: getattr(each, name) for name in _OF_UNREADABLE} for each in entry.unreadable],
        "misplaced_ranges": [found._asdict() for found in entry.misplaced_ranges],
        **{name: getattr(entry, name) for name in _RANGES},
        **survey.json(),
    }


_OF_SEGMENT: Final = ("kind", "fate", "base_offset", "cluster_id", "broker_id")
_COUNTS: Final = (
    *("bytes", "bytes_in_batches", "bytes_unreadable"),
    *("batches", "empty_batches", "out_of_order_batches", "misplaced_batches", "foreign_rows"),
    *(
        "records",
        "records_unreadable",
        "decoded_records",
        "raw_records",
        "reasons",
        "control_records",
        "adds_up",
    ),
)
_OF_UNREADABLE: Final = ("position", "size", "kind", "reason")
_RANGES: Final = ("first_offset", "last_offset", "min_timestamp", "max_timestamp", "magics", "codecs")


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

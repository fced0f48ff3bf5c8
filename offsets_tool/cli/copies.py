"""`offsets-tool copies`: several copies of the same partitions compared."""

from collections.abc import Iterable, Iterator

import click

from offsets_tool.cli.filter_options import clock_of, filter_options, parse_filters
from offsets_tool.cli.opening import evidence_of, finish
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note_all, output, write_rows
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.errors import UsageError
from offsets_tool.evidence.distinct_records import BranchKind, Copies, CopyCounts, DistinctRecord, copies_of
from offsets_tool.evidence.event_json import event_summary
from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.joined_log import copies_notes
from offsets_tool.evidence.moments.moment_notes import number_text
from offsets_tool.log.copies.union import epoch_in
from offsets_tool.rows import Row

TABLE = PrintedTable.of(
    Column.number("LOG-PARTITION", 1),
    Column.name("COPY", 2),
    Column.word("DECIDES", 11, lambda row: "yes" if row["is_deciding"] else None),
    Column.number("LOG-START", 9, "log_start_offset"),
    Column.number("LOG-END", 3, "log_end_offset"),
    Column.number("LEADER-EPOCH", 8),
    Column.number("CLEANED-TO", 10),
    Column.number("RECORDS", 7),
    Column.number("ONLY-HERE", 4),
    Column.number("MISSING", 5),
    Column.number("ABANDONED", 6),
    Column.number("CONTRADICTING", 6),
)
RECORDS = PrintedTable.of(
    Column.number("LOG-PARTITION", 1),
    Column.number("LOG-OFFSET", 2),
    Column.number("LEADER-EPOCH", 7),
    Column.word("DIFFERENCE", 3),
    Column.name("COPIES", 4, lambda row: " ".join(row["copies"])),
    Column.name("MISSING-IN", 5, lambda row: " ".join(row["missing_in"])),
    Column.word("TYPE", 6),
    Column.name("GROUP", 8),
    Column.name("ABOUT", 9),
    Column.text("VALUE", 10),
)

_EPILOG = """
\b
Examples:
  offsets-tool copies broker-1/data broker-2/data broker-3/data
  offsets-tool copies night-* --records --group orders
"""


@click.command("copies", epilog=_EPILOG)
@source_options
@filter_options
@click.option("--records", is_flag=True, help="Show each record that not all copies have, instead of counts.")
@output_options
def copies_command(
    *, format_: str | None, output_path: str | None, strict: bool, records: bool, **options: Option
) -> None:
    """Compare the copies of each partition in LOG...: replicas, nightly dumps, directories before and after a cleaner.

    A copy is called by the directory that holds its __consumer_offsets-N. A row says how many records only this copy has, how
    many others have that it lacks (`missing`: its cleaner took them), how many lie on a branch of the log that a later leader
    abandoned, and at how many offsets it contradicts another copy of the same leader epoch.
    """
    chosen = format_ or default_format(output_path)
    table = (RECORDS if records else TABLE).chosen(chosen, options)
    filters = parse_filters(options, clock_of(options))
    if filters.is_active and not records:
        raise UsageError("filters choose records: add --records, or drop them")
    evidence = evidence_of(options, filters, has_bar=chosen != "table")
    with evidence, output(output_path, evidence.files) as out:
        rows = _record_rows(evidence) if records else _count_rows(evidence)
        write_rows(out, rows, chosen, table)
    finish(evidence, strict=strict)


def _count_rows(evidence: Evidence) -> Iterator[Row]:
    for copies in copies_of(evidence):
        _read_all(copies.records())
        yield from (_count_row(copies, counts) for counts in copies.counts)
        note_all(_what_differs(copies))


def _read_all(records: Iterable[DistinctRecord]) -> None:
    for _ in records:
        pass


def _count_row(copies: Copies, counts: CopyCounts) -> Row:
    facts = counts.facts
    return {
        "log_partition": copies.log_partition,
        "copy": facts.name,
        "is_deciding": counts.is_deciding and len(copies.counts) > 1,
        "log_start_offset": facts.begin,
        "log_end_offset": facts.end,
        "leader_epoch": facts.epochs[-1].epoch if facts.epochs else None,
        "cleaned_to": facts.cleaned_to,
        "records": counts.records,
        "only_here": counts.only_here,
        "missing": counts.missing,
        "abandoned": counts.abandoned,
        "contradicting": counts.contradicting,
        "cluster_id": facts.cluster_id,
        "topic_id": facts.topic_id,
    }


def _what_differs(copies: Copies) -> Iterator[str]:
    """Yield notes on copies of a partition that were forked, that contradict each other, or that are doubtful by themselves."""
    number = number_text(copies.log_partition)
    for text in copies_notes([counts.facts for counts in copies.counts]):
        yield f"partition {number}: {text}"
    forked = [counts.facts.name for counts in copies.counts if counts.abandoned]
    if forked:
        yield f"partition {number}: the log was forked: {', '.join(forked)} with records of a branch that a later leader abandoned"
    contradicting = [counts.facts.name for counts in copies.counts if counts.contradicting]
    if contradicting:
        yield (
            f"partition {number}: {', '.join(contradicting)} contradict each other in one leader epoch, which no broker does: "
            "are they of one cluster, and whole?"
        )


def _record_rows(evidence: Evidence) -> Iterator[Row]:
    for copies in copies_of(evidence):
        for found in copies.records():
            lacking = copies.lacking(found)
            is_odd = found.is_contradicted or found.branch is BranchKind.ABANDONED
            if (lacking or is_odd) and evidence.filters.matches(found.event):
                yield _record_row(copies.log_partition, found, lacking)


def _record_row(log_partition: int | None, found: DistinctRecord, lacking: tuple[str, ...]) -> Row:
    summary = event_summary(found.event)
    return {
        "log_partition": log_partition,
        "log_offset": found.event.record.log_offset,
        "leader_epoch": epoch_in(found.event.record),
        "difference": _difference(found),
        "copies": list(found.copies),
        "missing_in": list(lacking),
        "is_recovered": found.is_recovered,
        "is_tombstone": found.event.tombstone,
        **{name: summary[name] for name in ("type", "group", "about", "value")},
    }


def _difference(found: DistinctRecord) -> str:
    if found.is_contradicted:
        return "contradicting"
    if found.branch is BranchKind.ABANDONED:
        return "abandoned"
    return "only here" if len(found.copies) == 1 else "missing"

"""`offsets-tool size`: why a log is as large as it is, and what compaction would leave of it."""

import click

from offsets_tool.cli.absent_names import AbsentNames, passed_over
from offsets_tool.cli.answers.size_notes import size_notes
from offsets_tool.cli.filter_options import group_option, parse_wanted
from offsets_tool.cli.opening import evidence_of, finish
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note, output, write_rows
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.evidence.answers.sizing import EvidenceSizes
from offsets_tool.rows import Row
from offsets_tool.sizes.rows import group_rows, partition_rows
from offsets_tool.time_texts import duration_text


def _why(row: Row) -> str | None:
    """Return in a few words what most bytes of a group's row consist of."""
    if row["keys"] is None:
        return None
    if row["commit_bytes"] * 2 < row["bytes"]:
        each = row["group_record_bytes"] // row["group_records"]
        return f"{row['group_records']:,} record(s) of the group, {each:,} bytes each"
    removals = row["commit_tombstones"]
    commits = row["commits"] - removals
    each = commits / row["commit_keys"]
    text = f"{commits:,} commit(s), {each:,.0f} a partition"
    if removals:
        # Of the times of commits and tombstones together no interval of commits can be told.
        return (
            f"{text}, and {removals:,} tombstone(s) of them"
            if commits
            else f"{removals:,} tombstone(s) of commits"
        )
    first, last = row["first_timestamp"], row["last_timestamp"]
    if first is None or each < 2:
        return text
    return f"{text}, every {duration_text(round((last - first) / each))}"


GROUPS = PrintedTable.of(
    Column.name("GROUP", 1, lambda row: row["group"] if row["group"] is not None else f"({row['part']})"),
    Column.number("BYTES", 2),
    Column.word("SHARE", 3, lambda row: f"{row['share']:.1%}"),
    Column.number("RECORDS", 5),
    Column.number("KEYS", 7),
    Column.number("LEFT-NOW", 6, "left_now_bytes"),
    Column.number("LEFT", 4, "left_bytes"),
    Column.text("WHY", 8, _why),
    Column.number("LOG-PARTITION", 9),
    Column.number("GONE", 11, "gone_at_least"),
    Column.name("COPY", 10, "copy"),
)
PARTITIONS = PrintedTable.of(
    Column.number("LOG-PARTITION", 1),
    Column.number("SEGMENTS", 7),
    Column.number("BYTES", 2),
    Column.number("RECORDS", 6),
    Column.number("GROUPS", 8),
    Column.name("LARGEST-GROUP", 5, "largest_group"),
    Column.number("LEFT-NOW", 4, "left_now_bytes"),
    Column.number("LEFT", 3, "left_bytes"),
    Column.number("UNSTABLE-FROM", 9, "first_unstable_offset"),
    Column.number("HELD", 10, "held_bytes"),
    Column.number("GONE", 11, "gone_offsets"),
    Column.name("COPY", 12, "copy"),
)

_EPILOG = """
\b
Examples:
  offsets-tool size /var/lib/kafka/data
  offsets-tool size /var/lib/kafka/data --by partition
  offsets-tool size backup.tar.gz --format jsonl | jq 'select(.share > 0.1) | {group, bytes, left_bytes}'
"""


@click.command("size", epilog=_EPILOG)
@source_options
@group_option
@click.option(
    "--by",
    type=click.Choice(["group", "partition"]),
    default="group",
    show_default=True,
    help="A row for each group, or for each log partition.",
)
@output_options
def size_command(
    *, by: str, format_: str | None, output_path: str | None, strict: bool, **options: Option
) -> None:
    """Show whose bytes LOG... has, the largest first, and what compaction would leave of them.

    LEFT-NOW is what one run of Kafka's cleaner would leave: it spares the active segment, and all from the first open transaction's
    segment on. LEFT is what stays when everything has been cleaned: of each key the newest value. A batch's bytes are shared among
    its records in proportion to their uncompressed size, so the rows add up to the bytes of the segments. GONE counts records that
    another copy still has.
    """
    chosen = format_ or default_format(output_path)
    table = (GROUPS if by == "group" else PARTITIONS).chosen(chosen, options)
    wanted = parse_wanted(options)
    evidence = evidence_of(
        options, has_bar=default_format(output_path) != "table", has_hashes=False, is_archive=True
    )
    with evidence:
        sizes = EvidenceSizes(evidence)
        tallies = sizes.run()
        groups = group_rows(tallies, sizes.newest_timestamp)
        rows = [row for row in groups if not wanted.groups or row["group"] in wanted.groups]
        partitions = partition_rows(tallies, groups)
        here = {(row["log_partition"], row["copy"]) for row in rows}
        shown = rows if by == "group" else [p for p in partitions if (p["log_partition"], p["copy"]) in here]
        with output(output_path, evidence.files) as out:
            write_rows(out, shown, chosen, table)
    absent = AbsentNames(wanted, evidence.sources, "", passed_over).notes(bool(rows))
    for text in (*size_notes(rows, partitions, is_whole=not wanted.groups), *absent):
        note(text)
    finish(evidence, strict=strict)

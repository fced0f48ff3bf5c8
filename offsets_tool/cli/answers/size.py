"""`offsets-tool size`: why a log is as large as it is, and what compaction would leave of it.

Notes are on totals, the largest groups, what keeps Kafka's cleaner from cleaning, what it removed. Each note is one sentence, made
from the rows that are shown.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import click

from offsets_tool.cli.filter_options import group_option, parse_wanted
from offsets_tool.cli.not_shown import AbsentNames, passed_over
from offsets_tool.cli.opening import evidence_of, finish
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note_all, output, write_rows
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.cli.texts import quoted
from offsets_tool.evidence.answers.sizing import EvidenceSizes
from offsets_tool.evidence.moments.moment_notes import listed, number_text, offset_text
from offsets_tool.rows import Row
from offsets_tool.sizes.rows import SizedPart, group_rows, partition_rows
from offsets_tool.time_texts import duration_text

_FEW: Final = 5
"""How many groups are few."""
_MANY: Final = 100
"""How many groups that committed once are worth a note."""
_MOST: Final = 0.8
"""The share of all bytes that the few groups make together, or they are not worth naming."""


def size_notes(rows: Sequence[Row], partitions: Sequence[Row], *, is_whole: bool) -> Iterator[str]:
    """Yield the notes on rows of groups and partitions; those on the whole log only where `is_whole`: the rows are all groups."""
    if is_whole and rows:
        yield _total(rows)
        yield from _few(rows)
        yield from _once(rows, partitions)
        yield from _uncleanable(partitions)
    yield from _compacted(rows, partitions)


def _total(rows: Sequence[Row]) -> str:
    size, left = (sum(row[name] for row in rows) for name in ("bytes", "left_bytes"))
    now = [row["left_now_bytes"] for row in rows]
    of_now = "" if None in now else f"one run of the cleaner would leave {_part(sum(now), size)}, "
    return f"{size:,} bytes: {of_now}complete compaction {_part(left, size)}"


def _part(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.0%})" if whole else f"{part:,}"


def _few(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a note that names the groups with most bytes of the log, where they are few among many."""
    groups: dict[str, float] = {}
    for row in rows:
        if row["part"] == SizedPart.GROUP:
            groups[row["group"]] = groups.get(row["group"], 0) + row["share"]
    order = sorted(groups, key=lambda group: -groups[group])[:_FEW]
    together, named = 0.0, []
    for group in order:
        named.append(f"{quoted(group)} ({groups[group]:.0%})")
        together += groups[group]
        if together >= _MOST:
            break
    if together >= _MOST and len(named) * 2 < len(groups):
        yield f"{len(named)} of {len(groups):,} groups make {together:.0%} of the bytes; talk to: {', '.join(named)}"


def _once(rows: Sequence[Row], partitions: Sequence[Row]) -> Iterator[str]:
    """Yield a note on groups that committed once, where they are many; compaction leaves one commit of busy groups, too."""
    whole = {(row["log_partition"], row["copy"]) for row in partitions if not row["gone_offsets"]}
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["part"] == SizedPart.GROUP:
            groups.setdefault(row["group"], []).append(row)
    once = [
        some
        for some in groups.values()
        if all((row["log_partition"], row["copy"]) in whole and _is_once(row) for row in some)
    ]
    if len(once) < _MANY or 2 * len(once) < len(groups):
        return
    removed = sum(any(row["commit_tombstones"] for row in some) for some in once)
    gone = f", and {removed:,} of them lost it again" if removed else ""
    yield (
        f"{len(once):,} of {len(groups):,} groups committed only once{gone}: each keeps its keys until its offsets expire, and "
        "tools list all of them; give such jobs one group.id, or let them delete their group at the end"
    )


def _is_once(row: Row) -> bool:
    commits: int = row["commits"] - row["commit_tombstones"]
    keys: int = row["commit_keys"]
    return 0 < commits <= keys


def _uncleanable(partitions: Sequence[Row]) -> Iterator[str]:
    for row in partitions:
        if row["held_bytes"]:
            producers = ", ".join(map(str, row["open_producer_ids"]))
            where = offset_text(row["log_partition"], row["first_unstable_offset"])
            yield (
                f"an open transaction at {where} (producer {producers}) holds the cleaner of partition "
                f"{number_text(row['log_partition'])}: it leaves {row['held_bytes']:,} bytes before the active segment alone, from "
                f"{row['uncleanable_from']} on; `offsets-tool transactions` says whose it is"
            )


def _compacted(rows: Sequence[Row], partitions: Sequence[Row]) -> Iterator[str]:
    """Yield notes on records that compaction has removed: by group where copies or gaps in offsets show it, and in all."""
    gone = [row for row in partitions if row["gone_offsets"]]
    if not gone:
        return
    texts = [text for row in rows if (text := _of_group(row, partitions)) is not None]
    yield from texts[:_FEW]
    if len(texts) > _FEW:
        more = len(texts) - _FEW
        yield f"{more} more group(s) have fewer records than they wrote: `gone_at_least` and `gone_at_most` of the rows"
    total = sum(row["gone_offsets"] for row in gone)
    where = listed(
        map(number_text, sorted({row["log_partition"] for row in gone}, key=lambda each: each or 0))
    )
    yield f"{total:,} offset(s) of partition(s) {where} have no record any more, so groups wrote more than they show"


def _of_group(row: Row, partitions: Sequence[Row]) -> str | None:
    """Return a note on how many records one group has lost to compaction; None where nothing shows that."""
    if row["part"] != SizedPart.GROUP:
        return None
    shows = f"{quoted(row['group'])} shows {row['records']:,} record(s)"
    if row["gone_at_least"]:
        return f"{shows} in {row['copy']}, and another copy {row['records'] + row['gone_at_least']:,}"
    home = next(
        p for p in partitions if (p["log_partition"], p["copy"]) == (row["log_partition"], row["copy"])
    )
    if home["groups"] != 1 or not row["gone_at_most"]:
        return None
    return (
        f"{shows}, and {row['gone_at_most']:,} offset(s) of partition {number_text(row['log_partition'])}, where no other group "
        "is, have none any more"
    )


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
        options, has_bar=default_format(output_path) != "table", has_hashes=False, is_of_records=True
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
    note_all((*size_notes(rows, partitions, is_whole=not wanted.groups), *absent))
    finish(evidence, strict=strict)

"""`offsets-tool offsets`: committed offsets at a moment."""

from typing import Any

import click

from offsets_tool.as_of.views_offsets import offset_rows
from offsets_tool.cli.absent_names import absent_then
from offsets_tool.cli.filter_options import offset_options, parse_wanted
from offsets_tool.cli.moment_options import moment_options
from offsets_tool.cli.opening import open_replay
from offsets_tool.cli.options import output_options
from offsets_tool.cli.render import default_format, note, output, write_cells, write_rows
from offsets_tool.cli.reset_gaps import left_out, refuse_partial
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.cli.texts import quoted
from offsets_tool.errors import UsageError
from offsets_tool.evidence.moments.moment_notes import listed, orphans
from offsets_tool.rows import Row
from offsets_tool.time_texts import shown_time
from offsets_tool.wire.text import is_clean

TABLE = PrintedTable.of(
    Column.name("GROUP", 1),
    Column.name("TOPIC", 2),
    Column.number("PARTITION", 3),
    Column.number(
        "CURRENT-OFFSET", 4, lambda row: row["committed_offset"] if row["is_proven"] else "unknown"
    ),
    Column.number("LEADER-EPOCH", 7, lambda row: None if row["leader_epoch"] == -1 else row["leader_epoch"]),
    Column.time("COMMITTED-AT", 5, lambda row: _time(row["commit_timestamp"])),
    Column.name("METADATA", 8),
    Column.text("PENDING", 6, lambda row: _pending(row["pending"])),
)
RESET_COLUMNS = ("group", "topic", "partition", "committed_offset")

_EPILOG = """
\b
Examples:
  offsets-tool offsets /var/lib/kafka/data --as-of 'yesterday 22:00' --tz Europe/Berlin
  offsets-tool offsets __consumer_offsets-12 --as-of 12:48211 --group orders
  offsets-tool offsets backup.tar.gz --group orders --format csv > orders.csv
"""


@click.command("offsets", epilog=_EPILOG)
@source_options
@moment_options
@offset_options
@click.option(
    "--partial",
    is_flag=True,
    help="With --format csv: write the file even if whole partitions of the log are left out.",
)
@output_options
def offsets_command(
    *, partial: bool, format_: str | None, output_path: str | None, strict: bool, **options: Any
) -> None:
    """Show every committed offset of LOG... as the coordinator had it at the end, or --as-of a moment.

    `pending` are commits in open transactions. `is_proven` is false where compaction has removed the records that would
    prove the offset. CSV is what kafka-consumer-groups --reset-offsets --from-file reads: group,topic,partition,offset; it
    is refused where it would lack whole partitions of the log, unless --partial is given.
    """
    chosen = format_ or default_format(output_path)
    if chosen == "csv" and options["show"]:
        raise UsageError(
            "CSV of offsets is a reset file, whose columns Kafka sets: drop --show, or use --format table"
        )
    table = TABLE.chosen(chosen, options)
    wanted = parse_wanted(options)
    if partial and chosen != "csv":
        raise UsageError("--partial is about the reset file: add --format csv, or drop it")
    with open_replay(options, strict=strict, output_path=output_path) as replay:
        moment = replay.run()
        if chosen == "csv" and not partial:
            refuse_partial(moment, wanted, replay.evidence)
        with output(output_path, replay.evidence.files) as out:
            replay.write_caption(out, chosen)
            rows = offset_rows(moment, wanted)
            if chosen == "csv":
                kept = _readable_by_kafka(rows)
                write_cells(out, ([row[name] for name in RESET_COLUMNS] for row in kept))
            else:
                write_rows(out, rows, chosen, table)
    lacking = left_out(rows, moment, wanted, replay.evidence) if chosen == "csv" else ()
    for text in (
        *orphans(moment),
        *lacking,
        *absent_then(replay, wanted, "committed offset", is_shown=bool(rows)),
    ):
        note(text)
    replay.finish()


def _readable_by_kafka(rows: list[Row]) -> list[Row]:
    """Return the rows that Kafka's reset tool can read, with notes on those left out.

    One row that it cannot read makes the tool refuse the whole file; a name that is not UTF-8 would name another group there.
    """
    committed = [row for row in rows if row["committed_offset"] is not None]
    refused = [row for row in committed if _is_refused(row)]
    unspeakable = [row for row in committed if not _is_refused(row) and not _has_names_of_text(row)]
    if refused:
        note(
            f"{_left_out(refused)}: kafka-consumer-groups reads no name with a line feed "
            "and no negative number from a file; set them by --group with --to-offset or --to-earliest"
        )
    if unspeakable:
        note(
            f"{_left_out(unspeakable)}: their names are not UTF-8, so that no file can name them to kafka-consumer-groups; "
            "no broker writes such names, look at the records with decode"
        )
    return [row for row in committed if not _is_refused(row) and _has_names_of_text(row)]


def _left_out(rows: list[Row]) -> str:
    """Return a phrase with the number of offsets left out, their groups, and topics with unusual names."""
    groups = sorted({row["group"] for row in rows})
    topics = sorted({row["topic"] for row in rows if not _is_plain(row["topic"])})
    of_topics = f" and topic(s) {listed(map(quoted, topics))}" if topics else ""
    return f"{len(rows)} offset(s) of group(s) {listed(map(quoted, groups))}{of_topics} are left out"


def _is_plain(name: str) -> bool:
    return "\n" not in name and is_clean(name)


def _is_refused(row: Row) -> bool:
    """Return whether Kafka's tool would refuse a file with this row.

    OffsetsUtils.parseResetPlan cuts the file at every line feed, quoted or not; OffsetAndMetadata has no negative offset.
    """
    return "\n" in row["group"] or "\n" in row["topic"] or row["committed_offset"] < 0 or row["partition"] < 0


def _has_names_of_text(row: Row) -> bool:
    """Return whether group and topic are UTF-8: of other bytes Java makes U+FFFD, which may be the name of another group."""
    return is_clean(row["group"]) and is_clean(row["topic"])


def _time(timestamp: int | None) -> str | None:
    return None if timestamp is None else shown_time(timestamp)


def _pending(pending: list[Row]) -> str | None:
    return " ".join(f"{p['committed_offset']} (producer {p['producer_id']})" for p in pending) or None

"""`offsets-tool offsets`: committed offsets at a moment."""

import click

from offsets_tool.as_of.views_offsets import current_homes, is_current, rows_at_home
from offsets_tool.cli.filter_options import offset_options, parse_wanted
from offsets_tool.cli.moment_options import moment_options
from offsets_tool.cli.not_shown import absent_at_moment
from offsets_tool.cli.opening import open_replay
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note, note_all, output, write_cells
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.cli.texts import quoted
from offsets_tool.errors import UsageError
from offsets_tool.evidence.answers.reset_gaps import moved_notes, refuse_partial, reset_gaps
from offsets_tool.evidence.moments.moment_notes import listed, orphans
from offsets_tool.plans.reset_file import UNSAID, ResetLine
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
    Column.time("COMMITTED-AT", 5, lambda row: shown_time(row["commit_timestamp"])),
    Column.name("METADATA", 8),
    Column.text("PENDING", 6, lambda row: _pending(row["pending"])),
)

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
    *, partial: bool, format_: str | None, output_path: str | None, strict: bool, **options: Option
) -> None:
    """Show every committed offset of LOG... as the coordinator had it at the end, or --as-of a moment.

    `pending` are commits in open transactions. `is_proven` is false where compaction has removed the records that would
    prove the offset, or where a later record was not understood. CSV is what kafka-consumer-groups --reset-offsets
    --from-file reads: group,topic,partition,offset; it is refused where it would lack whole partitions of the log, unless
    --partial is given.
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
    with open_replay(options, strict=strict, output_path=output_path, is_of_groups=True) as replay:
        replay.take_states(is_of_groups=True)
        moment = replay.run()
        if chosen == "csv" and not partial:
            refuse_partial(moment, wanted, replay.evidence)
        homes = current_homes(moment)
        rows = rows_at_home(moment, wanted, homes)
        if chosen == "csv":
            rows = [row for row in rows if is_current(homes, row["group"], row["log_partition"])]
            with output(output_path, replay.evidence.files) as out:
                write_cells(out, (line.cells() for line in _readable_by_kafka(rows)))
        else:
            replay.show(rows, chosen, table, output_path)
    lacking = reset_gaps(rows, moment, wanted, replay.evidence) if chosen == "csv" else ()
    note_all(
        (
            *orphans(moment, wanted),
            *moved_notes(homes, wanted),
            *lacking,
            *absent_at_moment(replay, wanted, "committed offset", is_shown=bool(rows)),
        )
    )
    replay.finish()


def _readable_by_kafka(rows: list[Row]) -> list[ResetLine]:
    """Return the lines that Kafka's reset tool can read, with notes on those left out.

    The tool refuses a file for a single unreadable line, and takes a name that is not UTF-8 for another group's.
    """
    lines = [_reset_line(row) for row in rows if row["is_proven"] and row["committed_offset"] is not None]
    for reason, unsaid in UNSAID.items():
        if left_out := [line for line in lines if line.unsayable is reason]:
            note(f"{_left_out(left_out)}: {unsaid.why}; {unsaid.remedy}")
    return [line for line in lines if line.unsayable is None]


def _reset_line(row: Row) -> ResetLine:
    return ResetLine(row["group"], row["topic"], row["partition"], row["committed_offset"])


def _left_out(lines: list[ResetLine]) -> str:
    """Return a phrase with the number of offsets left out, their groups, and topics with unusual names."""
    groups = sorted({line.group for line in lines})
    topics = sorted({line.topic for line in lines if not _is_plain(line.topic)})
    of_topics = f" and topic(s) {listed(map(quoted, topics))}" if topics else ""
    return f"{len(lines)} offset(s) of group(s) {listed(map(quoted, groups))}{of_topics} are left out"


def _is_plain(name: str) -> bool:
    return "\n" not in name and is_clean(name)


def _pending(pending: list[Row]) -> str | None:
    return " ".join(f"{p['committed_offset']} (producer {p['producer_id']})" for p in pending) or None

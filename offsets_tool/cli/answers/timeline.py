"""`offsets-tool timeline`: everything that happened, of all groups and log partitions, in one list in the order of time."""

import click

from offsets_tool.cli.broker_options import (
    parse_policy,
    parse_server_logs,
    policy_options,
    server_log_options,
)
from offsets_tool.cli.filter_options import clock_of, offset_options, parse_range, parse_wanted, range_options
from offsets_tool.cli.moment_options import coordinator_option, copies_options
from offsets_tool.cli.not_shown import absent_in_range
from offsets_tool.cli.opening import open_replay
from offsets_tool.cli.options import Option, OptionsGiven, output_options
from offsets_tool.cli.render import default_format, note_all
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.errors import UsageError
from offsets_tool.evidence.filters import Filters
from offsets_tool.evidence.findings.finding import LogFindings
from offsets_tool.evidence.moments.moment_notes import offset_text
from offsets_tool.evidence.moments.moment_texts import Bound, Clock, parse_optional_time
from offsets_tool.evidence.times import parse_duration
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.review.stories import timeline_of
from offsets_tool.review.table_rows import timeline_row
from offsets_tool.rows import Row
from offsets_tool.story.sentence import Sentence
from offsets_tool.time_texts import time_text

TABLE = PrintedTable.of(
    Column.time("AT", 1).to_second(),
    Column.word("LOG", 4, lambda row: offset_text(row["log_partition"], row["log_offset"])),
    Column.name("GROUP", 3),
    Column.sentence("WHAT", 2, "text").severe(),
    Column.time("UNTIL", 6).to_second(),
    Column.word("KIND", 5, lambda row: row["finding"] or row["kind"]),
)
_EPILOG = """
\b
Examples:
  offsets-tool timeline /var/lib/kafka/data --since 'yesterday 22:00' --until 'yesterday 23:30'
  offsets-tool timeline /var/lib/kafka/data --slice 2026-11-21T02:14Z --window 5m
  offsets-tool timeline /var/lib/kafka/data --group orders --topic payments --partition 3 --all
"""


@click.command("timeline", epilog=_EPILOG)
@source_options
@copies_options
@coordinator_option
@policy_options
@server_log_options
@offset_options
@range_options
@click.option(
    "--slice",
    "slice_at",
    metavar="TIME",
    help="Only what happened around this time: before and after it by --window.",
)
@click.option(
    "--window",
    metavar="SPAN",
    default="5m",
    show_default=True,
    help="How far --slice reaches to each side, as 30s, 5m or 2h.",
)
@click.option(
    "--all",
    "is_whole",
    is_flag=True,
    help="Tell each commit and each rebalance of a storm by itself; by default, what repeats is one row.",
)
@output_options
def timeline_command(
    *, format_: str | None, output_path: str | None, strict: bool, **options: Option
) -> None:
    """Show everything that happened in LOG..., of all groups and partitions, in the order of time.

    Changes of groups and members, commits, transactions, and findings in their places, a sentence each. Commits of a group for one
    topic are one row up to the next other thing that happened to the group. explain tells the same of one group.
    """
    clock = clock_of(options)
    asked = _parse_asked(options, clock)
    given, server_logs = parse_policy(options), parse_server_logs(options)
    chosen = format_ or default_format(output_path)
    table = TABLE.chosen(chosen, options)
    with open_replay(options, strict=strict, output_path=output_path) as replay:
        replay.note_range(asked.range, clock)
        found = LogFindings(replay, given, server_logs)
        sentences = timeline_of(found, asked, is_whole=options["is_whole"])
        rows = [sentence_row(each) for each in sentences]
        replay.show(rows, chosen, table, output_path)
    replay.evidence.has_shown = bool(rows)
    note_all(absent_in_range(replay, asked, "change"))
    replay.finish(asked.range)


def _parse_asked(options: OptionsGiven, clock: Clock) -> ReviewAsked:
    within = parse_range(options, clock)
    middle = parse_optional_time(options["slice_at"], "--slice", clock)
    if middle is not None:
        if within.is_active:
            raise UsageError("--slice says both ends of the range: drop --since and --until, or drop --slice")
        window = parse_duration(options["window"], "--window")
        within = Filters(since=Bound(time=middle - window), until=Bound(time=middle + window + 1))
    return ReviewAsked(parse_wanted(options), within)


def sentence_row(sentence: Sentence) -> Row:
    """Return the fields of a sentence, times as text; the fields of its finding are null where it has none."""
    fields = timeline_row(sentence)._asdict()
    return fields | {name: time_text(fields[name]) for name in ("at", "until")}

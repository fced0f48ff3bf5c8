"""`offsets-tool rebalances`: each rebalance of the groups: when, how long, why, who came and went, and what changed hands."""

import click

from offsets_tool.cli.broker_options import parse_server_logs, server_log_options
from offsets_tool.cli.filter_options import clock_of, group_option, parse_range, parse_wanted, range_options
from offsets_tool.cli.moment_options import coordinator_option, copies_options
from offsets_tool.cli.not_shown import absent_in_range
from offsets_tool.cli.opening import open_replay
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note_all
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.evidence.findings.rebalances import rebalances_in
from offsets_tool.evidence.moments.moment_notes import offset_text
from offsets_tool.rebalances.members import client_name
from offsets_tool.rebalances.rows import DurationMethod, RebalanceRow
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.rows import Row
from offsets_tool.time_texts import duration_text, time_text


def _took(row: Row) -> str | None:
    if row["duration_ms"] is None:
        return None
    bound = "<" if row["duration_method"] == DurationMethod.LAST_SIGN and row["duration_ms"] else ""
    return bound + duration_text(row["duration_ms"])


def _who(row: Row) -> str | None:
    """Return the members that changed as `+joined -left =replaced ~resubscribed`, each with its shortest name."""
    signs = {"+": "joined", "-": "left", "=": "replaced", "~": "resubscribed"}
    return " ".join(f"{sign}{_name(each)}" for sign, name in signs.items() for each in row[name]) or None


def _name(member: Row) -> str | None:
    return client_name(member["instance_id"], member["client_id"], member["member_id"])


def _held_back(row: Row) -> str | None:
    """Return which members kept how many partitions from others for how long, the longest first; None for none."""
    texts = (
        f"{_name(each)}: {len(each['partitions'])} for {duration_text(each['held_ms'])}"
        if each["held_ms"] is not None
        else f"{_name(each)}: {len(each['partitions'])} still"
        for each in row["held_back"]
    )
    return ", ".join(texts) or None


TABLE = PrintedTable.of(
    Column.time("AT", 1, lambda row: row["from_at"] if row["epoch"] is not None else row["to_at"]),
    Column.name("GROUP", 2),
    Column.number("EPOCH", 6, lambda row: row["generation"] if row["epoch"] is None else row["epoch"]),
    Column.word("CAUSE", 3),
    Column.word("TOOK", 4, _took),
    Column.text("WHO", 5, _who),
    Column.number("#MEMBERS", 9, "members"),
    Column.number("MOVED", 7),
    Column.number("LEAST", 8, "least_moves"),
    Column.number("UNOWNED", 10),
    Column.text("HELD-BACK", 13, _held_back),
    Column.word("CONFIDENCE", 11),
    Column.word("OR", 15, lambda row: " ".join(row["alternatives"]) or None),
    Column.word("LOG", 12, lambda row: offset_text(row["log_partition"], row["log_offset"])),
    Column.word("OUTCOME", 16),
    Column.word("KIND", 17),
    Column.name("PROTOCOL", 14),
    Column.name("LEADER", 18),
)
_EPILOG = """
\b
Examples:
  offsets-tool rebalances /var/lib/kafka/data --group orders --since 'yesterday 22:00'
  offsets-tool rebalances /var/lib/kafka/data --show at,group,cause,moved,least,unowned
  offsets-tool rebalances backup.tar.gz | jq 'select(.moved > .least_moves)'
"""


@click.command("rebalances", epilog=_EPILOG)
@source_options
@copies_options
@coordinator_option
@server_log_options
@group_option
@click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC",
    help="Only rebalances of members that ask for this topic or hold it; a name or a pattern, as for --group.",
)
@range_options
@output_options
def rebalances_command(
    *, format_: str | None, output_path: str | None, strict: bool, **options: Option
) -> None:
    """Show each rebalance of the groups in LOG...: when, how long, why, who came and went, and what changed hands.

    One row a generation, or a group epoch until its members had reached it. WHO: +joined -left =replaced ~asked for other topics.
    MOVED partitions changed hands, LEAST had to, UNOWNED were nobody's for a time. TOOK with a < is a bound: a classic group's
    rebalance begins in memory. The cause is what the records show, or what the broker's own log states (--server-log).
    """
    clock = clock_of(options)
    asked = ReviewAsked(parse_wanted(options), parse_range(options, clock))
    server_logs = parse_server_logs(options)
    chosen = format_ or default_format(output_path)
    table = TABLE.chosen(chosen, options)
    with open_replay(options, strict=strict, output_path=output_path) as replay:
        replay.note_range(asked.range, clock)
        rebalances = filter(asked.shows_rebalance, rebalances_in(replay, asked.wanted, server_logs))
        rows = list(map(rebalance_row, rebalances))
        replay.evidence.has_shown = bool(rows)
        replay.show(rows, chosen, table, output_path)
    note_all(absent_in_range(replay, asked, "rebalance"))
    replay.finish(asked.range)


def rebalance_row(row: RebalanceRow) -> Row:
    """Return the fields of a rebalance as JSON lines have them: times as text, members as objects."""
    members = {name: [each._asdict() for each in getattr(row, name)] for name in _MEMBERS}
    return {
        **row._asdict(),
        **members,
        **{name: time_text(getattr(row, name)) for name in ("from_at", "to_at")},
    }


_MEMBERS = ("joined", "left", "replaced", "resubscribed", "held_back")

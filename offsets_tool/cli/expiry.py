"""`offsets-tool expiry`: when committed offsets expire, and why others were removed."""

import click

from offsets_tool.as_of.views_offsets import current_homes
from offsets_tool.cli.broker_options import parse_policy, policy_options
from offsets_tool.cli.filter_options import offset_options, parse_wanted
from offsets_tool.cli.moment_options import moment_options
from offsets_tool.cli.not_shown import absent_at_moment
from offsets_tool.cli.opening import open_replay
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note_all
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.evidence.answers.reset_gaps import moved_notes
from offsets_tool.evidence.expiring import find_expiry
from offsets_tool.evidence.moments.moment_notes import orphans
from offsets_tool.rows import Row
from offsets_tool.time_texts import duration_text, shown_time, time_text

_TIMES = ("expires_at", "removed_at", "expected_at")

_EPILOG = """
\b
Examples:
  offsets-tool expiry /var/lib/kafka/data --group orders --kafka-version 3.6 --retention 7d
  offsets-tool expiry __consumer_offsets-12 --retention 7d --retention 30d --as-of 2026-11-20T22:00:00Z
  offsets-tool expiry backup.tar.gz --topic payments | jq 'select(.status == "removed")'
"""


def _is_live(row: Row) -> bool:
    return bool(row["status"] == "live")


def _is_due(row: Row) -> bool:
    return _is_live(row) and row["expires_in_ms"] is not None


def _at(row: Row) -> str | None:
    """Return when an offset expires or was removed; "never", or None where the log does not tell."""
    at = row["expires_at"] if _is_live(row) else row["removed_at"]
    if at is None:
        return "never" if _is_live(row) else None
    return time_text(at) or f"{at}ms"


TABLE = PrintedTable.of(
    Column.word("STATUS", 1),
    Column.name("GROUP", 2),
    Column.name("TOPIC", 3),
    Column.number("PARTITION", 4),
    Column.number("OFFSET", 9, "committed_offset"),
    Column.time("COMMITTED-AT", 12, lambda row: shown_time(row["commit_timestamp"])),
    Column.word("RETENTION", 13, lambda row: duration_text(row["retention_ms"])),
    Column.time("AT", 7, _at),
    Column.word("IN", 6, lambda row: duration_text(row["expires_in_ms"]) if _is_due(row) else None),
    Column.word("WHY", 5, lambda row: row["rule"] if _is_live(row) else row["cause"]),
    Column.word("CONFIDENCE", 8, lambda row: None if _is_live(row) else row["confidence"]),
    Column.word("OR", 10, lambda row: None if _is_live(row) else " ".join(row["alternatives"]) or None),
    Column.word("LOG", 11, lambda row: f"{row['log_partition']}:{row['log_offset']}"),
)


@click.command("expiry", epilog=_EPILOG)
@source_options
@moment_options
@policy_options
@offset_options
@output_options
def expiry_command(*, format_: str | None, output_path: str | None, strict: bool, **options: Option) -> None:
    """Show when each committed offset of LOG... expires and by which rule, and why others were removed.

    `status` is live or removed. A live offset is removed by the broker's first check after `expires_at`, if nothing more is
    written; `expires_in_ms` counts from the moment shown. A removed one has a `cause`: retention, expire_timestamp,
    unsubscribed_topic, offsets_deleted, group_deleted, topic_deleted, aborted, superseded or unknown; `confidence` is certain,
    likely, or ambiguous where `alternatives` would leave the same records.
    """
    chosen = format_ or default_format(output_path)
    is_compared = len(options["retentions"]) > 1
    table = (TABLE.with_first("RETENTION") if is_compared else TABLE).chosen(chosen, options)
    wanted = parse_wanted(options)
    given = parse_policy(options)
    with open_replay(options, strict=strict, output_path=output_path) as replay:
        rows = find_expiry(replay, given, wanted).rows
        replay.show(map(_json_row, rows) if chosen == "jsonl" else rows, chosen, table, output_path)
    note_all(
        (
            *orphans(replay.snapshot, wanted),
            *moved_notes(current_homes(replay.snapshot), wanted),
            *absent_at_moment(replay, wanted, "committed offset", is_shown=bool(rows)),
        )
    )
    replay.finish()


def _json_row(row: Row) -> Row:
    return {name: time_text(value) if name in _TIMES else value for name, value in row.items()}

"""`offsets-tool lag`: how far behind each group was at a moment, in offsets and in time, and how that is known."""

from collections.abc import Callable, Iterator
from typing import Final

import click

from offsets_tool.cli.filter_options import offset_options, parse_wanted
from offsets_tool.cli.moment_options import ends_options, moment_options
from offsets_tool.cli.not_shown import absent_at_moment
from offsets_tool.cli.opening import ends_of, open_replay
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note_all
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.evidence.lagging import lag_rows, odd_offsets, replay_for_lag
from offsets_tool.evidence.moments.moment_notes import orphans
from offsets_tool.lag.rows import LagMethod, TimeMethod
from offsets_tool.rows import Row
from offsets_tool.time_texts import time_text

TABLE = PrintedTable.of(
    Column.name("GROUP", 1),
    Column.name("TOPIC", 2),
    Column.number("PARTITION", 3),
    Column.number(
        "CURRENT-OFFSET", 6, lambda row: row["committed_offset"] if row["is_proven"] else "unknown"
    ),
    Column.number("END-OFFSET", 7),
    Column.number("LAG", 4),
    Column.number("TIME-LAG-MS", 5),
    Column.word("METHOD", 9),
    Column.word("CONFIDENCE", 8),
    Column.word("TIME-METHOD", 12),
    Column.number("LOG-START", 11, "log_start_offset"),
    Column.number("DATA-LOST", 10),
    Column.number("BEYOND-END", 10, lambda row: row["beyond_end"] or None),
)

_EPILOG = """
\b
Examples:
  offsets-tool lag /var/lib/kafka/data --as-of 2026-11-20T22:00:00Z
  kafka-get-offsets --bootstrap-server ... > ends.txt; offsets-tool lag __consumer_offsets-12 --ends ends.txt
  offsets-tool lag backup.tar.gz --ends prometheus.json | jq -c 'select(.data_lost > 0) | [.group, .topic, .data_lost]'
"""


@click.command("lag", epilog=_EPILOG)
@source_options
@moment_options
@ends_options
@offset_options
@output_options
def lag_command(*, format_: str | None, output_path: str | None, strict: bool, **options: Option) -> None:
    """Show how far behind the groups of LOG... were at the end, or --as-of a moment.

    Ends come from --ends, from the data topics' directories beside LOG (index files and batch headers, no data), and
    from commits of all groups, which are a lower bound. `lag_min` and `lag_max` bound what `method` estimates.
    """
    chosen = format_ or default_format(output_path)
    table = TABLE.chosen(chosen, options)
    wanted = parse_wanted(options)
    with open_replay(options, strict=strict, output_path=output_path) as replay:
        ends = ends_of(options, replay.evidence)
        moment = replay_for_lag(replay, ends, wanted)
        rows = lag_rows(moment, ends, wanted)
        replay.show(map(_SHOWN.get(chosen, dict), rows), chosen, table, output_path)
    note_all(
        (
            *orphans(moment, wanted),
            *absent_at_moment(replay, wanted, "committed offset", is_shown=bool(rows)),
            *_bounds(rows),
            *odd_offsets(rows),
        )
    )
    replay.finish()


def _with_bounds(row: Row) -> Row:
    """Mark lower bounds with `>=`, for a table; CSV and JSON lines have the method for that."""
    bounds = ["lag", "end_offset"] if row["method"] == LagMethod.LOWER_BOUND else []
    bounds += ["time_lag_ms"] if row["time_method"] == TimeMethod.BOUND else []
    return row | {name: f">={row[name]}" for name in bounds if row[name] is not None}


def _with_time(row: Row) -> Row:
    return row | {"moment_at": time_text(row["moment_at"])}


_SHOWN: Final[dict[str, Callable[[Row], Row]]] = {"table": _with_bounds, "jsonl": _with_time}


def _bounds(rows: list[Row]) -> Iterator[str]:
    """Yield a note where rows have only a lower bound, which is often mistaken for the lag itself."""
    bounds = sum(row["method"] == LagMethod.LOWER_BOUND for row in rows)
    if bounds:
        yield (
            f"{bounds} of {len(rows)} row(s) have a lower bound for lag: only commits or an earlier end are known; "
            "give end offsets with --ends"
        )

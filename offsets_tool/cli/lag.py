"""`offsets-tool lag`: how far behind each group was at a moment, in offsets and in time, and how that is known."""

from collections.abc import Iterator
from typing import Any

import click

from offsets_tool.cli.ends import KnownEnds, ends_options
from offsets_tool.cli.evidence import evidence_options
from offsets_tool.cli.filters import offset_options, parse_wanted
from offsets_tool.cli.lagging import lag_rows, replay_for_lag
from offsets_tool.cli.moment_notes import orphans
from offsets_tool.cli.options import output_options
from offsets_tool.cli.render import default_format, note, output, write_rows
from offsets_tool.cli.replaying import moment_options, open_replay
from offsets_tool.lag.lag import LagMethod
from offsets_tool.lag.time_lag import TimeMethod

Row = dict[str, Any]
COLUMNS = (
    "GROUP",
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "END-OFFSET",
    "LAG",
    "TIME-LAG-MS",
    "METHOD",
    "CONFIDENCE",
    "TIME-METHOD",
    "LOG-START",
    "DATA-LOST",
)

_EPILOG = """
\b
Examples:
  offsets-tool lag /var/lib/kafka/data --as-of 2026-11-20T22:00:00Z
  kafka-get-offsets --bootstrap-server ... > ends.txt; offsets-tool lag __consumer_offsets-12 --ends ends.txt
  offsets-tool lag backup.tar.gz --ends prometheus.json | jq -c 'select(.data_lost > 0) | [.group, .topic, .data_lost]'
"""


@click.command("lag", epilog=_EPILOG)
@evidence_options
@moment_options
@ends_options
@offset_options
@output_options
def lag_command(*, format_: str | None, output_path: str | None, strict: bool, **options: Any) -> None:
    """Shows how far behind the groups of LOG... were at the end, or --as-of a moment.

    Ends come from --ends, from the data topics' own directories beside LOG (index files and batch headers, no data), and
    from commits of all groups, which are a lower bound. `lag_min` and `lag_max` bound what `method` estimates.
    """
    chosen = format_ or default_format(output_path)
    wanted = parse_wanted(options)
    ends = KnownEnds(options)
    with open_replay(options, strict=strict, output_path=output_path) as replay:
        moment = replay_for_lag(replay, ends, wanted)
        with output(output_path, replay.reading.files) as out:
            replay.write_caption(out, chosen)
            rows = lag_rows(moment, ends, wanted)
            shown = rows if chosen == "jsonl" else (_table_row(row, chosen) for row in rows)
            write_rows(out, shown, chosen, COLUMNS)
    for text in (*orphans(moment), *_bounds(rows)):
        note(text)
    replay.finish()


def _table_row(row: Row, chosen: str) -> Row:
    """In a table, what is only a lower bound is told by a sign; CSV is for programs, which have the method."""
    shown = {name: row.get(name.lower().replace("-", "_")) for name in COLUMNS}
    shown["CURRENT-OFFSET"] = row["committed_offset"] if row["known"] else "unknown"
    if chosen == "table":
        bounds = ["LAG", "END-OFFSET"] if row["method"] == LagMethod.LOWER_BOUND else []
        bounds += ["TIME-LAG-MS"] if row["time_method"] == TimeMethod.BOUND else []
        shown |= {name: f">={shown[name]}" for name in bounds if shown[name] is not None}
    return {name: "-" if value is None else value for name, value in shown.items()}


def _bounds(rows: list[Row]) -> Iterator[str]:
    """Of what is often mistaken for lag."""
    bounds = sum(row["method"] == LagMethod.LOWER_BOUND for row in rows)
    if bounds:
        yield (
            f"{bounds} of {len(rows)} row(s) have a lower bound for lag: only commits or an earlier end are known; "
            "give end offsets with --ends"
        )

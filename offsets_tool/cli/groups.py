"""`offsets-tool groups`: the groups at a moment."""

from typing import Any

import click

from offsets_tool.cli.evidence import evidence_options
from offsets_tool.cli.filters import group_option, parse_wanted
from offsets_tool.cli.moment_notes import nothing_found
from offsets_tool.cli.options import output_options
from offsets_tool.cli.render import default_format, note, output, write_rows
from offsets_tool.cli.replaying import moment_options, open_replay
from offsets_tool.replay.views_groups import Row, group_rows

FIELDS = (
    "group",
    "kind",
    "state",
    "generation",
    "epoch",
    "assignment_epoch",
    "protocol_type",
    "protocol",
    "leader",
    "members",
    "log_partition",
    "log_offset",
)
COLUMNS = (
    "GROUP",
    "TYPE",
    "STATE",
    "#MEMBERS",
    "GENERATION",
    "EPOCH",
    "PROTOCOL-TYPE",
    "PROTOCOL",
    "LOG-PARTITION",
)

_EPILOG = """
\b
Examples:
  offsets-tool groups /var/lib/kafka/data
  offsets-tool groups /var/lib/kafka/data --as-of 2026-11-20T22:00:00Z | jq 'select(.state != "Stable")'
"""


@click.command("groups", epilog=_EPILOG)
@evidence_options
@moment_options
@group_option
@output_options
def groups_command(*, format_: str | None, output_path: str | None, strict: bool, **options: Any) -> None:
    """Shows every group of LOG... as the coordinator had it at the end, or --as-of a moment.

    Kinds are classic, simple (offsets alone), consumer, share and streams; `generation` is a classic group's, `epoch` the
    others'. States are those that the log can tell: what a rebalance passes through in memory is not in it.
    """
    chosen = format_ or default_format(output_path)
    wanted = parse_wanted(options)
    with open_replay(options, strict=strict, output_path=output_path) as replay:
        rows = group_rows(replay.run(), wanted)
        with output(output_path, replay.reading.files) as out:
            replay.write_caption(out, chosen)
            if chosen == "table":
                write_rows(out, map(_table_row, rows), chosen, COLUMNS)
            else:
                write_rows(out, rows, chosen, FIELDS)
    for text in nothing_found(bool(rows), wanted):
        note(text)
    replay.finish()


def _table_row(row: Row) -> Row:
    shown = {
        "GROUP": row["group"],
        "TYPE": row["kind"],
        "STATE": row["state"] if row["known"] else "unknown",
        "#MEMBERS": row["members"],
        "GENERATION": row["generation"],
        "EPOCH": row["epoch"],
        "PROTOCOL-TYPE": row["protocol_type"],
        "PROTOCOL": row["protocol"],
        "LOG-PARTITION": row["log_partition"],
    }
    return {name: "-" if value is None else value for name, value in shown.items()}

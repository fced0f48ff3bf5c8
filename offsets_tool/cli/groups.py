"""`offsets-tool groups`: the groups at a moment."""

import click

from offsets_tool.as_of.views_groups import GROUP_FIELDS, group_rows
from offsets_tool.cli.filter_options import group_option, parse_wanted
from offsets_tool.cli.moment_options import moment_options
from offsets_tool.cli.not_shown import absent_at_moment
from offsets_tool.cli.opening import open_replay
from offsets_tool.cli.options import Option, output_options
from offsets_tool.cli.render import default_format, note_all
from offsets_tool.cli.source_options import source_options
from offsets_tool.cli.table import Column, PrintedTable

TABLE = PrintedTable.of(
    Column.name("GROUP", 1),
    Column.word("TYPE", 4, "kind"),
    Column.word("STATE", 2, lambda row: row["state"] if row["is_proven"] else "unknown"),
    Column.number("#MEMBERS", 3, "members"),
    Column.number("GENERATION", 5),
    Column.number("EPOCH", 6),
    Column.name("PROTOCOL-TYPE", 8),
    Column.name("PROTOCOL", 7),
    Column.number("LOG-PARTITION", 9),
)
CSV = PrintedTable.of_names(("group", *GROUP_FIELDS, "log_partition", "log_offset"))

_EPILOG = """
\b
Examples:
  offsets-tool groups /var/lib/kafka/data
  offsets-tool groups /var/lib/kafka/data --as-of 2026-11-20T22:00:00Z | jq 'select(.state != "Stable")'
"""


@click.command("groups", epilog=_EPILOG)
@source_options
@moment_options
@group_option
@output_options
def groups_command(*, format_: str | None, output_path: str | None, strict: bool, **options: Option) -> None:
    """Show every group of LOG... as the coordinator had it at the end, or --as-of a moment.

    Kinds are classic, simple (offsets alone), consumer, share and streams; classic groups have a `generation`, the others an
    `epoch`. States are those that the log shows: the steps of a rebalance that a broker keeps in memory are not in it.
    """
    chosen = format_ or default_format(output_path)
    table = (CSV if chosen == "csv" else TABLE).chosen(chosen, options)
    wanted = parse_wanted(options)
    with open_replay(options, strict=strict, output_path=output_path, is_of_groups=True) as replay:
        replay.take_states(is_of_groups=True)
        rows = group_rows(replay.run(), wanted)
        replay.show(rows, chosen, table, output_path)
    note_all(absent_at_moment(replay, wanted, "group", is_shown=bool(rows)))
    replay.finish()

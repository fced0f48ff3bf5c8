"""`offsets-tool partition`: the partition of __consumer_offsets that a group lives in. Needs no evidence."""

import click

from offsets_tool.cli.options import Option, format_option
from offsets_tool.cli.render import default_format, output, write_rows
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.placement import DEFAULT_PARTITIONS, java_hash, partition_for
from offsets_tool.wire.text import from_shown

TABLE = PrintedTable.of(
    Column.name("group", 1),
    Column.number("java_hash", 3),
    Column.number("partitions", 4),
    Column.number("log_partition", 2),
)


@click.command("partition", epilog="\b\nExample:\n  offsets-tool partition orders payments --partitions 50\n")
@click.argument("groups", nargs=-1, required=True, metavar="GROUP...")
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    default=DEFAULT_PARTITIONS,
    show_default=True,
    help="Partition count of __consumer_offsets.",
)
@format_option
def partition_command(
    groups: tuple[str, ...], partitions: int, format_: str | None, **options: Option
) -> None:
    """Show in which partition of __consumer_offsets a group lives: abs(hashCode) % partitions."""
    chosen = format_ or default_format()
    table = TABLE.chosen(chosen, options)
    values = (
        (group, java_hash(group), partitions, partition_for(group, partitions))
        for group in map(from_shown, groups)
    )
    with output(None) as out:
        write_rows(out, (dict(zip(TABLE.titles, row, strict=True)) for row in values), chosen, table)

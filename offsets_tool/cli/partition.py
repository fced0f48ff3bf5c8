"""`offsets-tool partition`: where a group lives. Needs no evidence."""

import click

from offsets_tool.cli.options import format_option
from offsets_tool.cli.render import default_format, output, write_rows
from offsets_tool.placement import DEFAULT_PARTITIONS, java_hash, partition_for


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
def partition_command(groups: tuple[str, ...], partitions: int, format_: str | None) -> None:
    """Says in which partition of __consumer_offsets a group lives: abs(hashCode) % partitions."""
    columns = ("group", "java_hash", "partitions", "log_partition")
    values = ((group, java_hash(group), partitions, partition_for(group, partitions)) for group in groups)
    with output(None) as out:
        write_rows(
            out,
            (dict(zip(columns, row, strict=True)) for row in values),
            format_ or default_format(),
            columns,
        )

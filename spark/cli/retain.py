"""The command `offsets-spark retain`: parse, make one call of this package, show."""

import click

from offsets_tool.cli.options import Option, format_option
from offsets_tool.cli.render import default_format, note, output, write_rows
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.evidence.times import parse_duration
from spark.cli.job import LakeCommand, wait_option

_TABLE = PrintedTable.of(
    Column.name("cluster", 1),
    Column.number("log_partition", 2),
    Column.number("dropped_records", 3),
    Column.number("proven_from_log_offset", 4),
)


@click.command(
    "retain",
    cls=LakeCommand,
    is_in_parts=True,
    epilog="\b\nExample:\n  offsets-spark retain --lake lake --keep 400d\n",
)
@click.option("--lake", required=True, metavar="DIR", help="The folder of the Delta tables.")
@click.option("--keep", required=True, metavar="SPAN", help="Keep what is not older than this: 400d, 26w.")
@wait_option
@format_option
def retain_command(*, lake: str, keep: str, format_: str | None, **options: Option) -> None:
    """Take out of `log` and `events` records that are older than --keep, but for the last one of each key, which still holds.

    Histories stay. A row is a log partition: how many records went, and from which offset on all are there. A partition whose
    histories do not have all of it yet is left as it is. Killed at any moment, it is finished by the next one. Files of older
    versions of the tables stay until `compact` deletes them.
    """
    from spark.derived.retain import retain  # noqa: PLC0415 - Spark

    chosen = format_ or default_format()
    table = _TABLE.chosen(chosen, options)
    done = retain(lake, parse_duration(keep, "--keep"))
    for text in done.notes:
        note(text)
    with output(None) as out:
        write_rows(out, (each._asdict() for each in done.partitions), chosen, table)

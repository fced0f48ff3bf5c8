"""The command `offsets-spark upgrade`: parse, make one call of this package, show."""

import click

from offsets_tool.cli.options import Option, format_option
from offsets_tool.cli.render import default_format, note, output, write_rows
from offsets_tool.cli.table import Column, PrintedTable
from spark.cli.job import LakeCommand, wait_option

_TABLE = PrintedTable.of(Column.name("table", 1), Column.listing("added", 2))


@click.command(
    "upgrade", cls=LakeCommand, is_in_parts=True, epilog="\b\nExample:\n  offsets-spark upgrade --lake lake\n"
)
@click.option("--lake", required=True, metavar="DIR", help="The folder of the Delta tables.")
@wait_option
@format_option
def upgrade_command(*, lake: str, format_: str | None, **options: Option) -> None:
    """Bring a lake that an earlier version made up to date: add the columns that its tables lack. Shows them table by table.

    They are null in rows that were there before. No data file is written again. A lake with columns of another name or type
    cannot be brought up to date: ingest its sources into a new one.
    """
    from spark.lake.upgrade import upgrade  # noqa: PLC0415 - deltalake

    chosen = format_ or default_format()
    table = _TABLE.chosen(chosen, options)
    done = upgrade(lake)
    if not done:
        note("the lake has all columns of this version")
    with output(None) as out:
        write_rows(out, (each._asdict() for each in done), chosen, table)

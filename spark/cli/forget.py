"""The command `offsets-spark forget`: parse, make one call of this package, show."""

import click

from offsets_tool.cli.options import Option, format_option
from offsets_tool.cli.render import default_format, note, output, write_rows
from offsets_tool.cli.table import Column, PrintedTable
from spark.cli.job import LakeCommand, wait_option

_TABLE = PrintedTable.of(Column.name("table", 1), Column.number("rows", 2))
_EPILOG = """
\b
Examples:
  offsets-spark forget --lake lake --cluster test
  offsets-spark forget --lake lake --cluster prod --source /backups/2026-11-20
"""


@click.command("forget", cls=LakeCommand, is_in_parts=True, epilog=_EPILOG)
@click.option("--lake", required=True, metavar="DIR", help="The folder of the Delta tables.")
@click.option(
    "--cluster",
    required=True,
    metavar="NAME",
    help="The cluster, as `sources` names it; it may be an empty text.",
)
@click.option(
    "--source",
    metavar="PATH",
    type=click.Path(),
    help="Only what was ingested from this file or folder, which need not be there any more.",
)
@wait_option
@format_option
def forget_command(
    *, lake: str, cluster: str, source: str | None, format_: str | None, **options: Option
) -> None:
    """Take a mistaken ingest out of all tables. Shows how many rows each has lost.

    With --source, histories, lag, expiry and findings of the cluster are emptied too: run the jobs again to make them of what is
    left. Killed at any moment, it must be run again before anything else writes to the lake. Files of older versions of the tables
    stay until `compact` deletes them.
    """
    from spark.derived.forget import forget  # noqa: PLC0415 - Spark

    chosen = format_ or default_format()
    table = _TABLE.chosen(chosen, options)
    done = forget(lake, cluster, source)
    if source is not None:
        note("what was derived of the cluster is empty: run offsets-spark replay, lag, expiry and findings")
    with output(None) as out:
        write_rows(out, (each._asdict() for each in done), chosen, table)

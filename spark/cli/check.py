"""The command `offsets-spark check`: parse, make one call of this package, show."""

from collections.abc import Iterator

import click

from offsets_tool.cli.options import Option, format_option
from offsets_tool.cli.render import default_format, output, write_rows
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.errors import OffsetsToolError
from offsets_tool.rows import Row
from spark.cli.job import LakeCommand

_TABLE = PrintedTable.of(
    Column.word("severity", 2, lambda row: row["severity"] or "ok").severe(),
    Column.word("what", 3),
    Column.name("where", 4),
    Column.sentence("problem", 1, lambda row: row["problem"] or f"{row['looked_at']} looked at"),
    Column.sentence("remedy", 5),
)
_EPILOG = """
\b
Examples:
  offsets-spark check --lake lake
  offsets-spark check --lake lake --rows --sources --format jsonl
"""


@click.command("check", cls=LakeCommand, epilog=_EPILOG)
@click.option("--lake", required=True, metavar="DIR", help="The folder of the Delta tables.")
@click.option("--rows", "reads_rows", is_flag=True, help="Read all rows of all tables too.")
@click.option(
    "--sources",
    "reads_sources",
    is_flag=True,
    help="Read again what was ingested and is still there, and compare digests.",
)
@format_option
def check_command(
    *, lake: str, reads_rows: bool, reads_sources: bool, format_: str | None, **options: Option
) -> None:
    """Check a lake against itself: files, runs, the ledger, histories and what is derived. Shows what is wrong and what to do.

    Ends with 1 if anything is critical or a warning; a notice takes room, or may well be meant. Changes nothing, and needs no
    Java.
    """
    from spark.check.check import check  # noqa: PLC0415 - Spark
    from spark.check.checked import SEVERE, Checked  # noqa: PLC0415

    chosen = format_ or default_format()
    table = _TABLE.chosen(chosen, options)
    severe = 0

    def rows(found: Iterator[Checked]) -> Iterator[Row]:
        nonlocal severe
        for each in found:
            severe += each.severity in SEVERE
            yield each._asdict()

    with output(None) as out:
        write_rows(out, rows(check(lake, reads_rows=reads_rows, reads_sources=reads_sources)), chosen, table)
    if severe:
        raise OffsetsToolError(
            f"{severe} thing(s) are wrong with the lake, as shown above: mend the first one, and check again"
        )

"""Answer questions in SQL about a lake without Spark: parse options, ask, show. What answers is in offsets_tool.sql.

`answer_each` is the part that `offsets-spark sql` shares: where queries come from, and how answers are shown.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from typing import Final

import click

from offsets_tool.cli.options import Option, OptionsGiven, format_option
from offsets_tool.cli.render import default_format, note, output, write_rows
from offsets_tool.cli.table import PrintedTable
from offsets_tool.errors import OffsetsToolError, SetupError
from offsets_tool.evidence.listener import CommandStep, during
from offsets_tool.lake.answers import QueryResult, statements

_NEEDED: Final = ("duckdb", "sqlglot", "deltalake")
"""The packages of the extra `sql` that this command imports."""
_REMEDY: Final = "pip install 'offsets-tool[sql]'"
_CONTENTS: Final = "SELECT name, kind, comment FROM contents WHERE lacks IS NULL"
_EPILOG: Final = """
\b
Examples:
  offsets-tool sql --lake lake
  offsets-tool sql --lake lake "SELECT * FROM offenders ORDER BY rank_by_bytes LIMIT 5"
  offsets-tool sql --lake lake --format csv "SELECT * FROM current_offsets" > offsets.csv
  offsets-tool sql --lake lake "DESCRIBE group_lag"
"""


@click.command("sql", epilog=_EPILOG)
@click.argument("queries", nargs=-1, metavar="[QUERY]...")
@click.option("--lake", required=True, metavar="DIR", help="The folder of the Delta tables.")
@format_option
def sql_command(*, queries: tuple[str, ...], lake: str, format_: str | None, **options: Option) -> None:
    """Answer each QUERY over a lake's tables and views, as `offsets-spark sql` does, in a second and without Java.

    A QUERY is Spark's SQL; what is not known to mean the same here is refused, and `offsets-spark sql` takes it. Without QUERY,
    queries are read from the terminal or a pipe, each ends with a line that ends with a semicolon; where none comes, the tables and
    views are listed. All answers show the lake as it was when the command began, and complete runs only.
    """
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise SetupError(f"offsets-tool sql needs {' and '.join(missing)}, not installed here: {_REMEDY}")
    try:
        from offsets_tool.sql.duck_lake import DuckLake  # noqa: PLC0415 - of an extra, and heavy
    except ImportError as error:
        raise SetupError(
            f"offsets-tool sql needs a package that cannot be imported ({error}): {_REMEDY}"
        ) from error
    opened = DuckLake(lake, queries)
    if not answer_each(queries, opened.ask, format_, options):
        answer_each([_CONTENTS], opened.ask, format_, options)


def answer_each(
    queries: Iterable[str], ask: Callable[[str], QueryResult], format_: str | None, options: OptionsGiven
) -> int:
    """Answer queries, or without any, those typed or piped in; return their number.

    An error ends the program; on a terminal it is shown, and the next query is read.
    """
    chosen = format_ or default_format()
    is_talk = not queries and sys.stdin.isatty()
    asked = 0
    with output(None) as out:
        for query in queries or statements(_lines(is_talk)):
            asked += 1
            try:
                with during(CommandStep.ASK):
                    answer = ask(query)
                table = PrintedTable.of_names(answer.columns).chosen(chosen, options)
                # Names in a lake's tables have been made visible by the ingest.
                write_rows(out, answer.rows, chosen, table, texts=str)
            except OffsetsToolError as error:
                if not is_talk:
                    raise
                note(str(error))
            out.flush()
    return asked


def _lines(is_talk: bool) -> Iterator[str]:
    if not is_talk:
        yield from sys.stdin
        return
    import readline  # noqa: F401, PLC0415 - lets `input` keep a history

    with suppress(EOFError):
        while True:
            yield input("sql> ")

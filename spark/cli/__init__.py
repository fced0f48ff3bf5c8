"""The command line `offsets-spark`: parse, make one call of this package, show. stdout is data, stderr notes, progress and errors.

Spark is imported when a command runs, so that --help needs neither Spark nor Java. Exit codes are those of offsets-tool.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from offsets_tool import __version__
from offsets_tool.cli import SETTINGS, LazyGroup, entries
from offsets_tool.cli.options import Option, format_option
from offsets_tool.cli.render import ProgressBar, default_format, note, output, write_rows
from offsets_tool.cli.source_options import (
    columns_option,
    engine_option,
    log_partition_option,
    max_batch_bytes_option,
    parse_columns,
    parse_limits,
)
from offsets_tool.cli.sql import answer_each
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.errors import OffsetsToolError
from offsets_tool.rows import Row
from offsets_tool.wire.text import visible
from spark.cli.job import SparkCommand, starting, wait_option

if TYPE_CHECKING:
    from offsets_tool.lake.answers import QueryResult
    from spark.ingest.ingest import Ingested

_TABLE = PrintedTable.of(
    Column.number("run", 1),
    Column.number("sources", 3),
    Column.number("bytes", 7),
    Column.number("records", 2),
    Column.number("decoded", 5, "decoded_records"),
    Column.number("kept_raw", 4, "raw_records"),
    Column.number("control", 8, "control_records"),
    Column.number("seconds", 6),
)
"""The sums of the ledger that a table shows; JSON lines have all of them."""
_COMPACTED = PrintedTable.of(
    Column.name("table", 1),
    Column.number("files_before", 2),
    Column.number("files_after", 3),
    Column.number("bytes_before", 4),
    Column.number("bytes_after", 5),
    Column.number("files_deleted", 6),
)
_EPILOG = """
\b
Examples:
  offsets-spark ingest /var/lib/kafka/data --lake lake
  offsets-spark ingest broker-1/ broker-2/ archive.parquet --lake lake --cluster prod
"""
_SQL_EPILOG = """
\b
Examples:
  offsets-spark sql --lake lake "SELECT * FROM offenders ORDER BY rank_by_bytes LIMIT 5"
  offsets-spark sql --lake lake --format csv "SELECT * FROM current_offsets" > offsets.csv
  offsets-spark sql --lake lake
"""


LINE_EVERY = 60.0
"""The seconds after which a job says again how far it is where there is no terminal."""

_COMMANDS = entries(
    "spark.cli",
    (
        "How does evidence become tables that answer questions?",
        (
            ("run", "run", "All steps: ingest, replay what is new, lag, expiry and findings."),
            ("stream", "stream", "The same of what comes in, from a growing folder or the live topic."),
        ),
    ),
    (
        "How does it, step by step?",
        (
            ("ingest", "", "Files and archives into the tables log, events, copies and sources."),
            ("replay", "run", "Ingested records, replayed into histories of offsets, groups, members."),
            ("lag", "derive", "How far behind groups were, at each commit or on a grid of times."),
            ("expiry", "derive", "When offsets expire, and why others were removed."),
            ("findings", "derive", "What is wrong or odd in each cluster, with its evidence."),
        ),
    ),
    (
        "What does a lake say, and how is it kept small?",
        (
            ("sql", "", "Answers in SQL, over the lake's tables and views."),
            ("compact", "", "Few, sorted files of the many small ones that ingests leave."),
            ("retain", "retain", "Records older than a span, but for what still holds, taken out."),
            ("upgrade", "upgrade", "A lake of an earlier version, with the columns of this one."),
            ("check", "check", "Whether a lake is whole and adds up, and what to do if not."),
            ("forget", "forget", "A mistaken ingest, taken out of all tables again."),
        ),
    ),
    (
        "What does a machine or a cluster need?",
        (
            ("prepare", "prepare", "Jars and an archive of classes, so that Spark starts sooner."),
            ("package", "package", "This package in a file, for spark-submit to give to executors."),
        ),
    ),
)


@click.group(cls=LazyGroup, entries=_COMMANDS, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="offsets-spark")
def main() -> None:
    """Analytics for Kafka's __consumer_offsets: Delta tables of every record, from broker files and archives."""


@click.command("ingest", cls=SparkCommand, epilog=_EPILOG)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...", type=click.Path())
@click.option(
    "--lake", required=True, metavar="DIR", help="The folder of the Delta tables; made if it is not there."
)
@click.option(
    "--cluster", metavar="NAME", help="Name of the cluster. Default: the id in meta.properties, else empty."
)
@log_partition_option
@columns_option
@click.option(
    "--writer",
    type=click.Choice(["arrow", "spark"]),
    default="arrow",
    show_default=True,
    help="What writes the files: tasks with Arrow, or Spark (slow, for storage that only Spark can write).",
)
@max_batch_bytes_option
@partial(engine_option, verbs="Read and decode")
@wait_option
@format_option
def ingest_command(
    *, sources: tuple[str, ...], format_: str | None, wide: bool, show: tuple[str, ...], **options: Option
) -> None:
    """Read SOURCE... into the Delta tables `log` (records as they lay in the log), `events` (decoded) and `sources` (the ledger).

    SOURCE is a .log file, a __consumer_offsets-N directory, a broker's data directory, a directory of those, a tar, or a
    Parquet, Delta or JSON lines archive. Only what is new is read, including the new end of an active segment. An ingest that
    was killed at any moment can be run again: the tables end up the same.
    """
    from spark.ingest.ingest import Request, Writer, ingest  # noqa: PLC0415 - heavy, and not needed for --help

    began = time.monotonic()
    chosen = format_ or default_format()
    table = _TABLE.chosen(chosen, {"wide": wide, "show": show})
    options["columns"] = parse_columns(options["columns"])
    options["writer"] = Writer(options["writer"])
    options["limits"] = parse_limits(options.pop("max_batch_bytes"))
    start, bar = starting(), Bar("ingest")
    with told_as_row(bar, options["lake"], chosen, table), bar:
        done = ingest(Request(paths=sources, **options), start, bar.of("ingest"))
    for text in done.notes:
        note(text)
    if done.run is None:
        note("nothing new: the tables are as they were")
    with output(None) as out:
        write_rows(out, [_summary(done, time.monotonic() - began)], chosen, table)


@click.command("sql", cls=SparkCommand, epilog=_SQL_EPILOG)
@click.argument("queries", nargs=-1, metavar="[QUERY]...")
@click.option("--lake", required=True, metavar="DIR", help="The folder of the Delta tables.")
@format_option
def sql_command(*, queries: tuple[str, ...], lake: str, format_: str | None, **options: Option) -> None:
    """Answer each QUERY, in Spark's SQL, over the lake's tables and views. `SELECT name, comment FROM contents` names them.

    Without QUERY, queries are read from the terminal or a pipe; each ends with a line that ends with a semicolon. All answers
    show the lake as it was when the command began, and complete runs only.
    """
    from spark.lake.failures import in_one_sentence  # noqa: PLC0415
    from spark.lake.folder import is_small  # noqa: PLC0415
    from spark.runtime.session import BRIEF  # noqa: PLC0415
    from spark.views.sql import ask  # noqa: PLC0415
    from spark.views.views import OpenLake  # noqa: PLC0415

    running = starting(**(BRIEF if is_small(lake) else {}))()
    opened = OpenLake(running, lake, queries)

    def answer(query: str) -> "QueryResult":
        with in_one_sentence(lake):
            opened.show_for(query)
            found = ask(running, opened.shown, query)
        return found._replace(rows=_in_one_sentence(lake, found.rows))

    answer_each(queries, answer, format_, options)


def _in_one_sentence(lake: str, rows: Iterator[Row]) -> Iterator[Row]:
    from spark.lake.failures import in_one_sentence  # noqa: PLC0415

    with in_one_sentence(lake):
        yield from rows


@click.command(
    "compact",
    cls=SparkCommand,
    is_in_parts=True,
    epilog="\b\nExample:\n  offsets-spark compact --lake lake\n",
)
@click.option("--lake", required=True, metavar="DIR", help="The folder of the Delta tables.")
@click.option(
    "--days-kept",
    type=click.IntRange(min=0),
    default=7,
    show_default=True,
    metavar="N",
    help="Keep files of older versions for so many days, for their readers; with 0, nothing else may read meanwhile.",
)
@click.option(
    "--full", "is_full", is_flag=True, help="Sort all rows of tables with new ones again; it takes Spark."
)
@wait_option
@format_option
def compact_command(
    *, lake: str, days_kept: int, is_full: bool, format_: str | None, **options: Option
) -> None:
    """Replace the many small files that ingests and replays leave by few, sorted ones, and delete files that no version needs.

    Rows do not change. What came since the last time is sorted and, with small files, written anew; all else is left as it is. A
    large table that was never compacted is sorted as a whole, by Spark.
    """
    from spark.lake.compact import compact  # noqa: PLC0415

    chosen = format_ or default_format()
    table = _COMPACTED.chosen(chosen, options)
    done = compact(lake, starting(), days_kept, is_full=is_full)
    with output(None) as out:
        write_rows(out, (one._asdict() for one in done), chosen, table)


@contextmanager
def told_as_row(bar: "Bar", lake: str, format_: str, table: PrintedTable) -> Iterator[None]:
    """Within this, the job of a bar that fails writes a row of JSON to stdout before its error, if that is the format."""
    from spark.lake.failures import in_one_sentence  # noqa: PLC0415 - Spark

    try:
        with in_one_sentence(lake):
            yield
    except OffsetsToolError as error:
        if format_ == "jsonl":
            with output(None) as out:
                write_rows(out, [{"job": bar.job, "error": str(error)}], format_, table, texts=visible)
        raise


def _summary(done: "Ingested", seconds: float) -> Row:
    return {"run": done.run, "sources": len(done.sources), **done.sums, "seconds": round(seconds, 1)}


class Bar:
    """A progress bar for one job after the other, or a line now and then where there is no terminal; use it in a `with` statement.

    It names the job, and appears with the first report of how far it is.
    """

    def __init__(self, job: str) -> None:
        """Show nothing yet; until another begins, `job` is the one at work."""
        self.job = job
        self._bar: ProgressBar | None = None
        self._shown = ("", 0, 0)
        self._last_line = time.monotonic()

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def of(self, job: str) -> Callable[[int, int], None]:
        """Return the progress function of a job that begins, by its name: an ingest counts bytes, other jobs units of work."""
        self.job = job
        return partial(self._show, job)

    def _show(self, job: str, done: int, total: int) -> None:
        if sys.stderr is None or not sys.stderr.isatty():
            self._write_line(job, done, total)
            return
        shown_job, shown_total, shown = self._shown
        if self._bar is None or (job, total) != (shown_job, shown_total) or done < shown:
            self.__exit__()
            self._bar, shown = ProgressBar(total, shown=True, name=job, is_bytes=job == "ingest"), 0
        self._bar.advance(done - shown)
        self._shown = (job, total, done)

    def _write_line(self, job: str, done: int, total: int) -> None:
        """Write how far a job is as a note, if the last one was long ago: what ends soon says nothing in a scheduler's log."""
        if time.monotonic() - self._last_line >= LINE_EVERY:
            self._last_line = time.monotonic()
            note(f"{job}: {done:,} of {total:,} {'bytes' if job == 'ingest' else 'parts'} done")

"""`offsets-spark replay` and `run`: parse, one call of this package, show."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from offsets_tool.cli.moment_options import coordinator_option, parse_topic_ids
from offsets_tool.cli.options import format_option
from offsets_tool.cli.render import default_format, note, output, write_rows
from offsets_tool.cli.source_options import parse_columns, parse_limits
from offsets_tool.cli.table import Column, PrintedTable
from spark.cli import Bar, ingest_command
from spark.cli.job import LakeCommand

if TYPE_CHECKING:
    from spark.run import JobDone

_TABLE = PrintedTable.of(
    Column.word("job", 1),
    Column.number("run", 2),
    Column.name("came in", 5, "ledger"),
    Column.name("rows", 4),
    Column.number("seconds", 3),
)
_OWN = {option.name for option in format_option(click.Command("")).params} | {"writer"}
"""Options that `run` has in another form than `ingest`, or not at all."""
_REPLAY_EPILOG = """
\b
Examples:
  offsets-spark replay --lake lake
  offsets-spark replay --lake lake --coordinator new
"""
_RUN_EPILOG = """
\b
Examples:
  offsets-spark run /var/lib/kafka/data --lake lake
  offsets-spark run backup.tar archive.parquet --lake lake --cluster prod
"""


@click.command("replay", cls=LakeCommand, epilog=_REPLAY_EPILOG)
@click.option("--lake", required=True, metavar="DIR", help="The folder of the Delta tables.")
@coordinator_option
@format_option
def replay_command(*, lake: str, coordinator: str, topic_ids: tuple[str, ...], **options: Any) -> None:
    """Replays what ingests have brought into the Delta tables `offset_history`, `group_history`, `member_history`, `anomalies` and
    `removals`.

    Only partitions of the log with something new are replayed, from where they were left. By the rules of `offsets-tool history`,
    with whose rows these are the same.
    """
    from spark.replay.topic_ids import OPTION  # noqa: PLC0415
    from spark.run import run_replay  # noqa: PLC0415 - Spark
    from spark.runtime.session import session  # noqa: PLC0415

    shown = take_shown(options)
    named = {id_: (name, OPTION) for id_, name in parse_topic_ids(topic_ids).items()}
    step = run_replay(lake, lambda: session("offsets-spark replay"), coordinator, named)
    show([step], shown)


@click.command(
    "run",
    cls=LakeCommand,
    epilog=_RUN_EPILOG,
    params=[option for option in ingest_command.params if option.name not in _OWN],
)
@coordinator_option
@format_option
def run_command(*, coordinator: str, topic_ids: tuple[str, ...], **options: Any) -> None:
    """Does all there is to do: ingests SOURCE..., replays what is new, tells lag and expiry. A row a job: what came, what it wrote.

    The same as the commands for themselves, in their order. Run again with more, or with the same, only what is new is done;
    lag and expiry as `lag` and `expiry` were last asked for.
    """
    from spark.ingest.ingest import Request  # noqa: PLC0415 - heavy, and not needed for --help
    from spark.replay.topic_ids import OPTION  # noqa: PLC0415
    from spark.run import run  # noqa: PLC0415
    from spark.runtime.session import session  # noqa: PLC0415

    shown = take_shown(options)
    options["columns"] = parse_columns(options["columns"])
    options["limits"] = parse_limits(options.pop("max_batch_bytes"))
    request = Request(paths=options.pop("sources"), **options)
    named = {id_: (name, OPTION) for id_, name in parse_topic_ids(topic_ids).items()}
    with Bar() as bar:
        show(run(request, lambda: session("offsets-spark run"), coordinator, bar.show, named), shown)


class OutputOptions(NamedTuple):
    """How rows of jobs are to be given."""

    format_: str
    table: PrintedTable


def take_shown(options: dict[str, Any]) -> OutputOptions:
    """Takes out of the options what `format_option` has declared. UsageError for a column that is not there."""
    chosen = options.pop("format_") or default_format()
    how = {name: options.pop(name) for name in ("wide", "show")}
    return OutputOptions(chosen, _TABLE.chosen(chosen, how))


def show(steps: "Iterable[JobDone]", shown: OutputOptions) -> None:
    """A row a job, as it ends; a table when all have ended."""
    chosen, table = shown
    told = _told(steps)
    with output(None) as out:
        if chosen == "jsonl":
            for step in told:
                write_rows(out, [step._asdict()], chosen, table)
                out.flush()
        else:
            write_rows(out, map(_row, told), chosen, table)


def _told(steps: "Iterable[JobDone]") -> "Iterator[JobDone]":
    """The same, what there is to say besides said."""
    for step in steps:
        for text in step.notes:
            note(text)
        if step.run is None:
            note(f"{step.job}: nothing new, the tables are as they were")
        yield step


def _row(step: "JobDone") -> dict[str, Any]:
    """Numbers in words, without those that are 0."""
    return step._asdict() | {"ledger": _words(step.ledger), "rows": _words(step.rows)}


def _words(numbers: Mapping[str, int]) -> str | None:
    return ", ".join(f"{name} {number}" for name, number in numbers.items() if number) or None

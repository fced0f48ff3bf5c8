"""The commands `offsets-spark replay` and `run`: parse, make one call of this package, show the jobs that were done."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import click

from offsets_tool.cli.broker_options import parse_policy, policy_options
from offsets_tool.cli.moment_options import kept_coordinator_option, parse_topic_ids
from offsets_tool.cli.options import Option, format_option
from offsets_tool.cli.render import default_format, note, output, write_rows
from offsets_tool.cli.source_options import parse_columns, parse_limits
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.errors import OffsetsToolError
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.evidence.listener import CommandStep, items_during
from offsets_tool.rows import Row
from offsets_tool.wire.text import visible
from spark.cli import Bar, ingest_command, told_as_row
from spark.cli.job import MASTER, SparkCommand, starting, wait_option

if TYPE_CHECKING:
    from spark.run import JobDone
    from spark.runtime.rows import Progress

_TABLE = PrintedTable.of(
    Column.word("job", 1),
    Column.number("run", 2),
    Column.name("came in", 5, "ledger"),
    Column.name("rows", 4),
    Column.number("seconds", 3),
)
_OWN = {option.name for option in format_option(click.Command("")).params} | {"writer", "debug", MASTER}
"""Options of `ingest` that `run` has in another form, or not at all."""
_REPLAY_EPILOG = """
\b
Examples:
  offsets-spark replay --lake lake
  offsets-spark replay --lake lake --cluster prod --coordinator new
"""
_RUN_EPILOG = """
\b
Examples:
  offsets-spark run /var/lib/kafka/data --lake lake
  offsets-spark run backup.tar archive.parquet --lake lake --cluster prod
  offsets-spark run /mnt/old --lake lake --cluster old --kafka-version 1.1 --retention 3d
"""


class OutputOptions(NamedTuple):
    """The format and the columns in which rows of jobs are shown."""

    format_: str
    table: PrintedTable


@click.command("replay", cls=SparkCommand, epilog=_REPLAY_EPILOG)
@click.option("--lake", required=True, metavar="DIR", help="The folder of the Delta tables.")
@click.option("--cluster", metavar="NAME", help="The cluster that --coordinator is for. Default: all.")
@kept_coordinator_option
@wait_option
@format_option
def replay_command(
    *,
    lake: str,
    cluster: str | None,
    coordinator: str | None,
    topic_ids: tuple[str, ...],
    **options: Option,
) -> None:
    """Replay ingested records into the tables `offset_history`, `group_history`, `member_history`, `anomalies` and `removals`.

    Only partitions of the log with new records are replayed, from where the last replay ended. Rules and rows are those of
    `offsets-tool history`.
    """
    from spark.replay.topic_ids import OPTION  # noqa: PLC0415
    from spark.run import run_replay  # noqa: PLC0415 - Spark

    shown = take_shown(options)
    named = {id_: (name, OPTION) for id_, name in parse_topic_ids(topic_ids).items()}
    start = starting()
    show_job(
        lake,
        "replay",
        lambda progress: run_replay(lake, start, coordinator, named, progress, cluster=cluster),
        shown,
    )


@click.command(
    "run",
    cls=SparkCommand,
    epilog=_RUN_EPILOG,
    params=[option for option in ingest_command.params if option.name not in _OWN],
)
@kept_coordinator_option
@policy_options
@format_option
def run_command(*, coordinator: str | None, topic_ids: tuple[str, ...], **options: Option) -> None:
    """Run all jobs: ingest SOURCE..., replay what is new, compute lag, expiry, findings. Shows a row for each job.

    The jobs are those of the single commands, in their order. Run it again with the same or more sources: only what is new is
    done. Lag keeps the options with which `lag` was last run. Settings of brokers are those of --cluster. Without it, --coordinator
    is for all clusters; --kafka-version, --retention and --check-interval are for all that have none of their own. Where none is
    given, each cluster keeps what it has; `--coordinator auto` and `offsets-spark expiry` take them away again.
    """
    from spark.ingest.ingest import Request  # noqa: PLC0415 - heavy, and not needed for --help
    from spark.replay.topic_ids import OPTION  # noqa: PLC0415
    from spark.run import run  # noqa: PLC0415

    shown = take_shown(options)
    policy = _policy(options)
    options["columns"] = parse_columns(options["columns"])
    options["limits"] = parse_limits(options.pop("max_batch_bytes"))
    request = Request(paths=options.pop("sources"), **options)
    named = {id_: (name, OPTION) for id_, name in parse_topic_ids(topic_ids).items()}
    with Bar("run") as bar:
        steps = run(request, starting(), coordinator, bar.of, named, policy=policy)
        _show(_in_sentences(steps, request.lake, shown, bar), shown)


def _policy(options: dict[str, Option]) -> PolicyOverrides | None:
    """Remove the `policy_options` from options, and return what they give; None where none of them is given."""
    names = ("kafka_version", "retentions", "check_interval")
    policy = parse_policy({name: options.pop(name) for name in names})
    return None if policy == PolicyOverrides() else policy


def _in_sentences(
    steps: "Iterator[JobDone]", lake: str, shown: OutputOptions, bar: Bar
) -> "Iterator[JobDone]":
    """Yield the jobs; a failure of one is told as that of a command is, and not taken for one of writing its row."""
    while True:
        with told_as_row(bar, lake, *shown):
            step = next(steps, None)
        if step is None:
            return
        yield step


def take_shown(options: dict[str, Option]) -> OutputOptions:
    """Remove the options that `format_option` declares from `options`, and return them; UsageError for an unknown column."""
    chosen = options.pop("format_") or default_format()
    how = {name: options.pop(name) for name in ("wide", "show")}
    return OutputOptions(chosen, _TABLE.chosen(chosen, how))


def show_job(lake: str, name: str, job: "Callable[[Progress], JobDone]", shown: OutputOptions) -> None:
    """Run one job on a lake, and write its row to stdout; of one that fails, a JSON line with its name and the error.

    OffsetsToolError for a job that failed, or could not do all of its work.
    """
    bar = Bar(name)

    def done() -> "Iterator[JobDone]":
        with bar:
            step = job(bar.of(name))
        yield step

    _show(_in_sentences(done(), lake, shown, bar), shown)


def _show(steps: "Iterable[JobDone]", shown: OutputOptions) -> None:
    """Write a row to stdout for each job: JSON lines as each job ends, a table when all have ended; notes go to stderr.

    OffsetsToolError at the end, where a job could not do all of its work.
    """
    chosen, table = shown
    problems: list[str] = []
    noted = items_during(CommandStep.ASK, _with_notes(steps, problems))
    with output(None) as out:
        if chosen == "jsonl":
            for step in noted:
                write_rows(out, [step._asdict()], chosen, table, texts=visible)
                out.flush()
        else:
            write_rows(out, map(_row, noted), chosen, table)
    if problems:
        raise OffsetsToolError(
            f"{len(problems)} part(s) of the work could not be done, as noted above: all others were; mend these and run it again"
        )


def _with_notes(steps: "Iterable[JobDone]", problems: list[str]) -> "Iterator[JobDone]":
    """Yield the jobs, write the notes of each to stderr before it, and add what it could not do to `problems`."""
    for step in steps:
        for text in (*step.notes, *step.problems):
            note(text)
        problems += step.problems
        if step.run is None and not step.problems:
            note(f"{step.job}: nothing new, the tables are as they were")
        yield step


def _row(step: "JobDone") -> Row:
    """Return a job as a row of a table, its counts as one text without zeros."""
    return step._asdict() | {"ledger": _words(step.ledger), "rows": _words(step.rows)}


def _words(numbers: Mapping[str, int]) -> str | None:
    return ", ".join(f"{name} {number}" for name, number in numbers.items() if number) or None

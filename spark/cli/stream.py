"""The command `offsets-spark stream`: parse, make one call of this package, show each micro-batch."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, BinaryIO, Final

import click

from offsets_tool.cli.moment_options import kept_coordinator_option, parse_topic_ids
from offsets_tool.cli.options import Option
from offsets_tool.cli.render import default_format, note, output
from offsets_tool.cli.source_options import parse_columns, parse_limits
from offsets_tool.cli.texts import json_line
from offsets_tool.errors import UsageError
from offsets_tool.evidence.listener import CommandStep, during
from offsets_tool.evidence.times import parse_duration
from offsets_tool.log.live.client_config import read_client_config
from spark.cli import ingest_command
from spark.cli.job import SparkCommand, starting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark.stream.micro_batches import BatchDone
    from spark.stream.stream import StreamRequest, StreamSource

    Settings = Callable[[], dict[str, str]]

_EPILOG = """
\b
Examples:
  offsets-spark stream /mnt/captured --lake lake --cluster prod
  offsets-spark stream /mnt/captured --lake lake --cluster prod --once
  offsets-spark stream --bootstrap-server HOST:9092 --lake lake --cluster prod
"""
_OF_INGEST: Final = ("lake", "cluster", "log_partition", "columns", "max_batch_bytes", "engine")
"""The options of `ingest` that a stream has too."""


@click.command(
    "stream",
    cls=SparkCommand,
    epilog=_EPILOG,
    params=[option for option in ingest_command.params if option.name in _OF_INGEST],
)
@click.argument("folders", nargs=-1, metavar="[FOLDER]...", type=click.Path())
@click.option(
    "--bootstrap-server",
    metavar="HOST:PORT",
    help="Read the live topic instead of folders, by Spark's Kafka source (never writes).",
)
@click.option(
    "--command-config",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Client properties for --bootstrap-server, as Kafka's tools take them.",
)
@click.option("--once", is_flag=True, help="Bring what is there, and end: for a scheduler.")
@click.option(
    "--every",
    default="5m",
    show_default=True,
    metavar="SPAN",
    help="How often to look for something new: 30s, 5m.",
)
@click.option(
    "--checkpoint",
    metavar="DIR",
    type=click.Path(),
    help="The folder of Spark's checkpoint, on disk. Default: one in the lake, for this source and this cluster. "
    "--once of FOLDER needs none.",
)
@kept_coordinator_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "jsonl"]),
    help="Default: text on a terminal, jsonl in a pipe.",
)
def stream_command(*, format_: str | None, **options: Option) -> None:
    """Bring what FOLDER gains into the lake as it comes, through all jobs of `run`, by Spark's Structured Streaming.

    FOLDER is as SOURCE of `ingest`: a broker's data directory, or a folder into which segments are copied by and by. A micro-batch
    ingests what is new, replays it and computes lag, expiry and findings again; a line is shown for each. A stream that was killed
    at any moment can be started again: each record is in the lake once. Ctrl-C and SIGTERM end it between two micro-batches.

    With --bootstrap-server it is the live topic, as consumers see it: without markers of transactions and without batches.
    """
    from spark.lake.failures import in_one_sentence  # noqa: PLC0415 - heavy, and not needed for --help
    from spark.stream.stream import stream  # noqa: PLC0415

    server, config = options.pop("bootstrap_server"), options.pop("command_config")
    asked = _asked(options)
    asked, source, settings = _of_topic(asked, server, config) if server else _of_folders(asked)
    shown = format_ or ("text" if default_format() == "table" else "jsonl")
    begin, stop = starting(**settings()), threading.Event()
    with output(None) as out, ExitStack() as handlers:

        def start() -> "SparkSession":
            running = begin()
            # Spark has a handler of its own for Ctrl-C, set as it starts.
            handlers.enter_context(_set_by_signals(stop))
            return running

        # Its failures are not those of writing a line.
        with during(CommandStep.ASK), in_one_sentence(asked.request.lake, is_in_parts=True):
            stream(start, asked, source, _reporter(out, shown), stop)


def _asked(options: dict[str, Option]) -> "StreamRequest":
    from spark.ingest.ingest import Request  # noqa: PLC0415
    from spark.replay.topic_ids import OPTION  # noqa: PLC0415
    from spark.stream.stream import StreamRequest  # noqa: PLC0415

    every, once = options.pop("every"), options.pop("once")
    how = {name: options.pop(name) for name in ("coordinator", "checkpoint")}
    how["topic_ids"] = {
        id_: (name, OPTION) for id_, name in parse_topic_ids(options.pop("topic_ids")).items()
    }
    how["every_ms"] = None if once else parse_duration(every, "--every")
    options["columns"] = parse_columns(options["columns"])
    options["limits"] = parse_limits(options.pop("max_batch_bytes"))
    return StreamRequest(Request(paths=options.pop("folders"), **options), **how)


def _of_folders(asked: "StreamRequest") -> "tuple[StreamRequest, StreamSource, Settings]":
    """Return how to run the stream of folders, the stream, and the additional settings of its session: none."""
    from spark.stream.folder_stream import folder_source, watched_of  # noqa: PLC0415
    from spark.stream.growing_folder import why_nothing  # noqa: PLC0415

    if not asked.request.paths:
        raise UsageError("name FOLDER..., or a live topic with --bootstrap-server")
    watched = watched_of(asked.request)
    until = "the stream waits for it" if asked.every_ms is not None else "nothing of it is brought"
    for path in watched.paths:
        if reason := why_nothing(watched, path):
            note(f"{path}: {reason}; {until}")
    return asked, folder_source(watched, asked.request.cluster), dict


def _of_topic(
    asked: "StreamRequest", server: str, config: str | None
) -> "tuple[StreamRequest, StreamSource, Settings]":
    """Return how to run the stream of a live topic, the stream, and its session's settings: jars, fetched when it begins."""
    from spark.stream.kafka_jars import with_kafka  # noqa: PLC0415
    from spark.stream.topic_stream import LACKS, captured_topic, topic_source  # noqa: PLC0415

    request = asked.request
    if request.paths or request.columns or request.log_partition is not None:
        raise UsageError(
            "--bootstrap-server takes neither FOLDER nor --columns nor --log-partition: leave them out"
        )
    topic = captured_topic(server, read_client_config(config) if config else {}, asked)
    note(LACKS)
    asked = asked._replace(request=replace(request, cluster=topic.cluster))
    return asked, topic_source(topic, asked), with_kafka


@contextmanager
def _set_by_signals(stop: threading.Event) -> Iterator[None]:
    """Let the first SIGINT or SIGTERM set an event; the second does what it always does."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def set_stop(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, set_stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _reporter(out: BinaryIO, shown: str) -> "Callable[[BatchDone], None]":
    """Return a function that writes a line for each micro-batch, and its notes and problems to stderr, each note once."""
    noted = set[str]()

    def report(done: "BatchDone") -> None:
        for text in (*done.notes, *done.problems):
            if text not in noted:
                note(text)
        noted.update(done.notes)
        out.write(json_line(done._asdict()) if shown == "jsonl" else f"{_sentence(done)}\n".encode())
        out.flush()

    return report


def _sentence(done: "BatchDone") -> str:
    """Return what a micro-batch did as one line of text."""
    came = f"{done.ledger.get('bytes', 0):,} bytes, {done.ledger.get('records', 0):,} records"
    rows = ", ".join(f"{name} {number:,}" for name, number in done.rows.items() if number)
    return f"batch {done.batch}: {came} in {done.seconds} s; rows: {rows or 'none, nothing was new'}"

"""Declare the options that name sources and say how to read them, and parse their texts.

Imports little, because `offsets-spark --help` needs it too.
"""

import re
from typing import Final

import click

from offsets_tool.cli.options import F, debug_option, together
from offsets_tool.columns.lane.availability import ENGINE_VARIABLE, Engine, asking_for
from offsets_tool.errors import UsageError
from offsets_tool.log.batches.limits import MAX_BATCH_BYTES, Limits

_POWERS: Final = {"": 0, "k": 10, "m": 20, "g": 30}
_TEXT: Final = re.compile(r"(\d{1,12})\s*([kmg]?)(?:i?b)?", re.ASCII | re.IGNORECASE)
_MOST: Final = 2**31 - 1
"""The longest batch that there can be: its size field is an int."""


log_partition_option = click.option(
    "--log-partition",
    type=click.IntRange(min=0),
    metavar="N",
    help="Only this partition of __consumer_offsets; also the partition of files whose directory name does not say it.",
)
"""Adds the option --log-partition to a command."""
columns_option = click.option(
    "--columns",
    metavar="NAME=COLUMN,...",
    help="Where an archive keeps key, value, partition, offset, timestamp under other names.",
)
"""Adds the option --columns to a command."""
max_batch_bytes_option = click.option(
    "--max-batch-bytes",
    metavar="SIZE",
    help="Read batches that decompress to at most this size, however small they are. Default:"
    f" {MAX_BATCH_BYTES >> 20}m, and less for small batches; larger ones stay unread and are named.",
)
"""Adds the option --max-batch-bytes to a command."""


def engine_option(command: F, verbs: str = "Read, decode and replay") -> F:
    """Add the option --engine to a command, which is not told: it holds for all that it calls. `verbs` are what an engine does."""
    return click.option(
        "--engine",
        type=click.Choice([engine.value for engine in Engine]),
        envvar=ENGINE_VARIABLE,
        show_envvar=True,
        expose_value=False,
        callback=_ask_for_engine,
        help=f"{verbs} segments by the `reference`, one record at a time, or by the `fast` lane, however small they are. "
        "Default: auto, the fast lane where it pays. Answers are the same; a bug report is welcome where they are not.",
    )(command)


def _ask_for_engine(context: click.Context, _: click.Parameter, engine: str | None) -> None:
    if engine is not None:
        # click does not close the context of a command whose later options are wrong.
        context.find_root().with_resource(asking_for(Engine(engine)))


source_options = together(
    click.argument("logs", nargs=-1, metavar="LOG...", type=click.Path()),
    click.option(
        "--bootstrap-server",
        metavar="HOST:PORT",
        help="Read the live topic instead of files (never writes).",
    ),
    click.option(
        "--command-config",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        help="Client properties for --bootstrap-server, as Kafka's tools take them.",
    ),
    click.option(
        "--cluster", metavar="NAME", help="The cluster to read, where LOG is a lake that has several."
    ),
    log_partition_option,
    columns_option,
    max_batch_bytes_option,
    engine_option,
    debug_option,
)
"""Adds LOG... and the options from --bootstrap-server to --debug to a command."""


def parse_columns(text: str | None) -> dict[str, str]:
    """Return a text such as `offset=kafka_offset,key=k` as a mapping; UsageError for another form."""
    pairs = [pair.partition("=") for pair in (text or "").split(",") if pair]
    if any(not (name and equals and column) for name, equals, column in pairs):
        raise UsageError(f"--columns: {text!r} is not NAME=COLUMN,...; write offset=kafka_offset,key=k")
    return {name.strip(): column.strip() for name, _, column in pairs}


def parse_size(text: str, option: str) -> int:
    """Return a size such as `64m` or `100MB` in bytes; UsageError for another form, for zero, and above the longest batch."""
    found = _TEXT.fullmatch(text.strip())
    size = int(found[1]) << _POWERS[found[2].lower()] if found else 0
    if not 0 < size <= _MOST:
        raise UsageError(f"{option}: {text!r} is no size below 2 GiB; write 64m, 100MB or 1048576")
    return size


def parse_limits(text: str | None) -> Limits:
    """Return the limits of reading that --max-batch-bytes asks for; the defaults for None. UsageError for no size."""
    return Limits() if text is None else Limits(parse_size(text, "--max-batch-bytes"), is_asked=True)

"""Numbers of bytes as people write them: 64m, 100MB, 1GiB, 1048576; and the option that raises what one batch may hold."""

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from offsets_tool.errors import UsageError
from offsets_tool.log.batches.limits import MAX_BATCH_BYTES, Limits

F = TypeVar("F", bound=Callable[..., Any])

_POWERS: Final = {"": 0, "k": 10, "m": 20, "g": 30}
_TEXT: Final = re.compile(r"(\d{1,12})\s*([kmg]?)(?:i?b)?", re.ASCII | re.IGNORECASE)
_MOST: Final = 2**31 - 1
"""No batch is longer: its own size is an int."""


def parse_size(text: str, option: str) -> int:
    """Bytes; UsageError for what is no size, none that is more than nothing, or more than a batch can have."""
    found = _TEXT.fullmatch(text.strip())
    size = int(found[1]) << _POWERS[found[2].lower()] if found else 0
    if not 0 < size <= _MOST:
        raise UsageError(f"{option}: {text!r} is no size below 2 GiB; write 64m, 100MB or 1048576")
    return size


def max_batch_bytes_option(command: F) -> F:
    """--max-batch-bytes"""
    return click.option(
        "--max-batch-bytes",
        metavar="SIZE",
        help="Read batches that inflate to so much, however small they are themselves. Default:"
        f" {MAX_BATCH_BYTES >> 20}m, and less for small ones; what is beyond stays unread, and is named.",
    )(command)


def parse_limits(text: str | None) -> Limits:
    """The limits that --max-batch-bytes asks for; Kafka's own without it."""
    return Limits() if text is None else Limits(parse_size(text, "--max-batch-bytes"), asked=True)

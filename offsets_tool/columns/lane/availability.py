"""Which engine reads a log, the reference or the fast lane: decided here alone, by what was asked for, the bytes there are to read,
and whether the lane can be had.

The lane may be absent, and the tool then works without it.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import cache
from importlib.util import find_spec
from typing import Final, cast

from offsets_tool.errors import SetupError, UsageError

ENGINE_VARIABLE: Final = "OFFSETS_TOOL_ENGINE"
"""The environment variable that says which engine is asked for; the option --engine sets it while a command runs."""
PAYS_FROM: Final = 1 << 20
"""Bytes from which the lane pays: what loads compiled code takes as long as reading and replaying these without."""


class Engine(StrEnum):
    """What reads, decodes and replays a log."""

    AUTO = "auto"
    """The fast lane where it can be had and pays, else the reference."""
    REFERENCE = "reference"
    """The reference alone, one record at a time."""
    FAST = "fast"
    """The fast lane, however small the log is."""


def engine_asked() -> Engine:
    """Return the engine that the environment asks for; UsageError where it names none."""
    text = os.environ.get(ENGINE_VARIABLE) or Engine.AUTO
    try:
        return Engine(text)
    except ValueError:
        raise UsageError(
            f"{ENGINE_VARIABLE}={text}: there is no such engine; set it to {', '.join(Engine)}, or unset it"
        ) from None


@contextmanager
def asking_for(engine: Engine) -> Iterator[None]:
    """Ask for an engine within a `with` block, in this whole process and in those that it starts."""
    outside = os.environ.get(ENGINE_VARIABLE)
    os.environ[ENGINE_VARIABLE] = engine
    try:
        yield
    finally:
        del os.environ[ENGINE_VARIABLE]
        if outside is not None:
            os.environ[ENGINE_VARIABLE] = outside


def is_fast(size: int, *, note: Callable[[str], None] | None = None, engine: Engine | None = None) -> bool:
    """Return whether the fast lane reads `size` bytes of segments; else the reference does.

    `note` is told why the lane cannot be had where it would pay. `engine` is the one that is asked for, by default as
    `engine_asked` says. SetupError where the lane cannot be had and nothing else was asked for.
    """
    engine = engine or engine_asked()
    if engine is Engine.REFERENCE or not (size >= PAYS_FROM or engine is Engine.FAST):
        return False
    if (problem := lane_problem()) is None:
        return True
    if engine is Engine.FAST:
        raise SetupError(f"the engine `{engine}` cannot be used: {problem}")
    if note is not None:
        note(problem)
    return False


@cache
def lane_problem() -> str | None:
    """Return why the fast lane does not work here, as one sentence with a remedy; None where it works."""
    if sys.byteorder != "little":
        return "the fast lane is for little-endian machines; reading goes on without it, more slowly"
    if find_spec("numba") is None:
        return "Numba is not installed, so reading is slow: pip install 'offsets-tool[fast]'"
    try:
        # Only where the lane is asked for.
        from offsets_tool.columns.jit.native import Compiled  # noqa: PLC0415
        from offsets_tool.columns.lane.headers import read_headers  # noqa: PLC0415

        if cast(Compiled, read_headers).kept() is None:
            import numba  # noqa: PLC0415, F401 - is it whole?
    except (ImportError, OSError) as error:
        # OSError: a library of its own cannot be loaded.
        return f"the fast lane cannot be compiled here ({error}), so reading is slow: pip install 'offsets-tool[fast]' again"
    return None

"""Listeners hear of the reading of evidence while it lasts: notes of one sentence, and progress. A stopwatch measures its steps.

The caller passes a listener, and decides what becomes of both; a stopwatch runs within `measured`. Nothing here prints.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from functools import wraps
from time import perf_counter
from typing import Final, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Listener(Protocol):
    """Hears notes and progress while evidence is read."""

    def note(self, text: str) -> None:
        """Hear a note: one sentence for the person who asked."""
        return

    def begin(self, size: int) -> None:
        """Hear that reading begins, of `size` bytes in all."""
        return

    def advance(self, size: int) -> None:
        """Hear that `size` more bytes were read."""
        return

    def end(self) -> None:
        """Hear that everything is read; this may come more than once."""
        return


class Silent(Listener):
    """A listener for programs: the notes stay in `Evidence.notes`, and nobody waits for progress."""


class CommandStep(StrEnum):
    """A step between a log and its reader."""

    OPEN = "opening"
    READ = "reading"
    DECODE = "decoding"
    FAST = "fast lane"
    """What compiled code reads, it decodes at once; and counts or prints where nothing is replayed."""
    REPLAY = "replaying"
    ASK = "asking"
    """Whatever is no other step."""
    SHOW = "showing"


class Stopwatch:
    """How long each step has taken, in seconds, without the steps inside it. It starts at once."""

    def __init__(self) -> None:
        self._seconds = dict.fromkeys(CommandStep, 0.0)
        self._steps = [CommandStep.ASK]
        """The step that runs, behind those around it."""
        self._since = perf_counter()

    def begin(self, step: CommandStep) -> None:
        """Stop the clock of the step that runs, and start that of another one inside it."""
        self._count()
        self._steps.append(step)

    def end(self) -> None:
        """End the step that runs, and go on with the one around it."""
        self._count()
        self._steps.pop()

    def _count(self) -> None:
        now = perf_counter()
        self._seconds[self._steps[-1]] += now - self._since
        self._since = now

    def text(self) -> str:
        """Return the times of the steps that there were so far, and their sum."""
        self._count()
        steps = (f"{step} {seconds:.2f} s" for step, seconds in self._seconds.items() if seconds)
        return f"{', '.join(steps)}: {sum(self._seconds.values()):.2f} s in all"


_STOPWATCH: Final[ContextVar[Stopwatch | None]] = ContextVar("stopwatch", default=None)


@contextmanager
def measured() -> Iterator[Stopwatch]:
    """Measure the steps within a `with` block."""
    token = _STOPWATCH.set(stopwatch := Stopwatch())
    try:
        yield stopwatch
    finally:
        _STOPWATCH.reset(token)


@contextmanager
def during(step: CommandStep) -> Iterator[None]:
    """Count the time of a `with` block as that of a step, if it is measured; within it, nothing may be yielded."""
    if (stopwatch := _STOPWATCH.get()) is None:
        yield
        return
    stopwatch.begin(step)
    try:
        yield
    finally:
        stopwatch.end()


def items_during(step: CommandStep, items: Iterator[T]) -> Iterator[T]:
    """Return an iterator over the same items; what it takes to make them counts as the time of a step, if it is measured."""
    stopwatch = _STOPWATCH.get()
    return items if stopwatch is None else _timed(stopwatch, step, items)


def _timed(stopwatch: Stopwatch, step: CommandStep, items: Iterator[T]) -> Iterator[T]:
    while True:
        stopwatch.begin(step)
        try:
            item = next(items)
        except StopIteration:
            return
        finally:
            stopwatch.end()
        yield item


def yields_during(step: CommandStep) -> Callable[[Callable[P, Iterator[T]]], Callable[P, Iterator[T]]]:
    """Decorate a function whose result is an iterator, as `items_during` does to that."""

    def decorate(function: Callable[P, Iterator[T]]) -> Callable[P, Iterator[T]]:
        @wraps(function)
        def decorated(*args: P.args, **options: P.kwargs) -> Iterator[T]:
            return items_during(step, function(*args, **options))

        return decorated

    return decorate

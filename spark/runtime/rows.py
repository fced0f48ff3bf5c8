"""Rows that go through tasks: in this process where there is little to do, in Spark's workers otherwise, which take long to start.

A job declares once what its tasks do; its results and its progress are the same in either place.
Knows no tables.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa

from offsets_tool.columns.sorting import places_in_order
from offsets_tool.lake.merge import Batches
from offsets_tool.process import collect_seldom, freeze_modules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Task = Callable[[Batches], Batches]
"""A function from the rows of one Spark partition to other rows; Spark must be able to pickle it."""
StartSpark = Callable[[], "SparkSession"]
Progress = Callable[[int, int], None]
"""Called now and then with what is done and what is to be done: units, tasks or bytes. It may be another thread that calls."""
LITTLE: Final = 100_000
"""The most records that are worked on in this process, rather than starting Spark."""
RECORD_BYTES: Final = 64
"""The bytes, about, that a record takes in a log or a checkpoint."""
ROWS_AT_ONCE: Final = 16_384
"""The rows of a batch at most."""
LOOK_EVERY: Final = 0.3
"""The seconds after which Spark is asked again how far it is."""
UNIT: Final = "id"
"""The column of the numbers that `of_units` makes: Spark's `range` gives it this name."""


class Rows(Protocol):
    """Rows that pass from task to task; nothing is done before `collect`."""

    def through(self, task: Task, schema: pa.Schema) -> "Rows":
        """Return the rows that `task` makes of these, with the columns of `schema`."""

    def grouped(self, by: Sequence[str], order: Sequence[str]) -> "Rows":
        """Return the rows so that all that are equal in the columns `by` reach one task, sorted by `order`, nulls first."""

    def collect(self) -> list[tuple[Any, ...]]:
        """Run all tasks, and return the rows that come out of the last."""


def is_little(records: int) -> bool:
    """Return whether this many records are worked on in this process, rather than by Spark."""
    return records <= LITTLE


def untold(done: int, total: int) -> None:
    """Report no progress; the default of all jobs."""


def of_units(start: StartSpark, units: int, *, is_here: bool, progress: Progress = untold) -> Rows:
    """Return rows with the numbers below `units`, each for a task of its own; with `is_here` in this process, else in Spark."""
    if is_here:
        return _InProcess(_numbers(units, progress))
    return _InSpark(start().range(0, units, 1, units), progress)


def _numbers(units: int, progress: Progress) -> Batches:
    """Yield the numbers of units one by one, and report progress: a task that takes a number has done the one before."""
    for number in range(units):
        progress(number, units)
        yield pa.record_batch({UNIT: [number]})
    progress(units, units)


def numbers_of(batches: Batches) -> Iterator[int]:
    """Yield the numbers of units that a task is given."""
    for batch in batches:
        yield from batch.column(UNIT).to_pylist()


class _InProcess:
    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    def through(self, task: Task, schema: pa.Schema) -> "_InProcess":
        return _InProcess(task(self._batches))

    def grouped(self, by: Sequence[str], order: Sequence[str]) -> "_InProcess":
        return _InProcess(in_order(self._batches, order))

    def collect(self) -> list[tuple[Any, ...]]:
        return [
            row
            for batch in self._batches
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        ]


def with_buffers(batches: Batches) -> Iterator[tuple[Any, ...]]:
    """Yield rows whose last column is bytes, which may be many: as buffers, one at a time and without a copy."""
    for batch in batches:
        *others, last = batch.columns
        for *values, content in zip(*(column.to_pylist() for column in others), last, strict=True):
            yield (*values, content.as_buffer())


def in_order(batches: Batches, order: Sequence[str]) -> Batches:
    """Yield the rows of all batches sorted by columns, nulls first, as Spark sorts them; all are held in memory."""
    some = list(batches)
    if some:
        rows = pa.Table.from_batches(some).unify_dictionaries().combine_chunks()
        # Of what came, what it was put together as, and what is sorted, two are there at a time.
        del some
        found = rows.take(pa.array(places_in_order(rows, order)))
        del rows
        yield from found.to_batches(max_chunksize=ROWS_AT_ONCE)


class _InSpark:
    def __init__(self, rows: "DataFrame", progress: Progress) -> None:
        self._rows = rows
        self._progress = progress

    def through(self, task: Task, schema: pa.Schema) -> "_InSpark":
        from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - a second, and not needed for little work

        def in_worker(batches: Batches) -> Batches:
            collect_seldom()
            yield from task(batches)
            freeze_modules()

        return _InSpark(self._rows.mapInArrow(in_worker, from_arrow_schema(schema)), self._progress)

    def grouped(self, by: Sequence[str], order: Sequence[str]) -> "_InSpark":
        return _InSpark(self._rows.repartition(*by).sortWithinPartitions(*order), self._progress)

    def collect(self) -> list[tuple[Any, ...]]:
        with _watched(self._rows.sparkSession, self._progress):
            return [tuple(row) for row in self._rows.collect()]


@contextmanager
def _watched(session: "SparkSession", progress: Progress) -> Iterator[None]:
    """Report while the block runs how many tasks of its stages the session has done; report nothing for Spark Connect."""
    if progress is untold or not hasattr(session, "_jsc"):
        yield
        return
    ended = threading.Event()
    looking = threading.Thread(target=_look, args=(session, progress, ended), daemon=True)
    looking.start()
    try:
        yield
    finally:
        ended.set()
        looking.join()


def _look(session: "SparkSession", progress: Progress, ended: threading.Event) -> None:
    tracker = session.sparkContext.statusTracker()
    while not ended.wait(LOOK_EVERY):
        stages = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage))]
        if stages:
            progress(
                sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
            )

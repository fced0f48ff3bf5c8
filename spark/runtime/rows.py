"""Rows that go through tasks: in this process where there is little to do, in Spark's workers otherwise, which take long to start.

A job says once what its tasks do; what comes out is the same in either place. Knows no tables.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[pa.RecordBatch]
Task = Callable[[Batches], Batches]
"""What happens to the rows of one partition; it must be one that `pickle` of Spark can carry."""
StartSpark = Callable[[], "SparkSession"]
LITTLE: Final = 100_000
"""So many records are done here before Spark has started."""
RECORD_BYTES: Final = 64
"""What a record takes in a log or a checkpoint, about."""
ROWS_AT_ONCE: Final = 16_384
"""The rows of a batch at most."""
UNIT: Final = "id"
"""The column of the numbers that `Rows.of_units` begins with: Spark's `range` names it so."""


class Rows(Protocol):
    """Rows on their way from task to task; nothing is done before `collect`."""

    def through(self, task: Task, schema: pa.Schema) -> "Rows":
        """Let a task make other rows of these, with the columns of `schema`."""

    def grouped(self, by: Sequence[str], order: Sequence[str]) -> "Rows":
        """Bring all rows that are equal in the columns `by` to one task, sorted by `order`, nulls first."""

    def collect(self) -> list[tuple[Any, ...]]:
        """Do all of it, and return the rows."""


def is_little(records: int) -> bool:
    """Return whether so many records are done in this process before Spark has started."""
    return records <= LITTLE


def of_units(start: StartSpark, units: int, *, is_here: bool) -> Rows:
    """Return the numbers of some units of work, each for a task of its own; `start` is called unless they stay in this process."""
    if is_here:
        return _Here(pa.record_batch({UNIT: [number]}) for number in range(units))
    return _InSpark(start().range(0, units, 1, units))


def numbers_of(batches: Batches) -> Iterator[int]:
    """Yield the numbers of units that a task is given."""
    for batch in batches:
        yield from batch.column(UNIT).to_pylist()


class _Here:
    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    def through(self, task: Task, schema: pa.Schema) -> "_Here":
        return _Here(task(self._batches))

    def grouped(self, by: Sequence[str], order: Sequence[str]) -> "_Here":
        return _Here(in_order(self._batches, order))

    def collect(self) -> list[tuple[Any, ...]]:
        return [
            row
            for batch in self._batches
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        ]


def in_order(batches: Batches, order: Sequence[str]) -> Batches:
    """Yield the rows of all batches sorted by columns, nulls first, as Spark sorts them; all are held in memory."""
    some = list(batches)
    if some:
        rows = pa.Table.from_batches(some)
        keys = dict[str, pa.ChunkedArray]()
        for name in order:
            keys |= {f"has {name}": pc.is_valid(rows.column(name)), name: rows.column(name)}
        found = pc.sort_indices(pa.table(keys), [(name, "ascending") for name in keys])
        yield from rows.take(found).combine_chunks().to_batches(max_chunksize=ROWS_AT_ONCE)


class _InSpark:
    def __init__(self, rows: "DataFrame") -> None:
        self._rows = rows

    def through(self, task: Task, schema: pa.Schema) -> "_InSpark":
        from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - a second, and not needed for little work

        return _InSpark(self._rows.mapInArrow(task, from_arrow_schema(schema)))

    def grouped(self, by: Sequence[str], order: Sequence[str]) -> "_InSpark":
        return _InSpark(self._rows.repartition(*by).sortWithinPartitions(*order))

    def collect(self) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._rows.collect()]

"""Merge rows of one log partition from many files into the order of the log, holding some batches and not the files.

A file that ingest wrote from a sound log is in order already; of any other, sorted parts are kept in a folder for the time of the
merge. Does not know what rows say.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

ORDER: Final = ("log_offset", "run")
"""By the place in the log; of a record that was ingested again, the first ingest comes first."""
_KEYS: Final = [(name, "ascending") for name in ORDER]
Batches = Iterator[pa.RecordBatch]
SORTED_AT_ONCE: Final = 262_144
"""How many rows of a file out of order are sorted at a time."""


class Part(NamedTuple):
    """Rows in the order of their log offsets; `first` is a lower bound of these."""

    first: int
    open: Callable[[], Batches]


def merged(parts: Iterable[Part]) -> Batches:
    """Yield the rows of all parts in ORDER; a part is opened when its turn comes."""
    waiting = sorted(parts, key=lambda part: part.first, reverse=True)
    cursors: list[_Cursor] = []
    while waiting or cursors:
        upto = min((cursor.last for cursor in cursors), default=None)
        if waiting and (upto is None or waiting[-1].first <= upto):
            cursors.append(_Cursor(waiting.pop().open()))
        else:
            assert upto is not None
            yield from _in_order([rows for cursor in cursors for rows in cursor.take(upto)])
        cursors = [cursor for cursor in cursors if cursor.rows is not None]


class _Cursor:
    """A part that is being read; `rows` are those that nobody has taken yet, None at its end."""

    def __init__(self, batches: Batches) -> None:
        self._batches = (batch for batch in batches if batch.num_rows)
        self.rows = next(self._batches, None)

    @property
    def last(self) -> int:
        """The log offset of the last row that is there."""
        assert self.rows is not None
        return int(self.rows.column("log_offset")[-1].as_py())

    def take(self, upto: int) -> Batches:
        """Yield all rows up to a log offset, inclusive."""
        while self.rows is not None:
            count = pc.less_equal(self.rows.column("log_offset"), upto).true_count
            if count:
                yield self.rows.slice(0, count)
            if count < self.rows.num_rows:
                self.rows = self.rows.slice(count)
                return
            self.rows = next(self._batches, None)


def _in_order(some: Sequence[pa.RecordBatch]) -> Batches:
    if len(some) == 1:
        yield some[0]
    else:
        yield from _sorted(some)


def _sorted(some: Sequence[pa.RecordBatch]) -> Batches:
    """Yield the rows sorted by ORDER; equal rows keep the order in which they came."""
    rows = pa.Table.from_batches(some).unify_dictionaries().combine_chunks()
    yield from rows.take(pc.sort_indices(rows, _KEYS)).combine_chunks().to_batches()


def sorted_parts(batches: Iterable[pa.RecordBatch], folder: Path) -> Iterator[Part]:
    """Sort unordered rows, and yield them as sorted parts; each part is kept in a file in `folder`."""
    for some in gathered(batches, SORTED_AT_ONCE):
        path = folder / f"{len(list(folder.iterdir()))}.arrow"
        for rows in _sorted(some):
            with pa.OSFile(path.as_posix(), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
                writer.write_table(pa.table(rows), max_chunksize=SORTED_AT_ONCE // 16)
            yield Part(rows.column("log_offset")[0].as_py(), partial(_kept, path))


def _kept(path: Path) -> Batches:
    with pa.memory_map(path.as_posix()) as file:
        reader = pa.ipc.open_file(file)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the first row of each log offset, given rows in the order of offsets, then of ingests."""
    last = -1
    for batch in batches:
        offsets = batch.column("log_offset")
        again = pc.equal(offsets, _shifted(offsets, last))
        last = offsets[-1].as_py()
        yield batch.filter(pc.invert(again)) if again.true_count else batch


def _shifted(column: pa.Array, first: Any) -> pa.Array:
    """Return a column moved on by one row: each value is that of the row before, the first one is `first`."""
    return pa.concat_arrays([pa.array([first], column.type), column.slice(0, len(column) - 1)])


def gathered(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[list[pa.RecordBatch]]:
    """Yield the batches that have rows as lists, each of so many rows or of one batch more; the last may have fewer."""
    some, count = list[pa.RecordBatch](), 0
    for batch in batches:
        if batch.num_rows:
            some.append(batch)
            count += batch.num_rows
        if count >= rows:
            yield some
            some, count = [], 0
    if some:
        yield some

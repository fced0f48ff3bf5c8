"""The names that rows of `events` are about, each once a batch: of a group also the least and greatest offset in the log."""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa


class GroupRange(NamedTuple):
    """A group, and the first and last log offset of what a batch has of it."""

    group: str
    log_partition: int | None
    first: int
    last: int


def group_ranges(rows: pa.RecordBatch) -> Iterator[GroupRange]:
    """Yield each group of the rows once a log partition."""
    some = _plain(rows, ["group", "log_partition", "log_offset"])
    found = some.group_by(["group", "log_partition"]).aggregate(
        [("log_offset", "min"), ("log_offset", "max")]
    )
    names = ("group", "log_partition", "log_offset_min", "log_offset_max")
    for values in zip(*(found.column(name).to_pylist() for name in names), strict=True):
        if values[0] is not None:
            yield GroupRange(*values)


def committed_partitions(rows: pa.RecordBatch) -> Iterator[tuple[str, int]]:
    """Yield the topics and partitions that the rows' committed offsets are for, each once."""
    found = _plain(rows, ["topic", "partition"]).group_by(["topic", "partition"]).aggregate([])
    for topic, partition in zip(
        found.column("topic").to_pylist(), found.column("partition").to_pylist(), strict=True
    ):
        if topic is not None:
            yield topic, partition


def _plain(rows: pa.RecordBatch, names: list[str]) -> pa.Table:
    return pa.Table.from_batches([rows.select(names)])

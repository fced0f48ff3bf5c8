"""Tables too large to lay side by side: how many rows, and a sum over them, of a lake and of plain Python.

Functions of names and paths alone, so that processes of their own can work them out.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.dataset as ds

from offsets_tool.expiry.rows import expiry_row
from offsets_tool.log.archive.delta import delta_dataset
from tests import plain_rows
from tests.spark.derived.test_expiry import expiry_of_command
from tests.spark.derived.test_lag import plain
from tests.spark.histories import TABLES, cluster_rows

RECORDS = ("log", "events")


class Sum(NamedTuple):
    """A number of rows and the sum of their digests, which do not depend on the order of rows."""

    rows: int = 0
    digest: int = 0

    def plus(self, row: Mapping[str, Any]) -> "Sum":
        cluster_rows = json.dumps(row, sort_keys=True)
        digest = int.from_bytes(blake2b(cluster_rows.encode(), digest_size=8).digest())
        return Sum(self.rows + 1, (self.digest + digest) % (1 << 64))


def _sum(rows: Iterable[Mapping[str, Any]]) -> Sum:
    found = Sum()
    for row in rows:
        found = found.plus(row)
    return found


def of_lake(lake: Path, cluster: str) -> dict[str, Sum]:
    """Return the sums over a lake's tables for a cluster: all tables with a row for each record or offset."""
    tables = (*RECORDS, *TABLES, "lag", "expiry")
    return {table: _sum(_comparable(table, row) for row in _rows(lake / table, cluster)) for table in tables}


def _rows(table: Path, cluster: str) -> Iterator[dict[str, Any]]:
    for batch in delta_dataset(table).to_batches(filter=ds.field("cluster") == cluster, batch_size=1 << 14):
        yield from map(plain_rows.milliseconds, batch.to_pylist())


def _comparable(table: str, row: dict[str, Any]) -> Mapping[str, Any]:
    if table in RECORDS:
        return plain_rows.comparable(row)
    return expiry_row(row)._asdict() if table == "expiry" else {k: v for k, v in row.items() if k != "run"}


def of_plain_python(cluster: str, logs: Path) -> dict[str, Sum]:
    """Return the sums that the tables of a lake must have for these logs, computed without a lake."""
    made = {"log": plain_rows.log, "events": plain_rows.event}
    sums = {table: _sum(map(row, plain_rows.records([logs]))) for table, row in made.items()}
    sums |= dict.fromkeys(TABLES, Sum())
    for table, row in cluster_rows(cluster, logs):
        sums[table] = sums[table].plus(row)
    return sums | {
        "lag": _sum(plain(cluster, logs, [])),
        "expiry": _sum(row._asdict() for row in expiry_of_command(logs)),
    }

"""Lakes for the tests: ingested by the one session of the run, read back without it."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from offsets_tool.log.archive.delta import delta_rows
from offsets_tool.log.discover import find_segments
from spark.ingest.ingest import Ingested, Request, Writer, ingest
from tests import plain_rows
from tests.corpora import CORPORA

SEGMENT = CORPORA / "3.9.2-txn" / "segments" / "__consumer_offsets-4" / f"{0:020d}.log"
TABLES = ("log", "events", "sources")
PASSING = ("run", "ingested_at")
"""What differs between two lakes of the same evidence."""
Row = dict[str, Any]
_BY_SPARK = """
from spark.cli import main
from spark.runtime import rows
rows.LITTLE = -1
main(prog_name="offsets-spark")
"""
COMMAND = (sys.executable, "-m", "spark.cli")
"""The command line; of the little that tests have, it does all in its own process."""
BY_SPARK = (sys.executable, "-c", _BY_SPARK)
"""The same, with all work done by Spark's tasks, however little it is."""


def bring(
    session: SparkSession, lake: Path, *paths: Path, writer: Writer = Writer.ARROW, **options: Any
) -> Ingested:
    request = Request(paths=[str(path) for path in paths], lake=str(lake), writer=writer, **options)
    return ingest(request, lambda: session)


def ingest_here(lake: Path, *paths: Path, **options: Any) -> Ingested:
    """Ingest into a lake without Spark: for tests of what an ingest plans, reads and commits, and of later jobs."""
    request = Request(paths=[str(path) for path in paths], lake=str(lake), **options)
    return ingest(request, no_session)


def no_session() -> SparkSession:
    """Take the place of a function that starts a session, for work that needs none: fail if it is called."""
    raise AssertionError("there is little to do, and no session is needed for it")


def rows(lake: Path, table: str) -> list[Row]:
    """Return the rows of a table that count, sorted by their key."""
    found = delta_rows(lake / table).to_pylist()
    runs = {row["run"] for row in delta_rows(lake / "sources", ["run"]).to_pylist()}
    return in_order((row for row in found if row["run"] in runs), table)


def in_order(found: Iterable[Row], table: str) -> list[Row]:
    """Return rows of a table of an ingest, sorted by its key."""
    source, place = {"sources": ("source", "range_start"), "copies": ("copy", "run")}.get(
        table, ("source", "log_offset")
    )
    return sorted(found, key=lambda row: (row["cluster"], row[source], row["log_partition"] or 0, row[place]))


def content(lake: Path, *tables: str) -> dict[str, list[Row]]:
    """Return all rows of the tables of an ingest, without columns that differ from run to run."""
    return {
        table: [
            {name: value for name, value in row.items() if name not in PASSING} for row in rows(lake, table)
        ]
        for table in tables or TABLES
    }


def plain(path: Path) -> dict[str, list[Row]]:
    """Return the rows that `log` and `events` must have of the segments under a path, each with its source."""
    read = [
        (segment, record)
        for segment in find_segments([path.resolve()])
        for record in plain_rows.records([Path(segment.path)])
    ]
    read.sort(key=lambda pair: (pair[0].source, pair[0].log_partition, pair[1].log_offset))
    return {
        "log": [{"source": s.source} | plain_rows.log(record) for s, record in read],
        "events": [{"source": s.source} | plain_rows.event(record) for s, record in read],
    }


def comparable(lake: Path) -> dict[str, list[Row]]:
    """Return the rows of `log` and `events` of a lake in the form of `plain`."""
    return {
        table: [{"source": row["source"]} | plain_rows.comparable(row) for row in rows(lake, table)]
        for table in ("log", "events")
    }


def write_segment(folder: Path, data: bytes, partition: int = 4) -> Path:
    """Write data as the first segment of a partition's directory in `folder`, and return its path."""
    path = folder / f"__consumer_offsets-{partition}" / f"{0:020d}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def rows_end(data: bytes) -> int:
    """Return the position at which the tenth batch ends."""
    position = 0
    for _ in range(10):
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    return position


def files(lake: Path) -> Iterator[tuple[str, int, int]]:
    """Yield every file of a lake with its size and time, which a run that writes nothing leaves unchanged."""
    for path in sorted(lake.rglob("*")):
        if path.is_file():
            stat = path.stat()
            yield path.relative_to(lake).as_posix(), stat.st_size, stat.st_mtime_ns

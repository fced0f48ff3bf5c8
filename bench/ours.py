"""Read a segment with this toolkit: in this process to Arrow or Parquet, and by its commands as processes."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from bench.generator.batches import HEADER
from bench.tally import Tally, of_events
from offsets_tool.columns.decode import Origin
from offsets_tool.columns.reading import RowReader, RowsRead
from offsets_tool.lake.tables import EVENTS, LOG
from offsets_tool.log.batches.compression import inflate
from offsets_tool.log.batches.walk import Walker
from offsets_tool.log.ledger import Ledger
from offsets_tool.rows import Batch
from spark.lake.parquet import TableWriter

KAFKA_VERSION: Final = "4.3.1"
_ORIGIN: Final = Origin("bench", "segment", 0, 1)
_COMMIT_KINDS: Final = ("OffsetCommit v", "LegacyOffsetCommit v")


class Reading:
    """Reads segments to rows, each with a new reader that knows no key yet; with `keeps`, with one that remembers keys
    from segment to segment.

    `hashes` takes the file's SHA-256 too; otherwise the time is that of reading and decoding, as Kafka's is.
    """

    def __init__(
        self, *, log: bool = False, fast: bool = True, hashes: bool = False, keeps: bool = False
    ) -> None:
        self._new = partial(RowReader, log=log, fast=fast)
        self._kept = self._new() if keeps else None
        self._hashes = hashes

    def rows(self, path: Path) -> Iterator[RowsRead]:
        """Yield the rows of a segment. AssertionError if a byte was not read: generated segments have no damage."""
        reader, ledger = self._kept or self._new(), Ledger(path.as_posix(), has_hashes=self._hashes)
        for item in reader.read(path, _ORIGIN, ledger=ledger):
            assert isinstance(item, RowsRead)
            yield item

    def run(self, path: Path) -> None:
        """Read the segment once, and drop the rows."""
        for _ in self.rows(path):
            pass

    def tally(self, path: Path) -> Tally:
        return of_events(item.events for item in self.rows(path) if item.events is not None)


def write_tables(path: Path, lake: Path) -> None:
    """Write the Parquet files of both tables, as a task of an ingest does."""
    with TableWriter(lake, LOG) as log, TableWriter(lake, EVENTS) as events:
        for item in Reading(log=True).rows(path):
            if item.log is not None and item.events is not None:
                log.write(item.log)
                events.write(item.events)
        log.close()
        events.close()


def write_and_drop(path: Path) -> None:
    """Write both tables' Parquet files into a folder that is deleted afterwards."""
    with tempfile.TemporaryDirectory(dir=path.parent) as lake:
        write_tables(path, Path(lake))


def tally_tables(path: Path) -> Tally:
    """Return the tally of the `events` file; AssertionError where the `log` file has another number of rows."""
    with tempfile.TemporaryDirectory(dir=path.parent) as lake:
        write_tables(path, Path(lake))
        [events], [log] = (list(Path(lake, table.name).glob("*.parquet")) for table in (EVENTS, LOG))
        tally = of_events(pa.Table.to_batches(pq.read_table(events)))
        assert pq.read_metadata(log).num_rows == tally.records
    return tally


def inflate_all(path: Path) -> None:
    """Decompress every batch and do nothing else: the least that any reader has to do."""
    data = memoryview(path.read_bytes())
    for batch in Walker(data, path.as_posix(), verify=False).walk():
        assert isinstance(batch, Batch)
        start = batch.position
        inflate(batch.codec, data[start + HEADER : start + batch.size])


def command(*words: str) -> list[str]:
    """Return the command that runs `offsets-tool` with these words in this interpreter."""
    return [sys.executable, "-m", "offsets_tool.cli", *words]


def dump_text(path: Path) -> list[str]:
    """Return our command that prints what kafka-dump-log prints of a segment."""
    return command("decode", str(path), "--formatter", "dump-log", "--kafka-version", KAFKA_VERSION)


def inspected(path: Path) -> tuple[int, int, int]:
    """Return the numbers of records, commits and groups that `inspect` counts in a segment."""
    said = subprocess.run(command("inspect", str(path), "--format", "jsonl"), capture_output=True, check=True)
    row: dict[str, Any] = json.loads(said.stdout)
    commits = sum(count for kind, count in row["kinds"].items() if kind.startswith(_COMMIT_KINDS))
    return row["records"], commits, row["groups"]

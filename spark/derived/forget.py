"""Take a cluster, or what was ingested of it from one path, out of a lake again: of all tables, as if it had never been there.

What was derived from several sources cannot be taken apart: all that is derived of the cluster goes, for the next jobs to make
anew. Rows of a source that goes become those of one that points to it (same_as). A marker lets nothing but the same command go
on with what was interrupted; `sources`, which says what is to go, is changed last.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.errors import UsageError
from offsets_tool.lake.checkpoints import checkpoint_path
from offsets_tool.lake.scan import FileFacts, file_rows, is_within
from offsets_tool.lake.tables import (
    ALL_TABLES,
    COPIES,
    ENDS,
    EVENTS,
    LOG,
    REPLAYS,
    SOURCES,
    TABLES,
    Table,
)
from offsets_tool.log.storage import real_path
from offsets_tool.wire.text import shown
from spark.derived.derive import finished
from spark.derived.expiry import OF_EXPIRY
from spark.derived.findings import OF_FINDINGS
from spark.derived.lag import OF_LAG
from spark.lake.commit import INGEST, REPLAY, Lake
from spark.lake.folder import FORGETTING, mark, opened_whole
from spark.lake.parquet import NewFile, TableWriter
from spark.lake.replaced import Replacing, is_only, rewritten

CHAINS: Final = (INGEST, REPLAY, OF_LAG, OF_EXPIRY, OF_FINDINGS)
"""The chains of all jobs, in the order in which one rests on the other."""
_Fields = dict[str, Any]
_Keep = Callable[[pa.RecordBatch], Iterator[pa.RecordBatch]]
"""Yields the rows of a batch that stay, changed or not."""
_Range = tuple[str, int | None, int, int]
"""A source, its log partition, and the first byte of a range with the one after it."""


class Forgotten(NamedTuple):
    """How many rows a table has lost; rows that another source has too stay, as rows of that source."""

    table: str
    rows: int


class Stored(NamedTuple):
    """What one ingest has read of a source: the unit in which another source with the same bytes takes over."""

    source: str
    run: int


def forget(lake: str, cluster: str, source: str | None = None) -> list[Forgotten]:
    """Take a cluster out of a lake, or of it what was ingested from `source`, a file or folder; return what each table lost.

    UsageError where there is no lake, or nothing of these in it.
    """
    path = None if source is None else shown(real_path(source))
    asked = json.dumps({"cluster": cluster, "source": path})
    with opened_whole(lake, asked) as open_lake:
        for chain in CHAINS:
            finished(open_lake, chain)
        job, marker = _Forget(open_lake, cluster, path), open_lake.root / FORGETTING
        if not job.gone and not marker.exists():
            raise UsageError(_nothing(job.sources, cluster, source))
        mark(marker, asked)
        done = list(job.run())
        marker.unlink()
        return done


def _nothing(sources: Iterable[_Fields], cluster: str, source: str | None) -> str:
    there = sorted({row["cluster"] for row in sources})
    if cluster not in there:
        return f"the lake has no cluster {cluster!r}, but {', '.join(map(repr, there)) or 'none'}: correct --cluster"
    return (
        f"nothing of cluster {cluster!r} was ingested from {source}: SELECT path FROM sources names what was"
    )


class _Forget:
    """One removal from a lake: which rows go, and which rows other sources take over."""

    def __init__(self, lake: Lake, cluster: str, path: str | None) -> None:
        self._root, self._cluster, self._path = lake.root, cluster, path
        self._lake = lake
        self.sources = lake.rows(SOURCES)
        of_cluster = [row for row in self.sources if row["cluster"] == cluster]
        self.gone = {row["source"] for row in of_cluster if path is None or self._is_below(row["path"])}
        """The names of the sources that go."""
        self._heirs = Heirs(of_cluster, self.gone)

    def _is_below(self, path: str) -> bool:
        return path == self._path or path.startswith(f"{self._path}/")

    def run(self) -> Iterator[Forgotten]:
        """Change all tables of the lake, and yield what each has lost."""
        checkpoints = self._checkpoints()
        for table in reversed(ALL_TABLES):
            if table not in TABLES and self._lake.has(table):
                is_by_path = table is ENDS and self._path is not None
                yield self._rewrite(table, self._other_ends if is_by_path else None)
        for table in (EVENTS, LOG):
            yield self._rewrite(table, None if self._path is None else self._records)
        yield self._change(COPIES, self._copy)
        yield self._change(SOURCES, self._source)
        for name in checkpoints:
            checkpoint_path(self._root, name).unlink(missing_ok=True)

    def _checkpoints(self) -> list[str]:
        """Return the file names of the cluster's checkpoints."""
        rows = self._lake.rows(REPLAYS) if self._lake.has(REPLAYS) else []
        return [row["checkpoint"] for row in rows if row["cluster"] == self._cluster and row["checkpoint"]]

    def _rewrite(self, table: Table, keep: _Keep | None) -> Forgotten:
        """Rewrite a table's files that have rows of the cluster with the rows that `keep` returns; None removes all of them."""
        lost = 0

        def change(files: list[FileFacts]) -> Replacing:
            nonlocal lost
            found, gone = Replacing([], []), 0
            for file in files:
                if is_within(file, "cluster", self._cluster):
                    is_all = keep is None and is_only(file, "cluster", self._cluster)
                    kept = [] if is_all else self._kept(table, file, keep or self._others)
                    fewer = file["num_records"] - sum(each.rows for each in kept)
                    if fewer or keep is not None:
                        gone += fewer
                        found.gone.append(file["path"])
                        found.kept.extend(kept)
            # A commit of which only the answer was lost is tried again, and finds nothing then.
            lost = max(lost, gone)
            return found

        self._lake.rewrite(table, change)
        return Forgotten(table.name, lost)

    def _kept(self, table: Table, file: FileFacts, keep: _Keep) -> list[NewFile]:
        """Write the rows of a file that `keep` returns to a new file; an empty list where none stays."""
        with TableWriter(self._root, table) as writer:
            for rows in file_rows(self._root / table.name / file["path"], table, table.schema.names):
                for some in keep(rows):
                    writer.write(some)
            return writer.close()

    def _others(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield rows.filter(pc.not_equal(rows.column("cluster"), self._cluster))

    def _other_ends(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the samples of ends that do not come from the forgotten source."""
        names = rows.column("source").to_pylist()
        is_below = pa.array([self._is_below(name) for name in names], pa.bool_())
        goes = pc.and_(pc.equal(rows.column("cluster"), self._cluster), is_below)
        yield rows.filter(pc.invert(goes))

    def _records(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the records that stay, then those that another source takes over, as its own."""
        names = rows.column("source").cast(pa.string())
        is_gone = pc.is_in(names, pa.array(sorted(self.gone), pa.string()))
        goes = pc.and_(pc.equal(rows.column("cluster"), self._cluster), is_gone)
        yield rows.filter(pc.invert(goes))
        yield from self._heirs.inherited(rows.filter(goes))

    def _change(self, table: Table, change: Callable[[_Fields], _Fields | None]) -> Forgotten:
        """Change a small table row by row; None takes a row away."""
        before = self._lake.rows(table)
        rows = [row if row["cluster"] != self._cluster else change(row) for row in before]
        kept = [row for row in rows if row is not None]
        self._lake.rewrite(table, lambda files: rewritten(self._root, table, files, kept))
        return Forgotten(table.name, len(before) - len(kept))

    def _copy(self, row: _Fields) -> _Fields | None:
        left = [name for name in row["sources"] if name not in self.gone]
        return {**row, "sources": left} if left else None

    def _source(self, row: _Fields) -> _Fields | None:
        return None if row["source"] in self.gone else self._heirs.pointed(row)


class Heirs:
    """Which staying source takes over what one ingest has read of a removed source: the first one with the same bytes."""

    def __init__(self, sources: Iterable[_Fields], gone: set[str]) -> None:
        rows = sorted(sources, key=lambda row: (row["run"], row["source"]))
        self._stored = {
            _range(row, row["source"]): Stored(row["source"], row["run"])
            for row in rows
            if row["same_as"] is None and row["source"] in gone
        }
        self._heirs: dict[Stored, Stored] = {}
        for row in rows:
            part = self._part(row)
            if part is not None and row["source"] not in gone:
                self._heirs.setdefault(part, Stored(row["source"], row["run"]))

    def _part(self, row: _Fields) -> Stored | None:
        """Return the removed part that a row of `sources` points to; None if it points to none."""
        return None if row["same_as"] is None else self._stored.get(_range(row, row["same_as"]))

    def pointed(self, row: _Fields) -> _Fields:
        """Return a staying row of `sources`, pointing to the source that has its records from now on."""
        part = self._part(row)
        if part is None:
            return row
        heir = self._heirs[part].source
        return {**row, "same_as": None if heir == row["source"] else heir}

    def inherited(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the removed records that another source has too, with that source as theirs."""
        for part, heir in self._heirs.items():
            is_part = pc.and_(
                pc.equal(rows.column("source"), part.source), pc.equal(rows.column("run"), part.run)
            )
            yield _of_source(rows.filter(is_part), heir)


def _range(row: _Fields, source: str) -> _Range:
    return source, row["log_partition"], row["range_start"], row["range_end"]


def _of_source(rows: pa.RecordBatch, heir: Stored) -> pa.RecordBatch:
    """Return the records with the source and the run of their heir."""
    number = rows.num_rows
    values = {
        "source": pa.array([heir.source] * number, pa.string()),
        "run": pa.array([heir.run] * number, pa.int64()),
    }
    columns = [
        values.get(field.name, column) for field, column in zip(rows.schema, rows.columns, strict=True)
    ]
    fields = [field.with_type(column.type) for field, column in zip(rows.schema, columns, strict=True)]
    return pa.record_batch(columns, schema=pa.schema(fields))

"""Read a lake's rows for a replay from the files that ingests wrote: each task reads its own, and no row passes through Spark.

Files that Kafka has set aside (.deleted, .cleaned, -delete ...) are no part of a log, as on the command line, nor are misplaced
records. `events` has all of a commit that was decoded; only of other records are raw keys and values read from `log`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.lake.merge import Part, merged, sorted_parts
from offsets_tool.lake.plan import Work
from offsets_tool.lake.scan import (
    WHOLE,
    FileFacts,
    Groups,
    LakeTables,
    RowsWith,
    encoded_schema,
    file_rows,
    group_rows,
    is_within,
    values_within,
)
from offsets_tool.lake.tables import EVENTS, LOG, Table
from offsets_tool.log.names import SegmentKind, is_set_aside
from offsets_tool.records.kinds import COMMITS
from offsets_tool.relations.row_events import COLUMNS, PLACE, RAW

ORIGIN: Final = ("cluster", "source", "run", "misplaced")
"""The columns that tell whether a row counts."""
_TELLING: Final = ("record_type", "is_control", "problem")
_PLACE: Final = ("cluster", "log_partition", "run", "log_offset")
_NAMES: Final = ("group", "topic", "partition")
_KEPT: Final = ("run", "cluster", "log_partition", "log_offset", "problem", "record_type", "num_records")
_COMMIT_TYPES: Final = pa.array(sorted(COMMITS), pa.int16())
_TYPES: Final = {field.name: field.type for table in (EVENTS, LOG) for field in encoded_schema(table.schema)}
_SCHEMA: Final = pa.schema([("run", pa.int64()), *((name, _TYPES[name]) for name in COLUMNS)])
RECORD_SCHEMA: Final = pa.schema(
    [
        *((name, _TYPES[name]) for name in ("source", "run", "partition_leader_epoch")),
        *((name, _TYPES[name]) for name in (*PLACE, *RAW)),
    ]
)
"""The columns of a record as copies of a partition have it."""
ARCHIVE: Final = "archive"
"""The kind of a source that is no segment."""
SourceFields = Mapping[str, Any]
"""A row of `sources`, by column."""
Keep = Callable[[pa.RecordBatch], pa.Array]
"""Tells of each row of a file whether it is wanted."""
Counting = frozenset[tuple[str, str, int]]
"""Cluster, source and run of what is part of a log: sources that Kafka has set aside are not there."""


def counts(kind: str, fate: str) -> bool:
    """Return whether a row of `sources` is about a file that is part of a log: not one that Kafka has set aside."""
    return kind == ARCHIVE or not is_set_aside(SegmentKind(kind), fate)


class TableFile(NamedTuple):
    """A file of `log` or `events`, with what Delta knows of it that tells whether it has rows that are wanted."""

    path: Path
    facts: FileFacts

    @classmethod
    def of(cls, root: Path, table: Table, facts: FileFacts) -> "TableFile":
        """Return a file of a table, with the few facts that are asked for: tasks get those of all files."""
        kept = {name: value for name, value in facts.items() if name.rpartition(".")[2] in _KEPT}
        return cls(root / table.name / facts["path"], kept)

    def may_have(self, work: Work) -> bool:
        """Return whether the file may have rows of a log partition that are in no checkpoint."""
        if not self.may_be_after({work.cluster: work.after_run}, [work.cluster]):
            return False
        if work.log_partition is None:
            return self.facts.get("null_count.log_partition") != 0
        return is_within(self.facts, "log_partition", work.log_partition)

    def may_be_after(self, runs: Mapping[str, int], clusters: Sequence[str]) -> bool:
        """Return whether the file may have rows that ingests after the run of their cluster brought; `clusters` are sorted."""
        last = self.facts.get("max.run")
        its = values_within(self.facts, "cluster", clusters)
        return any(last is None or last > runs[cluster] for cluster in its)

    def may_be_at(self, offsets: Collection[int]) -> bool:
        """Return whether the file may have rows at one of some offsets."""
        return any(is_within(self.facts, "log_offset", offset) for offset in offsets)

    @property
    def records(self) -> int:
        """How many rows the file has."""
        return int(self.facts["num_records"])

    @property
    def may_be_odd(self) -> bool:
        """Whether the file may have records with a problem."""
        return self.facts.get("null_count.problem") != self.records


class LakeRows(NamedTuple):
    """The files of `events` and `log` as ingests up to the run `upto` have written them, and which of their rows count."""

    events: Sequence[TableFile]
    log: Sequence[TableFile]
    counting: Counting
    upto: int

    @classmethod
    def now(cls, lake: LakeTables, sources: Sequence[Mapping[str, Any]]) -> "LakeRows":
        """Return the files and the counting sources of a lake as it is now, given its rows of `sources`."""
        events, log = (
            [TableFile.of(lake.root, table, facts) for facts in lake.files(table)] for table in (EVENTS, LOG)
        )
        counting = frozenset(
            (row["cluster"], row["source"], row["run"]) for row in sources if counts(row["kind"], row["fate"])
        )
        return cls(events, log, counting, max((row["run"] for row in sources), default=0))

    def since(self, runs: Mapping[str, int]) -> list[TableFile]:
        """Return the files of `events` that may have rows of ingests after the run of their cluster."""
        clusters = sorted(runs)
        return [file for file in self.events if file.may_be_after(runs, clusters)]

    def of(self, work: Work) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a log partition for relations.replays, in the order of offsets, then of ingests."""
        events = [file for file in self.events if file.may_have(work)]
        odd = _Odd.of(_Reading(self, work, EVENTS, _is_odd), events)
        with TemporaryDirectory(prefix="offsets-tool-") as folder:
            commits = _Reading(self, work, EVENTS, _is_good).parts(events, Path(folder))
            others = _Reading(self, work, LOG, odd.are_others).parts(self.log, Path(folder))
            yield from merged([*commits, *others])

    def raw(self, work: Work, types: Iterable[int]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a log partition whose keys are of these record types, in the order of offsets, then of ingests."""
        with TemporaryDirectory(prefix="offsets-tool-") as folder:
            wanted = _Reading(self, work, LOG, partial(_are_data_of, types=sorted(types)))
            yield from merged(wanted.parts(self.log, Path(folder)))

    def records(self, work: Work) -> Iterator[pa.RecordBatch]:
        """Yield all records of a log partition, of each copy, with the columns RECORD_SCHEMA, by offset, then by ingest."""
        with TemporaryDirectory(prefix="offsets-tool-") as folder:
            all_ = _Reading(self, work, LOG, _are_all, RECORD_SCHEMA)
            yield from merged(all_.parts(self.log, Path(folder)))

    def named(self, work: Work) -> Iterator[pa.RecordBatch]:
        """Yield the groups and topics that records of a log partition name, with their places, in no order."""
        reading = _Reading(self, work, EVENTS, _are_all)
        for file in self.events:
            if file.may_have(work):
                yield from reading.wanted(file, _NAMES)

    def whole(self, work: Work, offsets: Collection[int] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield all records of a log partition as `records` does, with all columns; only those at some offsets, if given."""
        at = None if offsets is None else pa.array(sorted(offsets), pa.int64())
        keep = _are_all if at is None else partial(_are_at, offsets=at)
        files = [file for file in self.log if offsets is None or file.may_be_at(offsets)]
        with TemporaryDirectory(prefix="offsets-tool-") as folder:
            reading = _Reading(self, work, LOG, keep, encoded_schema(LOG.schema))
            yield from merged(reading.parts(files, Path(folder)))

    def counted(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that count, given those with the columns ORIGIN."""
        known = pc.and_(_are_of(rows, self.counting), pc.less_equal(rows.column("run"), self.upto))
        return _only(rows, pc.and_(known, pc.is_null(rows.column("misplaced"))))


class _Reading(NamedTuple):
    """What a task reads of the files of a table: the rows of one log partition that `keep` wants."""

    rows: LakeRows
    work: Work
    table: Table
    keep: Keep
    schema: pa.Schema = _SCHEMA

    @property
    def _groups(self) -> Groups:
        """The row groups of a file that may have rows of the log partition."""
        number = self.work.log_partition
        return WHOLE if number is None else RowsWith("log_partition", number)

    def parts(self, files: Iterable[TableFile], folder: Path) -> Iterator[Part]:
        """Yield the rows in sorted parts; rows of unsorted files are sorted into files in `folder`."""
        for file in files:
            if not file.may_have(self.work):
                continue
            groups, first, is_sorted = self._look_at(file)
            if groups and is_sorted:
                yield Part(first, partial(self._uniform, file, groups))
            elif groups:
                yield from sorted_parts(self._uniform(file, groups), folder)

    def _look_at(self, file: TableFile) -> tuple[list[int], int, bool]:
        """Return the row groups with rows of the log partition, their lowest offset, and whether offsets grow from row to row."""
        groups, lowest, last, is_sorted = dict[int, None](), list[int](), -1, True
        for group, rows in group_rows(file.path, self.table, _PLACE, self._groups):
            offsets = rows.column("log_offset").filter(_is_of(rows, self.work))
            if not len(offsets):
                continue
            groups[group] = None
            lowest.append(pc.min(offsets).as_py())
            grows = pc.less(offsets.slice(0, len(offsets) - 1), offsets.slice(1))
            is_sorted &= lowest[-1] > last and grows.false_count == 0
            last = offsets[-1].as_py()
        return list(groups), min(lowest, default=0), is_sorted

    def _uniform(self, file: TableFile, groups: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file in its own order; a column that the table lacks is null."""
        return (_uniform(rows, self.schema) for rows in self.wanted(file, self.schema.names, groups))

    def wanted(
        self, file: TableFile, columns: Sequence[str] = (), groups: Groups | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the wanted rows of a file, or of some row groups, with `columns` and the columns that decide what is wanted."""
        asked = dict.fromkeys((*ORIGIN, *_PLACE, *_TELLING, *columns))
        there = [name for name in asked if name in self.table.schema.names]
        for rows in file_rows(file.path, self.table, there, self._groups if groups is None else groups):
            counted = self.rows.counted(_only(rows, _is_of(rows, self.work)))
            yield _only(counted, self.keep(counted))


class _Odd(NamedTuple):
    """Commits with a problem: as other records, they are replayed from their raw keys and values."""

    offsets: pa.Array
    keys: frozenset[tuple[str, int, int]]
    """Source, run and log offset of each."""

    @classmethod
    def of(cls, reading: _Reading, files: Iterable[TableFile]) -> "_Odd":
        """Return the commits with a problem, found in the files of `events` that may have records with a problem."""
        found = set[tuple[str, int, int]]()
        for rows in (rows for file in files if file.may_be_odd for rows in reading.wanted(file)):
            found.update(_record_keys(rows))
        return cls(pa.array({log_offset for _, _, log_offset in found}, pa.int64()), frozenset(found))

    def are_others(self, rows: pa.RecordBatch) -> pa.Array:
        """Return for each row of `log` whether it must be replayed from its raw bytes: no commit, or one with a problem."""
        no_commit = pc.invert(_are_data_of(rows, sorted(COMMITS)))
        return pc.or_(no_commit, self._are_odd(rows)) if self.keys else no_commit

    def _are_odd(self, rows: pa.RecordBatch) -> pa.Array:
        may_be = pc.is_in(rows.column("log_offset"), self.offsets)
        found = pa.array([key in self.keys for key in _record_keys(rows.filter(may_be))], pa.bool_())
        return pc.replace_with_mask(may_be, may_be, found)


def _are_of(rows: pa.RecordBatch, counting: Counting) -> pa.Array:
    """Return for each row whether it comes from a source that counts."""
    clusters, sources = rows.column("cluster"), rows.column("source")
    names = [
        (cluster, source)
        for cluster in clusters.dictionary.to_pylist()
        for source in sources.dictionary.to_pylist()
    ]
    number = pc.add(pc.multiply(clusters.indices, len(sources.dictionary)), sources.indices)
    found = pa.array([False] * rows.num_rows, pa.bool_())
    for run in pc.unique(rows.column("run")).to_pylist():
        of_run = pa.array([(*name, run) in counting for name in names], pa.bool_())
        found = pc.if_else(pc.equal(rows.column("run"), run), of_run.take(number), found)
    return found


def _is_of(rows: pa.RecordBatch, work: Work) -> pa.Array:
    """Return for each row whether it is of a log partition and in no checkpoint."""
    partition = rows.column("log_partition")
    is_here = (
        pc.is_null(partition)
        if work.log_partition is None
        else pc.fill_null(pc.equal(partition, work.log_partition), False)
    )
    is_new = pc.greater(rows.column("run"), work.after_run)
    return pc.and_(pc.and_(is_here, is_new), pc.equal(rows.column("cluster"), work.cluster))


def _is_good(rows: pa.RecordBatch) -> pa.Array:
    return pc.and_(_is_commit(rows), pc.is_null(rows.column("problem")))


def _is_odd(rows: pa.RecordBatch) -> pa.Array:
    return pc.and_(_is_commit(rows), pc.is_valid(rows.column("problem")))


def _is_commit(rows: pa.RecordBatch) -> pa.Array:
    """Return for each row of `events` whether it is a commit or its tombstone."""
    return pc.and_(pc.is_in(rows.column("record_type"), _COMMIT_TYPES), _is_data(rows))


def _are_at(rows: pa.RecordBatch, offsets: pa.Array) -> pa.Array:
    return pc.is_in(rows.column("log_offset"), offsets)


def _are_all(rows: pa.RecordBatch) -> pa.Array:
    return pc.is_valid(rows.column("run"))


def _is_data(rows: pa.RecordBatch) -> pa.Array:
    return pc.invert(rows.column("is_control"))


def _are_data_of(rows: pa.RecordBatch, types: Sequence[int]) -> pa.Array:
    """Return for each row of `log` whether it is data with a key of one of these types."""
    return pc.and_(_is_data(rows), _begins(rows, types))


def _begins(rows: pa.RecordBatch, types: Iterable[int]) -> pa.Array:
    """Return for each row of `log` whether its key begins as those of these record types do."""
    keys, key = pa.array([type_id.to_bytes(2) for type_id in types], pa.binary()), rows.column("key")
    is_one = pc.is_in(pc.binary_slice(key.dictionary, 0, 2), keys)
    return pc.fill_null(is_one.take(key.indices), False)


def _record_keys(rows: pa.RecordBatch) -> Iterator[tuple[str, int, int]]:
    columns = (rows.column(name).to_pylist() for name in ("source", "run", "log_offset"))
    return zip(*columns, strict=True)


def _only(rows: pa.RecordBatch, wanted: pa.Array) -> pa.RecordBatch:
    return rows if wanted.true_count == rows.num_rows else rows.filter(wanted)


def _uniform(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    has = set(rows.schema.names)
    columns = [
        rows.column(field.name) if field.name in has else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.record_batch(columns, schema=schema)

"""Read commits and samples of end offsets from the files of `offset_history` and `ends`, as lag.batches takes them.

Tasks read files themselves. Where they are not too many, each task reads its partitions of topics from all files, and nothing is
shuffled; of more, each reads some files, and what these have of some partitions travels as one value, so that Spark moves few rows;
of more than half a billion, Spark sorts the rows themselves.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.sorting import places_in_order
from offsets_tool.lag.batches import COLUMNS, ORDER, LagAsked, rows_on_grid
from offsets_tool.lag.samples import EndMethod
from offsets_tool.lake.merge import Batches, gathered
from offsets_tool.lake.scan import (
    LakeTables,
    RowsPiece,
    encoded_schema,
    file_rows,
    pieces_of,
    scan,
    values_within,
)
from offsets_tool.lake.tables import ENDS, OFFSET_HISTORY, Table
from offsets_tool.wire.arrow import arrow_schema, pack, record_batch, unpack
from offsets_tool.wire.schema import Bytes, Int32, String
from spark.lake.replaced import Replacement
from spark.runtime.rows import (
    Progress,
    Rows,
    StartSpark,
    Task,
    in_order,
    is_little,
    numbers_of,
    of_units,
    with_buffers,
)

PLACE: Final = ("cluster", "topic", "partition")
READ_BY_ALL: Final = 2_000_000
"""So many rows are read by each task from all files, and sorted in memory even if all of them are of one place."""
AT_ONCE: Final = 600_000
"""The rows, about, that a task keeps and sorts at a time."""
PACKED_AT_ONCE: Final = 1 << 18
"""The rows of a bucket that are packed, about, where partitions of topics are of like size: one partition is in one bucket."""
_BUCKET: Final = ("cluster", "bucket")
PACKED: Final = 1 << 29
"""Up to so many rows are packed; of more, a bucket would get a handful of each file, and Spark sorts rows as they are."""
_TOGETHER: Final = 1 << 16
"""The rows of a file, about, that are packed together."""
_READING: Final = ("cluster", "source", "topic", "partition")
_CLOSING: Final = ("method", "log_start_offset")
_TYPES: Final = {field.name: field.type for table in (ENDS, OFFSET_HISTORY) for field in table.schema}
_SCHEMA: Final = pa.schema([(name, _TYPES[name]) for name in COLUMNS])
_ENCODED: Final = encoded_schema(_SCHEMA)


class _Packed(NamedTuple):
    """Rows of some partitions of a cluster's topics, those of one bucket: a batch of the columns of _SCHEMA, packed."""

    cluster: String
    bucket: Int32
    rows: Bytes


class LagPiece(NamedTuple):
    """A piece of a file of `offset_history` or `ends`, with its table."""

    table: Table
    path: Path
    piece: RowsPiece


class LagInput(NamedTuple):
    """The files that may have wanted rows, and which rows are wanted."""

    pieces: Sequence[LagPiece]
    wanted: Sequence[Replacement]
    readings: "Readings"
    records: int
    buckets: Mapping[str, int]
    """By cluster, how many buckets its rows make if they are packed."""

    @classmethod
    def of(cls, lake: LakeTables, wanted: Mapping[str, Replacement]) -> "LagInput":
        """Return the files of the lake that may have `wanted` rows, which are given by cluster."""
        pieces, records, clusters = [], 0, sorted(wanted)
        by_cluster = Counter[str]()
        for table in (OFFSET_HISTORY, ENDS):
            for facts in lake.files(table):
                if its := values_within(facts, "cluster", clusters):
                    by_cluster.update(dict.fromkeys(its, facts["num_records"]))
                    path = lake.root / table.name / facts["path"]
                    pieces += [LagPiece(table, path, piece) for piece in pieces_of(facts)]
                    records += facts["num_records"]
        buckets = {cluster: max(1, -(-rows // PACKED_AT_ONCE)) for cluster, rows in by_cluster.items()}
        return cls(pieces, list(wanted.values()), Readings.of(lake, wanted), records, buckets)

    def through(
        self, start: StartSpark, task: Task, schema: pa.Schema, asked: LagAsked, progress: Progress
    ) -> Rows:
        """Return the rows that `task` makes of these; it gets all rows of a topic's partition together, in ORDER.

        Spark runs the tasks, unless the rows are few, and those that a grid of `asked` makes of them.
        """
        if self.records > READ_BY_ALL:
            units = of_units(start, len(self.pieces), is_here=False, progress=progress)
            if self.records > PACKED:
                return units.through(self._of_files, _SCHEMA).grouped(PLACE, ORDER).through(task, schema)
            packed = units.through(self._packed, arrow_schema(_Packed))
            return packed.grouped(_BUCKET, _BUCKET).through(lambda rows: task(_unpacked(rows)), schema)
        some = (plain(rows) for piece in self.pieces for rows in self._read(piece))
        is_here = is_little(self.records) and is_little(rows_on_grid(asked, some))
        # Of an odd number of tasks, one runs alone at the end.
        buckets = 1 if is_here else 2 * max(1, -(-self.records // (2 * AT_ONCE)))
        units = of_units(start, buckets, is_here=is_here, progress=progress)
        return units.through(lambda numbers: task(self._of_buckets(buckets, numbers)), schema)

    def _of_files(self, numbers: Batches) -> Batches:
        return (plain(rows) for number in numbers_of(numbers) for rows in self._read(self.pieces[number]))

    def _packed(self, numbers: Batches) -> Batches:
        """Yield the rows of some files, those of a bucket together."""
        for number in numbers_of(numbers):
            yield from map(self._by_bucket, gathered(self._read(self.pieces[number]), _TOGETHER))

    def _by_bucket(self, batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        (rows,) = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks().to_batches()
        clusters = rows.column("cluster")
        # A dictionary may have names of other clusters, whose rows are not wanted.
        each = pa.array([self.buckets.get(name, 1) for name in clusters.dictionary.to_pylist()], pa.int64())
        numbers = _buckets_of(rows, each.take(clusters.indices))
        homes = pa.table([clusters.cast(pa.string()), numbers], names=_BUCKET)
        ordered, begin = plain(rows.take(pa.array(places_in_order(homes, _BUCKET)))), 0
        counts = homes.group_by(list(_BUCKET)).aggregate([([], "count_all")])
        packed = list[_Packed]()
        for place in places_in_order(counts, _BUCKET).tolist():
            cluster, bucket, count = (counts.column(name)[place].as_py() for name in (*_BUCKET, "count_all"))
            packed.append(_Packed(cluster, bucket, pack(ordered.slice(begin, count))))
            begin += count
        return record_batch(_Packed, packed)

    def _of_buckets(self, buckets: int, numbers: Batches) -> Batches:
        for number in numbers_of(numbers):
            some = (rows for piece in self.pieces for rows in self._read(piece))
            bucket = (
                some
                if buckets == 1
                else (rows.filter(pc.equal(_buckets_of(rows, buckets), number)) for rows in some)
            )
            yield from map(plain, in_order(bucket, ORDER))

    def _read(self, piece: LagPiece) -> Batches:
        """Yield the wanted rows of a piece; a column that its table lacks is null."""
        there = [name for name in (*_SCHEMA.names, "run") if name in piece.table.schema.names]
        for rows in file_rows(piece.path, piece.table, there, piece.piece):
            wanted = reduce(pc.or_, (each.are(rows, piece.table) for each in self.wanted))
            found = _uniform(
                self.readings.closed(rows.filter(wanted)) if piece.table is ENDS else rows.filter(wanted)
            )
            if found.num_rows:
                yield found


class Readings(NamedTuple):
    """When each directory of a partition was last read.

    An end is valid up to a time until which the log may have grown; so only the last reading of a directory says its end.
    """

    keys: pa.Array
    runs: pa.Array

    @classmethod
    def of(cls, lake: LakeTables, clusters: Collection[str]) -> "Readings":
        """Read from the table `ends` which run last read each directory of a partition, in these clusters."""
        found = pa.schema([("key", pa.string()), ("run", pa.int64())]).empty_table()
        for rows in scan(lake, ENDS, (*_READING, *_CLOSING, "run"), clusters):
            some = rows.filter(_is_closing(rows))
            readings = pa.table({"key": _key(some), "run": some.column("run")})
            found = pa.concat_tables([found, readings]).group_by("key").aggregate([("run", "max")])
            found = found.select(["key", "run_max"]).rename_columns(["key", "run"])
        return cls(*(column.combine_chunks() for column in found.columns))

    def closed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of `ends` without those of any but the last reading of their directory."""
        last = self.runs.take(pc.index_in(_key(rows), self.keys))
        is_old = pc.and_(_is_closing(rows), pc.fill_null(pc.less(rows.column("run"), last), False))
        for name in ("end_offset", "last_stable_offset"):
            rows = rows.set_column(
                rows.schema.get_field_index(name),
                pa.field(name, pa.int64()),
                pc.if_else(is_old, None, rows.column(name)),
            )
        return rows


def _is_closing(rows: pa.RecordBatch) -> pa.Array:
    is_index = pc.equal(rows.column("method"), EndMethod.INDEX.value)
    return pc.and_(pc.fill_null(is_index, False), pc.is_valid(rows.column("log_start_offset")))


def _key(rows: pa.RecordBatch) -> pa.Array:
    """Return for each row a text that names its directory; its parts are joined by line feeds, which no name in a lake has."""
    return pc.binary_join_element_wise(*(rows.column(name).cast(pa.string()) for name in _READING), "\n")


def _buckets_of(rows: pa.RecordBatch, buckets: int | pa.Array) -> pa.Array:
    """Return for each row the bucket of its partition of a topic, given how many there are, for all rows or for each."""
    topics = rows.column("topic")
    numbers = pa.array([crc32(topic.encode()) for topic in topics.dictionary.to_pylist()], pa.int64())
    each = pc.add(numbers.take(topics.indices), rows.column("partition"))
    return pc.subtract(each, pc.multiply(pc.divide(each, buckets), buckets))


def _unpacked(packed: Batches) -> Batches:
    """Yield the rows of one bucket after the other, each in ORDER, given those of a bucket together: these are in memory."""
    for _, bucket in groupby(with_buffers(packed), itemgetter(0, 1)):
        rows = (unpack(each, _SCHEMA).cast(_ENCODED) for *_, each in bucket)
        yield from map(plain, in_order(rows, ORDER))


def _uniform(rows: pa.RecordBatch) -> pa.RecordBatch:
    has = set(rows.schema.names)
    columns = [
        rows.column(field.name) if field.name in has else pa.nulls(rows.num_rows, field.type)
        for field in _ENCODED
    ]
    return pa.record_batch(columns, names=_ENCODED.names).cast(_ENCODED)


def plain(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows without dictionaries."""
    return rows.cast(_SCHEMA)

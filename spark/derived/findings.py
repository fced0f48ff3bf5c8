"""Compute the tables `findings` and `rebalances` from histories, transactions and expiry, as the commands of these names say it.

Rows are read twice: first for what holds for all groups (LogContext), offsets by column; then for the rows of each group. What
concerns log partitions as a whole is found from `sources` and `replays`. A cluster is computed again when it was replayed, or its
expiry was. Some clusters are committed together, and one that fails stops no other.

Tasks read files themselves. What some batches have of a group travels as one pickle, so that little is shuffled; many committed
offsets travel, and stay, in columns. A task holds the rows of one group at a time, or, where there are few, those of many. What is
a finding is declared in offsets_tool.findings.
"""

import pickle
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from offsets_tool import __version__
from offsets_tool.columns.columns_of_rows import values_of
from offsets_tool.columns.offset_rows import (
    COMMITS,
    OffsetTable,
    PackedRows,
    commits_by_group,
    packed_rows,
    unpacked_rows,
)
from offsets_tool.errors import OffsetsToolError, SetupError, UsageError
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.findings.context import ContextParts, LogContext
from offsets_tool.findings.finders import find_all, find_in_log
from offsets_tool.findings.group_rows import (
    GroupRow,
    GroupRows,
    LogStretch,
    PartitionRows,
    RecordSums,
)
from offsets_tool.findings.partition_facts import FileSums, PartitionFacts, UnreadableBytes, of_files
from offsets_tool.findings.rows import Finding
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.lake.history_rows import KINDS, TABLES, HistoryFile, history_files, is_counted, retention_of
from offsets_tool.lake.journal import app_of
from offsets_tool.lake.merge import Batches, gathered
from offsets_tool.lake.plan import LakeRow, LogPartition, latest
from offsets_tool.lake.rows import SourceFields, counts
from offsets_tool.lake.scan import RowsPiece, encoded_schema, file_rows, is_within, pieces_of
from offsets_tool.lake.tables import (
    DERIVATIONS,
    EXPIRY,
    FINDINGS,
    OFFSET_HISTORY,
    REBALANCES,
    REPLAYS,
    SOURCES,
    Maker,
    Table,
)
from offsets_tool.lake.whole import unknown_cluster
from offsets_tool.log_clock import latest_of
from offsets_tool.rebalances.row_builder import rebalance_rows
from offsets_tool.rebalances.rows import RebalanceRow
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import UnreadableKind
from offsets_tool.wire.arrow import arrow_schema, record_batch, shown_batch
from offsets_tool.wire.schema import Bytes, Int32, String
from offsets_tool.wire.text import shown
from spark.derived.derive import (
    BasisFields,
    Derived,
    FilesMade,
    Made,
    WantedRows,
    derive,
    known_derivations,
    last_runs,
    made_of,
    outdated,
    replayed,
    write_derived,
    write_together,
)
from spark.derived.expiry import facts_of_logs
from spark.lake.commit import ArrowLake, Chain, Lake
from spark.lake.failures import in_one_sentence
from spark.lake.parquet import NewFile
from spark.runtime.rows import (
    Progress,
    Rows,
    StartSpark,
    Task,
    is_little,
    numbers_of,
    of_units,
    untold,
    with_buffers,
)

_GROUP: Final = ("log_partition", "group")
_PACKED: Final = -1
"""In the place of a number of a kind: committed offsets as `packed_rows` packs them."""
READ_BY_ALL: Final = 2_000_000
"""Rows that weigh so much are read by each task from all files, which keeps its groups of them in columns."""
AT_ONCE: Final = 1_000_000
"""The weight of the rows, about, that a task holds at once."""
_OF_OBJECT: Final = 8
"""What a row that becomes an object weighs; a committed offset in columns weighs 1."""
_LEAST_TASKS: Final = 2
_OFFSETS: Final = pa.schema(
    [encoded_schema(OFFSET_HISTORY.schema).field(name) for name in OffsetHistoryRow._fields]
)
_TOGETHER: Final = 1 << 18
"""The rows of a file, about, that are packed together: what is done for each group is done less often."""
_PORTION: Final = 1 << 20
"""The bytes of packed rows of several small groups that are unpacked together: what takes long is done for each portion."""
_OF_FEW_COLUMNS: Final = 1 << 21
"""The rows that are taken together of few columns, which take little memory."""
GroupsTask = Callable[[Iterator[GroupRows]], Batches]
"""From groups, each with all of its rows, to other rows."""


class _Packed(NamedTuple):
    """Rows of one kind that a batch has of a group of a log partition (a pickle: the number of the kind, and the rows)."""

    log_partition: Int32 | None
    group: String
    rows: Bytes


class FindingInput(NamedTuple):
    """The files that may have rows of a cluster, and what else finders must know: stretches of the log, the retention."""

    cluster: str
    pieces: Sequence[tuple[int, Path, RowsPiece]]
    """Pieces of files, each with the number of its rows' kind."""
    records: int
    weight: int
    """What its rows take of a task's memory; that of one committed offset is 1."""
    stretches: Mapping[int | None, LogStretch]
    """By log partition, what of it was replayed."""
    retention_ms: int | None
    """Of expiry's forecasts by several retentions, the one that counts; None if there is but one."""

    @classmethod
    def of(
        cls,
        files: Iterable[HistoryFile],
        cluster: str,
        stretches: Mapping[int | None, LogStretch],
        retention_ms: int | None,
    ) -> "FindingInput":
        """Return those of a lake's `history_files` that may have rows of a cluster, and what no row says."""
        its = [file for file in files if is_within(file.facts, "cluster", cluster)]
        records = sum(file.facts["num_records"] for file in its)
        offsets = sum(file.facts["num_records"] for file in its if TABLES[file.kind] is OFFSET_HISTORY)
        weight = offsets + _OF_OBJECT * (records - offsets)
        pieces = [(file.kind, file.path, piece) for file in its for piece in pieces_of(file.facts)]
        return cls(cluster, pieces, records, weight, stretches, retention_ms)

    def through(self, start: StartSpark, progress: Progress, task: GroupsTask, schema: pa.Schema) -> Rows:
        """Return the rows that `task` makes of the cluster's groups, each with all of its rows.

        Where the rows are not too many, each task reads its groups from all files, and nothing is shuffled.
        """
        if self.weight > READ_BY_ALL:
            packed = self.units(start, progress).through(self._read, arrow_schema(_Packed))
            return packed.grouped(_GROUP, _GROUP).through(lambda rows: task(self._unpacked(rows)), schema)
        is_here = self.is_little
        buckets = 1 if is_here else max(_LEAST_TASKS, -(-self.weight // AT_ONCE))
        units = of_units(start, buckets, is_here=is_here, progress=progress)
        return units.through(lambda numbers: task(self._of_buckets(buckets, numbers)), schema)

    @property
    def is_little(self) -> bool:
        """Whether this process does all that there is to do."""
        return not self.pieces or is_little(self.records)

    def units(self, start: StartSpark, progress: Progress) -> Rows:
        """Return the numbers of the pieces as units of work, one for each task; here where all tasks would read all of them."""
        return of_units(start, len(self.pieces), is_here=self.weight <= READ_BY_ALL, progress=progress)

    def of_offsets(self) -> "FindingInput":
        """Return this input restricted to the files of `offset_history`."""
        return self._replace(pieces=[piece for piece in self.pieces if TABLES[piece[0]] is OFFSET_HISTORY])

    def of_others(self) -> "FindingInput":
        """Return this input without the files of `offset_history`."""
        return self._replace(
            pieces=[piece for piece in self.pieces if TABLES[piece[0]] is not OFFSET_HISTORY]
        )

    def commits_of(self, numbers: Batches) -> Iterator[tuple[GroupRows, dict[TopicPartition, int], int]]:
        """Yield for each group its highest commit of each partition and its number of commits, computed by column.

        Call it on `of_offsets()`, in a task; the groups carry no rows.
        """
        for number in numbers_of(numbers):
            for rows in self._rows_together(number, ("cluster", *COMMITS), _OF_FEW_COLUMNS):
                for group, commits in commits_by_group(rows).items():
                    yield (GroupRows(group, None), *commits)

    def _of_buckets(self, buckets: int, numbers: Batches) -> Iterator[GroupRows]:
        for number in numbers_of(numbers):
            yield from self._of_bucket(number, buckets)

    def _of_bucket(self, bucket: int, buckets: int) -> Iterator[GroupRows]:
        """Yield the rows of the groups in a bucket, by log partition, read from all files."""
        rows: dict[int | None, list[GroupRow]] = defaultdict(list)
        offsets: dict[int | None, list[pa.RecordBatch]] = defaultdict(list)
        for number, (kind, *_) in enumerate(self.pieces):
            for some in self._rows_in(number, TABLES[kind].schema.names):
                wanted = some if buckets == 1 else some.filter(_are_in(some.column("group"), bucket, buckets))
                if TABLES[kind] is not OFFSET_HISTORY:
                    for row in self._rows(kind, wanted):
                        rows[row.log_partition].append(row)
                    continue
                for log_partition, its in _by_log_partition(wanted):
                    offsets[log_partition].append(its.select(OffsetHistoryRow._fields))
        for log_partition in offsets.keys() | rows.keys():
            stretch, sums = self.stretches[log_partition], RecordSums(log_partition)
            its = rows.pop(log_partition, ())
            table = OffsetTable(_table(offsets.pop(log_partition, ())))
            yield from PartitionRows(its, stretch, sums, table).groups()

    def _unpacked(self, batches: Batches) -> Iterator[GroupRows]:
        """Yield the rows of each group, given what `_read` has made of them, those of a group together. Runs in a task."""
        for log_partition, rows in groupby(with_buffers(batches), itemgetter(0)):
            for portion in _portions(rows):
                others, packed = _kinds_apart(map(pickle.loads, portion))
                # Each goes as it is unpacked.
                offsets = (packed.popleft() for _ in range(len(packed)))
                table = unpacked_rows(offsets, are_many=sum(map(len, portion)) > _PORTION) if packed else None
                stretch, sums = self.stretches[log_partition], RecordSums(log_partition)
                yield from PartitionRows(others, stretch, sums, table).groups()

    def _read(self, numbers: Batches) -> Batches:
        for number in numbers_of(numbers):
            kind = self.pieces[number][0]
            if TABLES[kind] is OFFSET_HISTORY:
                for together in self._rows_together(number, TABLES[kind].schema.names):
                    packed = packed_rows(together)
                    yield record_batch(
                        _Packed, [_Packed(*home, pickle.dumps((_PACKED, rows))) for home, rows in packed]
                    )
            else:
                for rows in self._rows_in(number, TABLES[kind].schema.names):
                    yield record_batch(_Packed, list(self._packed(kind, rows)))

    def _rows_in(self, number: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the cluster in the piece with this number, with some columns."""
        kind, path, piece = self.pieces[number]
        for rows in file_rows(path, TABLES[kind], columns, piece):
            wanted = rows.filter(pc.equal(rows.column("cluster"), self.cluster))
            if wanted.num_rows:
                yield wanted

    def _rows_together(
        self, number: int, columns: Sequence[str], at_once: int = _TOGETHER
    ) -> Iterator[pa.Table]:
        """Yield rows as `_rows_in` does, many at a time."""
        for some in gathered(self._rows_in(number, columns), at_once):
            yield pa.Table.from_batches(some).unify_dictionaries()

    def _packed(self, kind: int, rows: pa.RecordBatch | pa.Table) -> Iterator[_Packed]:
        by_group: dict[tuple[int | None, str], list[GroupRow]] = defaultdict(list)
        for row in self._rows(kind, rows):
            assert row.group is not None
            by_group[row.log_partition, row.group].append(row)
        for (log_partition, group), some in by_group.items():
            yield _Packed(log_partition, shown(group), pickle.dumps((kind, list(map(tuple, some)))))

    def _rows(self, kind: int, rows: pa.RecordBatch | pa.Table) -> Iterator[GroupRow]:
        """Yield the rows of a kind that are of a group, and that count."""
        columns = (values_of(rows.column(field)) for field in KINDS[kind]._fields)
        for fields in zip(*columns, strict=True):
            row: GroupRow = KINDS[kind](*fields)
            if row.group is not None and is_counted(row, self.retention_ms):
                yield row


def _portions(rows: Iterable[tuple[int | None, str, Any]]) -> Iterator[list[Any]]:
    """Yield what `_read` has made of the groups of a log partition: of one, or of several that are small."""
    portion, size = list[Any](), 0
    for _, of_group in groupby(rows, itemgetter(1)):
        content = [packed for *_, packed in of_group]
        more = sum(map(len, content))
        if portion and size + more > _PORTION:
            yield portion
            portion, size = [], 0
        portion, size = portion + content, size + more
    if portion:
        yield portion


def _kinds_apart(unpickled: Iterable[tuple[int, Any]]) -> tuple[list[GroupRow], deque[PackedRows]]:
    """Return the rows of a group, and its committed offsets that are packed."""
    rows, packed = list[GroupRow](), deque[PackedRows]()
    for kind, of in unpickled:
        if kind == _PACKED:
            packed.append(of)
        else:
            rows += map(KINDS[kind]._make, of)
    return rows, packed


def _are_in(groups: pa.DictionaryArray, bucket: int, buckets: int) -> pa.Array:
    """Return for each row whether its group belongs to a bucket; null without a group."""
    texts = groups.dictionary.to_pylist()
    return pa.array([crc32(text.encode()) % buckets == bucket for text in texts], pa.bool_()).take(
        groups.indices
    )


def _table(offsets: Iterable[pa.RecordBatch]) -> pa.Table:
    """Return batches as a table that nobody holds but whom it is given to: its columns go one by one as they are sorted."""
    return pa.Table.from_batches(offsets, _OFFSETS).unify_dictionaries()


def _by_log_partition(rows: pa.RecordBatch) -> Iterator[tuple[int | None, pa.RecordBatch]]:
    """Yield the log partitions that rows are of, each with its rows: nearly always one."""
    numbers = rows.column("log_partition")
    distinct = pc.unique(numbers)
    for number in distinct:
        is_its = numbers.is_null() if number.as_py() is None else pc.equal(numbers, number)
        yield number.as_py(), rows if len(distinct) == 1 else rows.filter(is_its)


def partition_facts(
    cluster: str,
    sources: Iterable[SourceFields],
    replays: Mapping[LogPartition, LakeRow],
    log_facts: Mapping[LogPartition, LogFacts],
) -> Iterator[PartitionFacts]:
    """Yield the facts of each log partition of a cluster, given its rows of `sources` and `replays` and what its records say."""
    upto = max((row["ingest_run"] for row in replays.values()), default=0)
    by_partition: dict[int | None, list[SourceFields]] = defaultdict(list)
    for row in sorted(sources, key=lambda row: (row["source"], row["range_start"], row["run"])):
        if row["run"] <= upto and counts(row["kind"], row["fate"]):
            by_partition[row["log_partition"]].append(row)
    # The rows of an archive say their partition, and its row of `sources` does not.
    replayed = (log_partition for of, log_partition in log_facts if of == cluster)
    for log_partition in dict.fromkeys((*by_partition, *replayed)):
        facts = of_files(log_partition, _files(by_partition.get(log_partition, ())))
        key = cluster, log_partition
        if key in log_facts:
            facts = facts._replace(versions=log_facts[key].seen, unread=log_facts[key].unread)
        yield _with_copies(facts, replays.get(key))


def _files(rows: Iterable[SourceFields]) -> Iterator[FileSums]:
    """Yield the sums of each file, given its rows of `sources`; of a file that has grown, the last tail counts too."""
    last: dict[str, SourceFields] = {}
    for row in rows:
        last[row["source"]] = row
        ranges = [
            UnreadableBytes(UnreadableKind(found["kind"]), found["size"]) for found in row["unreadable"]
        ]
        yield _file(row, ranges)
    for row in last.values():
        if row["tail_kind"] is not None:
            tail = UnreadableBytes(UnreadableKind(row["tail_kind"]), row["tail_bytes"])
            yield FileSums(None, [tail], 0, None)


def _file(row: SourceFields, unreadable: list[UnreadableBytes]) -> FileSums:
    return FileSums(
        row["first_offset"],
        unreadable,
        row["misplaced_records"],
        row["first_misplaced_offset"],
    )


def _with_copies(facts: PartitionFacts, replay: LakeRow | None) -> PartitionFacts:
    if replay is None:
        return facts
    return facts._replace(
        copies=len(replay["copies"]),
        abandoned=replay["abandoned"],
        abandoned_at=replay["first_abandoned_log_offset"],
        contradictions=replay["contradictions"],
        contradiction_at=replay["first_contradicting_log_offset"],
    )


OF_FINDINGS: Final = Chain(app_of(Maker.FINDINGS), (FINDINGS, REBALANCES, DERIVATIONS))
CLUSTERS_AT_ONCE: Final = 64
"""How many clusters are committed together: one that is killed in between begins with the first that is not committed yet."""
_AT_ONCE: Final = 4_096
"""How many rows of a table are written at a time."""

_TABLES: Final[dict[type, Table]] = {Finding: FINDINGS, RebalanceRow: REBALANCES}
"""The tables of the rows that groups have here."""


class _Part(NamedTuple):
    """The result of a task: what its groups contribute to the LogContext (a pickle)."""

    parts: Bytes


def findings(
    lake: str | Lake, start: StartSpark, clusters: Collection[str] = (), progress: Progress = untold
) -> Derived:
    """Compute findings and rebalances of clusters (all, if none is named) where something is new; commit them, some at a time.

    `start` makes a session, and is called only where there is much to do; `progress` counts files and tasks of one cluster.
    UsageError where the lake has no histories yet, and for an unknown cluster. A cluster that fails is named in `problems`.
    """
    with replayed(lake) as (open_lake, rows):
        replays = last_runs(rows)
        if unknown := sorted(set(clusters) - replays.keys()):
            raise unknown_cluster(unknown[0], replays)
        finding = _Findings(open_lake, start, replays, progress)
        return finding.of(clusters or replays.keys())


class _Findings:
    """Computes the findings of clusters, some at a time; reads once what the lake has on all clusters."""

    def __init__(self, lake: Lake, start: StartSpark, runs: Mapping[str, int], progress: Progress) -> None:
        self._lake, self._root = lake, lake.root
        self._start, self._runs, self._progress = start, runs, progress
        self._expiry = known_derivations(lake, EXPIRY)
        self._problems: dict[str, str] = {}

    def of(self, clusters: Collection[str]) -> Derived:
        """Compute the findings of each cluster where they are not up to date, and return what was done."""
        commits = ArrowLake(self._lake, OF_FINDINGS)
        commits.create()
        notes = [note for note in [commits.finish()] if note]
        bases = {cluster: self._basis(cluster) for cluster in clusters}
        wanted = outdated(commits, OF_FINDINGS.tables[:-1], bases)
        run, rows, tables = None, dict[str, int](), Counter[str]()
        if wanted:
            self._read(wanted)
        for begin in range(0, len(wanted), CLUSTERS_AT_ONCE):
            some = {cluster: bases[cluster] for cluster in wanted[begin : begin + CLUSTERS_AT_ONCE]}
            each = derive(self._lake, OF_FINDINGS, some, self._make)
            run, rows, notes = each.run or run, rows | each.rows, notes + each.notes
            tables.update(each.tables)
        problems = (f"findings of cluster {cluster!r}: {why}" for cluster, why in self._problems.items())
        return Derived(run, rows, notes, tuple(problems), tables)

    def _read(self, clusters: Sequence[str]) -> None:
        """Read what the lake has on some clusters: of a lake of a thousand, most nights few are new."""
        self._files = history_files(self._lake)
        some = ds.field("cluster").isin(clusters)
        self._sources: dict[str, list[SourceFields]] = defaultdict(list)
        for row in self._lake.rows(SOURCES, where=some):
            self._sources[row["cluster"]].append(row)
        self._replays: dict[str, dict[LogPartition, LakeRow]] = defaultdict(dict)
        for place, replay in latest(self._lake.rows(REPLAYS, where=some)).items():
            self._replays[place[0]][place] = replay

    def _basis(self, cluster: str) -> BasisFields:
        expiry = self._expiry.get(cluster)
        return {
            "replay": self._runs[cluster],
            "expiry": expiry and expiry.run,
            "version": __version__,
        }

    def _make(self, clusters: WantedRows, run: int) -> Made:
        made: dict[str, list[NewFile]] = {}
        for cluster in clusters:
            try:
                with in_one_sentence(str(self._root)):
                    made |= made_of([cluster], self._found(cluster, run))
            except (UsageError, SetupError):
                raise
            except OffsetsToolError as error:
                self._problems[cluster] = str(error)
        return made

    def _found(self, cluster: str, run: int) -> list[Sequence[Any]]:
        """Write the findings and rebalances of a cluster, and return the rows of FilesMade."""
        replays = self._replays[cluster]
        facts = facts_of_logs(self._root, replays)
        newest = {log_partition: each.newest for log_partition, each in facts.items()}
        stretches = {
            log_partition[1]: LogStretch(
                log_partition[1],
                row["proven_from_log_offset"],
                row["next_log_offset"],
                newest.get(log_partition),
            )
            for log_partition, row in replays.items()
        }
        given = FindingInput.of(self._files, cluster, stretches, self._retention(cluster))
        context = self._summed(given).context(
            newest_at=latest_of(newest.values()),
            is_new=any(row["rules"] == Rules.NEW for row in replays.values()),
        )
        contradicted = ((key[1], row["first_contradicting_log_offset"]) for key, row in replays.items())
        context = context._replace(
            contradicted_at={number: at for number, at in contradicted if at is not None}
        )
        task = _finding_task(self._root, run, cluster, context)
        partitions = partition_facts(cluster, self._sources[cluster], replays, facts)
        of_groups = given.through(self._start, self._progress, task, arrow_schema(FilesMade))
        return [*of_groups.collect(), *self._of_log(run, cluster, context, partitions)]

    def _of_log(
        self, run: int, cluster: str, context: LogContext, partitions: Iterable[PartitionFacts]
    ) -> Iterator[Sequence[str]]:
        """Write the findings about whole log partitions; yield the rows of FilesMade."""
        some = [found for each in partitions for found in find_in_log(each, context)]
        rows = [(cluster, shown_batch(Finding, some))] if some else []
        for made in write_derived(self._root, FINDINGS, run, rows):
            yield from (tuple(row.values()) for row in made.to_pylist())

    def _retention(self, cluster: str) -> int | None:
        """Return the retention by which findings of a cluster judge; OffsetsToolError where its expiry is of an earlier replay."""
        expiry = self._expiry.get(cluster)
        if expiry is None or expiry.basis["replay"] != self._runs[cluster]:
            raise OffsetsToolError(
                "its expiry is not that of its last replay: run offsets-spark expiry first"
            )
        return retention_of(expiry)

    def _summed(self, given: FindingInput) -> ContextParts:
        """Return what all groups of a cluster contribute to the LogContext, summed up over the tasks."""
        total, offsets, others = ContextParts(), given.of_offsets(), given.of_others()
        schema, asked = arrow_schema(_Part), (self._start, self._progress)
        by_column = offsets.units(*asked).through(_commits_task(offsets), schema)
        by_group = others.through(*asked, _context_of, schema)
        for (part,) in (*by_column.collect(), *by_group.collect()):
            total.merge(pickle.loads(part))
        return total


def _context_of(groups: Iterator[GroupRows]) -> Batches:
    parts = ContextParts()
    for rows in groups:
        parts.observe(rows, {}, 0)
    yield record_batch(_Part, [_Part(pickle.dumps(parts))])


def _commits_task(given: FindingInput) -> Task:
    def task(numbers: Batches) -> Batches:
        parts = ContextParts()
        for rows, highest, commits in given.commits_of(numbers):
            parts.observe(rows, highest, commits)
        yield record_batch(_Part, [_Part(pickle.dumps(parts))])

    return task


def _finding_task(root: Path, run: int, cluster: str, context: LogContext) -> GroupsTask:
    def task(groups: Iterator[GroupRows]) -> Batches:
        yield from write_together(root, cluster, run, _rows_of(groups, context))

    return task


def _rows_of(groups: Iterable[GroupRows], context: LogContext) -> Iterator[tuple[Table, pa.RecordBatch]]:
    """Yield findings and rebalances of groups as batches, each with its table."""
    waiting: dict[type, list[tuple[Any, ...]]] = {row: [] for row in _TABLES}
    for rows in groups:
        for each in chain(find_all(rows, context), rebalance_rows(rows, context.session_timeout_ms)):
            some = waiting[type(each)]
            some.append(each)
            if len(some) >= _AT_ONCE:
                yield _TABLES[type(each)], shown_batch(type(each), some)
                some.clear()
        # The next group is put together without this one beside it.
        del rows
    yield from ((_TABLES[row], shown_batch(row, some)) for row, some in waiting.items() if some)

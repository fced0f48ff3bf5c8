"""Decide for which clusters a derived table is computed again, and replace their old rows by the new ones.

A cluster is computed again when its last replay, or the options, differ from its latest row of `derivations`: all of it, or the
partitions of topics with something new. Otherwise nothing is written. Does not know what is derived.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pyarrow as pa

from offsets_tool.errors import UsageError
from offsets_tool.job_rows import DerivationRow
from offsets_tool.lake.history_rows import Derivation
from offsets_tool.lake.scan import LakeTables
from offsets_tool.lake.tables import DERIVATIONS, REPLAYS, Table
from offsets_tool.lake.whole import is_table
from offsets_tool.rows import Row
from offsets_tool.wire.arrow import record_batch
from offsets_tool.wire.schema import String
from spark.lake.commit import REPLAY, ArrowLake, Chain, Lake
from spark.lake.folder import opened, root_of
from spark.lake.parquet import NewFile, TableWriter
from spark.lake.replaced import Replaced, ReplacedPartitions, Replacement

BasisFields = Mapping[str, Any]
"""What rows were computed from: the run of the replay and the options, as JSON has them."""
Made = Mapping[str, list[NewFile]]
"""By cluster the new files with rows of it; a cluster that could not be computed is not in it."""
WantedRows = Mapping[str, pa.Table | None]
"""By cluster the partitions of topics whose rows are to be computed (columns topic, partition); None for all."""
Make = Callable[[WantedRows, int], Made]
"""Computes the wanted rows and writes their files, for a run."""
Since = Callable[[str, BasisFields], pa.Table | None]
"""From a cluster and the basis of its present rows to the partitions of topics to compute again; None for all."""
FILE_ROWS: Final = 131_072
"""The rows of a file at most: a later replacement of some rows then copies few others."""
_IDENTITY: Final = ("cluster", "derived", "run")
"""The columns that identify a row of `derivations`."""


class Derived(NamedTuple):
    """What a job did: its run (None where nothing was new), how many rows of its first table it wrote by cluster, and notes."""

    run: int | None
    rows: dict[str, int]
    notes: list[str]
    problems: tuple[str, ...] = ()
    """Which clusters could not be computed, and why; all others were."""
    tables: Mapping[str, int] = MappingProxyType({})
    """How many rows it wrote by table, of all clusters."""


@contextmanager
def replayed(lake: "str | Path | Lake") -> Iterator[tuple[Lake, list[Row]]]:
    """Open a lake and yield what its `replays` say of runs and coordinators; first finish a replay that was interrupted.

    UsageError where the lake has no histories yet, LakeInUse while another job writes to it.
    """
    if not isinstance(lake, Lake) and not is_table(root_of(lake), REPLAYS):
        raise UsageError(f"{root_of(lake)} has no histories: run offsets-spark replay first")
    with opened(lake) as open_lake:
        commits = ArrowLake(open_lake, REPLAY)
        # A lake of an earlier release does not have all tables.
        commits.create()
        commits.finish()
        yield open_lake, open_lake.rows(REPLAYS, ("cluster", "coordinator", "run"))


def last_runs(replays: Iterable[Row]) -> dict[str, int]:
    """Return the run of each cluster's last replay."""
    runs: dict[str, int] = {}
    for row in replays:
        runs[row["cluster"]] = max(row["run"], runs.get(row["cluster"], 0))
    return runs


def derive(
    lake: Lake, job: Chain, basis: Mapping[str, BasisFields], make: Make, since: Since | None = None
) -> Derived:
    """Let `make` compute the rows of clusters whose `basis` has changed, and commit them together, instead of the old rows.

    The job's last table is `derivations`; the rows that are counted are those of the first. For a cluster that has rows already,
    `since` gives the partitions of topics to compute again; without it, all are. What `make` does not give stays as it was.
    """
    at, commits, tables = datetime.now(UTC), ArrowLake(lake, job), job.tables[:-1]
    commits.create()
    notes = [note for note in [commits.finish()] if note]
    newest = _newest_rows(commits, tables)
    new = _outdated(newest, basis)
    if not new:
        return Derived(None, {}, notes)
    known, run = newest[0], commits.next_run()
    wanted = {of: since(of, json.loads(known[of]["basis"])) if since and of in known else None for of in new}
    made = make(wanted, run)
    if not made:
        return Derived(None, {}, notes)
    counted = {(of, table.name): _count(files, table) for of, files in made.items() for table in tables}
    replaced = {of: replaced_rows(of, wanted[of]) for of in made}
    remaining = _remaining_rows(commits, known, replaced)
    derivations = [
        DerivationRow(of, table, _text(basis[of]), rows + remaining.get(of, 0), at, run)
        for (of, table), rows in counted.items()
    ]
    files = [*chain.from_iterable(made.values()), *lake.new_file(DERIVATIONS, derivations)]
    commits.commit(run, files, list(replaced.values()))
    sums = {table.name: sum(counted[of, table.name] for of in made) for table in tables}
    return Derived(run, {of: counted[of, tables[0].name] for of in made}, notes, tables=sums)


def _count(files: Iterable[NewFile], table: Table) -> int:
    return sum(file.rows for file in files if file.table == table.name)


def outdated(commits: ArrowLake, tables: Sequence[Table], basis: Mapping[str, BasisFields]) -> list[str]:
    """Return the clusters whose rows of one of the tables were not computed from this basis, in the order of their names."""
    return _outdated(_newest_rows(commits, tables), basis)


def _outdated(newest: Sequence[Mapping[str, Row]], basis: Mapping[str, BasisFields]) -> list[str]:
    return sorted(
        of
        for of, each in basis.items()
        if any(of not in rows or rows[of]["basis"] != _text(each) for rows in newest)
    )


def _text(basis: BasisFields) -> str:
    return json.dumps(basis, sort_keys=True)


def known_derivations(lake: LakeTables, table: Table) -> dict[str, Derivation]:
    """Return what each cluster's rows of a table were computed from; empty where none were."""
    if not lake.has(DERIVATIONS):
        return {}
    [newest] = _newest(lake, [table])
    return {of: Derivation(row["run"], json.loads(row["basis"])) for of, row in newest.items()}


def replaced_rows(cluster: str, partitions: pa.Table | None) -> Replacement:
    """Return which rows of a cluster are replaced: those of the topics' partitions given, or all where None is given."""
    return (
        Replaced(cluster, is_cluster=True) if partitions is None else ReplacedPartitions(cluster, partitions)
    )


def _remaining_rows(
    commits: ArrowLake, known: Mapping[str, Row], replaced: Mapping[str, Replacement]
) -> dict[str, int]:
    """Return by cluster how many of its rows stay, where those of some partitions go; `known` are its rows of `derivations`."""
    some = {of: each for of, each in replaced.items() if of in known and not isinstance(each, Replaced)}
    gone = commits.count_replaced(some.values()) if some else []
    return {of: int(known[of]["rows"]) - count for of, count in zip(some, gone, strict=True)}


def finished(lake: Lake, job: Chain) -> list[str]:
    """Commit what an interrupted job has left to commit, and return a note on it; an empty list where there is nothing.

    From then on the options of that job count as the last ones.
    """
    if not lake.has(*job.tables):
        return []
    return [note for note in [ArrowLake(lake, job).finish()] if note]


def asked_before(lake: Lake, table: Table) -> Row:
    """Return the options with which a table's newest rows were computed; empty where there are none.

    The options of an interrupted job count once `finished` has committed it.
    """
    newest = max(known_derivations(lake, table).values(), key=lambda each: each.run, default=None)
    asked: Row = newest.basis["asked"] if newest else {}
    return asked


def bases_before(lake: Lake, table: Table) -> Iterator[tuple[str, Row]]:
    """Yield clusters with what their rows of a table were computed from, also with what later runs replaced: the newest first."""
    if lake.has(DERIVATIONS):
        rows = lake.rows(DERIVATIONS, ("cluster", "derived", "basis", "run"))
        of_table = (row for row in rows if row["derived"] == table.name)
        for row in sorted(of_table, key=itemgetter("run"), reverse=True):
            yield row["cluster"], json.loads(row["basis"])


class FilesMade(NamedTuple):
    """The result of a task: the files (JSON) that it has written with rows of one cluster."""

    cluster: String
    files: String


def write_derived(
    root: Path, table: Table, run: int, rows: Iterable[tuple[str, pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    """Write rows, which come cluster by cluster, to new files of a table; yield a FilesMade for each cluster. Runs in a task."""
    for cluster, batches in groupby(rows, itemgetter(0)):
        yield from write_together(root, cluster, run, ((table, some) for _, some in batches))


def write_together(
    root: Path, cluster: str, run: int, rows: Iterable[tuple[Table, pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    """Write rows of one cluster, each batch with its table, to new files of the tables; yield their FilesMade. Runs in a task."""
    files: list[NewFile] = []
    with ExitStack() as opened:
        writers: dict[str, TableWriter] = {}
        for table, some in rows:
            if table.name not in writers:
                writers[table.name] = opened.enter_context(TableWriter(root, table))
            writer = writers[table.name]
            names = pa.array([cluster] * some.num_rows, pa.string())
            runs = pa.array([run] * some.num_rows, pa.int64())
            writer.write(pa.record_batch([names, *some.columns, runs], schema=table.schema))
            if writer.rows >= FILE_ROWS:
                files += writers.pop(table.name).close()
        for writer in writers.values():
            files += writer.close()
    yield record_batch(FilesMade, [FilesMade(cluster, json.dumps(files))])


def made_of(clusters: Iterable[str], results: Iterable[Sequence[Any]]) -> Made:
    """Return the files that tasks have written with rows of these clusters, from their rows of FilesMade."""
    made: dict[str, list[NewFile]] = {cluster: [] for cluster in clusters}
    for cluster, files in results:
        made[cluster] += (NewFile(*file) for file in json.loads(files))
    return made


def _newest_rows(commits: ArrowLake, tables: Sequence[Table]) -> list[dict[str, Row]]:
    """Return for each table, by cluster, its newest row of `derivations`; none where an interrupted job may have left others."""
    return _newest(commits.lake, tables) if commits.is_whole() else [{} for _ in tables]


def _newest(lake: LakeTables, tables: Sequence[Table]) -> list[dict[str, Row]]:
    found = lake.table(DERIVATIONS, ("cluster", "derived", "basis", "rows", "run"))
    newest = found.group_by(["cluster", "derived"]).aggregate([("run", "max")]).rename_columns(_IDENTITY)
    rows = found.join(newest, list(_IDENTITY), join_type="inner").to_pylist()
    return [{row["cluster"]: row for row in rows if row["derived"] == table.name} for table in tables]

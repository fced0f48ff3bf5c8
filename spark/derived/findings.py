"""Compute the tables `findings` and `rebalances` from histories, transactions and expiry, as the commands of these names say it.

Rows are read twice: first for what holds for all groups (LogContext), offsets by column; then for the rows of each group. What
concerns log partitions as a whole is found from `sources` and `replays`. A cluster is computed again when it was replayed, or its
expiry was. Some clusters are committed together, and one that fails stops no other.
"""

import pickle
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds

from offsets_tool import __version__
from offsets_tool.errors import OffsetsToolError, SetupError, UsageError
from offsets_tool.findings.context import ContextParts, LogContext
from offsets_tool.findings.finders import find_all, find_in_log
from offsets_tool.findings.group_rows import GroupRows, LogStretch
from offsets_tool.findings.partition_facts import PartitionFacts
from offsets_tool.findings.rows import Finding
from offsets_tool.lake.history_rows import history_files, retention_of
from offsets_tool.lake.journal import app_of
from offsets_tool.lake.merge import Batches
from offsets_tool.lake.plan import LakeRow, LogPartition, latest
from offsets_tool.lake.rows import SourceFields
from offsets_tool.lake.tables import DERIVATIONS, EXPIRY, FINDINGS, REBALANCES, REPLAYS, SOURCES, Maker, Table
from offsets_tool.lake.whole import unknown_cluster
from offsets_tool.log_clock import latest_of
from offsets_tool.rebalances.row_builder import rebalance_rows
from offsets_tool.rebalances.rows import RebalanceRow
from offsets_tool.replay.rules import Rules
from offsets_tool.wire.arrow import arrow_schema, record_batch, shown_batch
from offsets_tool.wire.schema import Bytes
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
from spark.derived.finding_rows import FindingInput, GroupsTask
from spark.derived.log_findings import partition_facts
from spark.lake.commit import ArrowLake, Chain, Lake
from spark.lake.failures import in_one_sentence
from spark.lake.parquet import NewFile
from spark.runtime.rows import Progress, StartSpark, Task, untold

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

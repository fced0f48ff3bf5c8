"""What a replay of a whole log comes to, from a lake's tables and checkpoints: rows of histories, states, commits and removals.

Rows of a group are asked for by name. All is what a replay of the same log makes, so that what commands say of both is the same.
Replays nothing: of a log partition it says how far it was replayed, and what its records prove.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.as_of.selection import ANY, NameFilter, Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot
from offsets_tool.columns.columns_of_rows import values_of
from offsets_tool.columns.offset_rows import COMMITS, OffsetTable, commits_by_group
from offsets_tool.columns.reading import RowsRead
from offsets_tool.errors import SourceError
from offsets_tool.expiry.forecast import PartitionRemovals, partition_removals
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.expiry.removal_codec import unpack_removal_facts
from offsets_tool.findings.group_rows import (
    ALL,
    GroupRow,
    GroupRows,
    LogStretch,
    PartitionRows,
    RecordSums,
    gather,
)
from offsets_tool.history.rows import AnomalyRow, OffsetHistoryRow
from offsets_tool.lag.commits import LogCommits
from offsets_tool.lake.checkpoints import live_state_of, log_facts_of
from offsets_tool.lake.history_rows import KINDS, TABLES, Derivation, is_counted, retention_of
from offsets_tool.lake.moment import ReadRow, finished_rows
from offsets_tool.lake.plan import LakeRow, failed, latest
from offsets_tool.lake.scan import FileFacts, encoded_schema, facts_of, file_rows, values_within, whole_table
from offsets_tool.lake.tables import ANOMALIES, DERIVATIONS, EXPIRY, OFFSET_HISTORY, REMOVALS, REPLAYS, Table
from offsets_tool.lake.whole import open_table
from offsets_tool.log.archive.delta import OpenDelta, open_delta
from offsets_tool.relations.carried import LiveState
from offsets_tool.relations.partitions import observe_batch
from offsets_tool.relations.row_events import rows_of
from offsets_tool.replay.changes import Change, ChangeKind, GroupOf, TopicPartition
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.state import State
from offsets_tool.rows import Row
from offsets_tool.wire.text import from_shown, shown

_HOME: Final = ("group", "log_partition")
_OFFSETS: Final = pa.schema(
    [encoded_schema(OFFSET_HISTORY.schema).field(name) for name in OffsetHistoryRow._fields]
)
_COMMITS: Final = pa.schema([encoded_schema(OFFSET_HISTORY.schema).field(name) for name in COMMITS])
_COMMITS_OF_LOG: Final = {
    "timestamp": "from_timestamp",
    **{name: name for name in ("topic", "partition", "committed_offset", "topic_id", "commit_timestamp")},
    **{name: name for name in ("cluster", "log_partition", "from_log_offset", "commit_log_offset")},
}
"""What LogCommits takes of rows, and their place, by the columns of an offset history that have it."""
_ASKED: Final = (*TABLES, REMOVALS, REPLAYS, DERIVATIONS)


class _Stored(NamedTuple):
    """A table as it was when it was opened."""

    table: Table
    path: Path
    opened: OpenDelta

    def values(self, columns: Sequence[str]) -> list[ReadRow]:
        return [{name: row[name] for name in columns} for row in _rows_of(self.table, self.path, self.opened)]

    def last_run(self, app: str) -> int | None:
        return self.opened.transaction_version(app)


class LakeHistories:
    """The histories of one cluster of a lake, as its last finished replay left them."""

    def __init__(self, root: Path, cluster: str) -> None:
        """Open the tables, as they were after the last finished run of each job."""
        self._cluster = cluster
        self._files: dict[Table, list[tuple[Path, FileFacts]]] = {}
        accounts: dict[Table, list[ReadRow]] = {REPLAYS: [], DERIVATIONS: []}
        for table, found in finished_rows(str(root), partial(_stored, root), _ASKED).items():
            if found is None:
                continue
            _, path, opened = found.stored
            if found.version not in (None, opened.version()):
                opened = open_delta(path, found.version)
            if table in accounts:
                accounts[table] = [row for row in _rows_of(table, path, opened) if row["cluster"] == cluster]
            else:
                self._files[table] = [(path / facts["path"], facts) for facts in facts_of(opened)]
        self._expiry = _newest(accounts[DERIVATIONS], EXPIRY)
        self._failed = failed(accounts[REPLAYS])
        replays = latest(accounts[REPLAYS])
        self.replays: Final[dict[int | None, LakeRow]] = {number: row for (_, number), row in replays.items()}
        """The last row of `replays` of each log partition."""
        self._root = root
        self._live: dict[int | None, LiveState] = {}

    @cached_property
    def facts(self) -> dict[int | None, LogFacts]:
        """What the records of each log partition say of its cluster; SourceError for a checkpoint that cannot be read."""
        return {number: log_facts_of(self._root, row) for number, row in self.replays.items()}

    @property
    def unnamed(self) -> set[str]:
        """The topic ids, as text, whose names no table of histories has."""
        return {topic_id for row in self.replays.values() for topic_id in row["unnamed_topic_ids"]}

    def _has_facts(self) -> bool:
        """Return whether all checkpoints can be read: an earlier release may have written them."""
        try:
            return bool(self.facts)
        except SourceError:
            return False

    def has_states(self, numbers: Iterable[int | None]) -> bool:
        """Return whether the checkpoints of log partitions can be read to their end: one may be damaged behind its facts."""
        try:
            return all(self.live(number) for number in numbers)
        except SourceError:
            return False

    def has_all(self, ingests: Mapping[int | None, int]) -> bool:
        """Return whether histories and expiry are of all records, given the last ingest that brought some of each log partition."""
        last = max((row["run"] for row in self.replays.values()), default=0)
        is_replayed = all(
            number in self.replays and self.replays[number]["ingest_run"] >= run
            for number, run in ingests.items()
        )
        is_derived = self._expiry is not None and self._expiry.basis["replay"] == last
        return is_replayed and is_derived and not self._failed and self._has_facts()

    def homes(self, groups: NameFilter) -> set[int | None]:
        """Return the log partitions that have rows of these groups."""
        wanted, found = NameFilter(groups.texts), set[int | None]()
        for table in TABLES:
            for rows in self.rows(table, _HOME, wanted):
                found.update(pc.unique(rows.column("log_partition")).to_pylist())
        return found

    def rows(
        self,
        table: Table,
        fields: Sequence[str],
        groups: NameFilter = ANY,
        numbers: Collection[int | None] = (),
        *,
        has_nobody: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some groups, and of some log partitions; without any, of all. With `has_nobody` also of no group."""
        asked: dict[str, Collection[Any]] = {"cluster": [self._cluster]}
        if groups.names is not None:
            asked["group"] = list(map(shown, groups.names))
        if numbers and None not in numbers:
            asked["log_partition"] = numbers
        for path in self._paths(table, asked):
            for rows in file_rows(path, table, [*dict.fromkeys((*fields, "cluster", *_HOME))]):
                some = rows.filter(self._are_wanted(rows, groups, numbers, has_nobody))
                if some.num_rows:
                    yield some.select(fields)

    def _paths(self, table: Table, asked: Mapping[str, Collection[Any]]) -> Iterator[Path]:
        """Yield the files of a table that may have one of the values that are asked for in each of these columns."""
        for path, facts in self._files.get(table, ()):
            if all(values_within(facts, column, sorted(values)) for column, values in asked.items()):
                yield path

    def _are_wanted(
        self, rows: pa.RecordBatch, groups: NameFilter, numbers: Collection[int | None], has_nobody: bool
    ) -> pa.Array:
        column = rows.column("group")
        names = [not groups or from_shown(text) in groups for text in column.dictionary.to_pylist()]
        of_group = pc.fill_null(pa.array(names, pa.bool_()).take(column.indices), has_nobody)
        of_cluster = pc.equal(rows.column("cluster").cast(pa.string()), self._cluster)
        of_both = pc.and_(of_group, of_cluster)
        if not numbers:
            return of_both
        return pc.and_(of_both, pc.is_in(rows.column("log_partition"), pa.array(list(numbers), pa.int32())))

    def group_rows(self, groups: NameFilter, number: int | None) -> PartitionRows:
        """Return the rows of some groups in one log partition, of all kinds that findings are made of."""
        offsets = self.rows(OFFSET_HISTORY, OffsetHistoryRow._fields, groups, [number])
        columns = pa.Table.from_batches(offsets, _OFFSETS).unify_dictionaries()
        others = self.other_rows(groups, number)
        return PartitionRows(others, self.stretch(number), RecordSums(number), OffsetTable(columns))

    def other_rows(self, groups: NameFilter, number: int | None) -> Iterator[GroupRow]:
        """Yield the rows of some groups in one log partition, of all kinds but committed offsets."""
        retention_ms = self._expiry and retention_of(self._expiry)
        for table, kind in zip(TABLES, KINDS, strict=True):
            if table is not OFFSET_HISTORY:
                for some in self.rows(table, kind._fields, groups, [number]):
                    made: Iterator[GroupRow] = map(kind, *map(values_of, some.columns))
                    yield from (row for row in made if is_counted(row, retention_ms))

    def stretch(self, number: int | None) -> LogStretch:
        """Return the stretch of a log partition that was replayed."""
        row = self.replays[number]
        return LogStretch(
            number, row["proven_from_log_offset"], row["next_log_offset"], self.facts[number].newest
        )

    def partitions(self, reads: Mapping[int | None, Iterator[RowsRead]]) -> "list[HistoryPartition]":
        """Return the log partitions, each of which reads its rows when it is asked for groups; `reads` are their records."""
        order = sorted(self.replays, key=lambda number: -1 if number is None else number)
        return [HistoryPartition(self, number, reads[number]) for number in order]

    def commits(self, topics: Collection[str]) -> LogCommits:
        """Return all commits for some topics, each once, also those that a marker made effective, or never did."""
        names, fields, found = (
            sorted(map(shown, topics)),
            list(_COMMITS_OF_LOG.values()),
            list[pa.RecordBatch](),
        )
        for path in self._paths(OFFSET_HISTORY, {"cluster": [self._cluster], "topic": names}):
            for rows in file_rows(path, OFFSET_HISTORY, fields):
                of_cluster = _are_of(rows.column("cluster"), [self._cluster])
                of_topics = pc.and_(of_cluster, _are_of(rows.column("topic"), names))
                is_first = pc.equal(rows.column("from_log_offset"), rows.column("commit_log_offset"))
                found.append(rows.filter(pc.and_(of_topics, is_first)))
        encoded = encoded_schema(OFFSET_HISTORY.schema)
        table = pa.Table.from_batches(found, pa.schema([encoded.field(name) for name in fields]))
        table = table.unify_dictionaries().rename_columns(list(_COMMITS_OF_LOG))
        table = table.sort_by([("log_partition", "ascending"), ("from_log_offset", "ascending")])
        ids = pc.fill_null(table["topic_id"].cast(pa.string()), "")
        table = table.set_column(table.column_names.index("topic_id"), "topic_id", ids)
        commits = LogCommits()
        for number in table["log_partition"].unique().to_pylist():
            of_log = pc.equal(pc.fill_null(table["log_partition"], -1), -1 if number is None else number)
            for rows in table.filter(of_log).combine_chunks().to_batches():
                commits.take(number, rows)
        return commits

    def live(self, number: int | None) -> LiveState:
        """Return the state of a log partition at its end, from its checkpoint; SourceError for one that cannot be read."""
        if number not in self._live:
            self._live[number] = live_state_of(self._root, self.replays[number])
        return self._live[number]

    def state(self, number: int | None) -> State:
        """Return what the coordinator of a log partition held at its end; errors as `live`."""
        return self.live(number).coordinator.state

    def removals(self, partition: PartitionSnapshot) -> PartitionRemovals:
        """Return what was removed in a log partition that stands in for its replay, and what is live there."""
        number = partition.log_partition
        live, facts = self.live(number), self.rows(REMOVALS, ("facts",), numbers=[number])
        found = (
            each
            for rows in facts
            for text in rows.column("facts").to_pylist()
            for each in unpack_removal_facts(text)
        )
        return partition_removals(partition, live.changed, live.lifetimes, found, self.facts[number])

    def stand_in(
        self, snapshot: Snapshot, number: int | None, begins: int, records: int
    ) -> PartitionSnapshot:
        """Return a log partition that is not replayed, added to a snapshot, with what is known of its end, its times and its rules.

        `begins` is its base offset, `records` how many records of it there are.
        """
        row, facts = self.replays[number], self.facts[number]
        partition = snapshot.begin(number, begins)
        if snapshot.as_of.ends is None:
            # Else it counts as empty: a log partition that the moment names is read.
            partition.cut.clock = facts.clock
        if not snapshot.as_of.is_end:
            partition.proved_later = facts.is_new
            return partition
        coordinator, coverage = partition.coordinator, partition.coverage
        if coordinator.auto:
            coordinator.rules = Rules(row["rules"])
            coordinator.proved_at, coordinator.differed_at = (
                row["proving_log_offset"],
                row["differing_log_offset"],
            )
        coverage.first_offset = begins if records else None
        coverage.next_offset, coverage.proven_from = row["next_log_offset"], row["proven_from_log_offset"]
        coverage.missing = max(0, coverage.next_offset - records)
        partition.observe_changes(map(_anomaly, self._anomalies(number)))
        return partition

    def _anomalies(self, number: int | None) -> Iterator[AnomalyRow]:
        for some in self.rows(ANOMALIES, AnomalyRow._fields, numbers=[number], has_nobody=True):
            yield from map(AnomalyRow._make, zip(*map(values_of, some.columns), strict=True))


class _StoredSums(RecordSums):
    """Sums of a log partition's records, which are read for their bytes alone: no table of histories tells these."""

    def __init__(self, number: int | None, pages: Iterator[pa.RecordBatch]) -> None:
        super().__init__(number)
        self._pages = pages

    def bytes_of(self, group: str) -> int:
        """Return the bytes of the keys and values of a group's records; the first time, all records are read."""
        for page in self._pages:
            observe_batch(self, page)
        return super().bytes_of(group)


class HistoryPartition:
    """The rows of one log partition, which are read as groups are asked for."""

    def __init__(self, histories: LakeHistories, number: int | None, reads: Iterator[RowsRead]) -> None:
        """Take a log partition of some histories; `reads` are its records."""
        facts = histories.facts[number]
        self._histories, self._number = histories, number
        self.sums: Final = _StoredSums(number, rows_of(reads))
        """What its records come to."""
        self.sums.versions, self.sums.unread = facts.seen, facts.unread

    def groups(self, wanted: Wanted = ALL) -> Iterator[GroupRows]:
        """Yield the rows of each wanted group, by name."""
        rows = self._histories.group_rows(NameFilter(wanted.groups.texts), self._number)
        yield from rows.groups(wanted)

    def highest(self) -> Iterator[tuple[GroupRows, dict[TopicPartition, int], int]]:
        """Yield each group for ContextParts: its rows but those of offsets, its highest commits, and how many it made."""
        batches = self._histories.rows(OFFSET_HISTORY, COMMITS, numbers=[self._number])
        commits = commits_by_group(pa.Table.from_batches(batches, _COMMITS))
        rows = gather(self._histories.other_rows(ANY, self._number), self._histories.stretch(self._number))
        for group in commits.keys() | rows.keys():
            yield (rows.get(group) or GroupRows(group, self._number), *commits.get(group, ({}, 0)))


def _are_of(column: pa.Array, texts: Sequence[str]) -> pa.Array:
    """Return for each row of an encoded column whether it has one of some texts."""
    return pc.is_in(column.dictionary, pa.array(texts, pa.string())).take(column.indices)


def _stored(root: Path, table: Table) -> _Stored | None:
    opened = open_table(root, table)
    return None if opened is None else _Stored(table, root / table.name, opened)


def _rows_of(table: Table, path: Path, opened: OpenDelta) -> list[Row]:
    """Return the rows of a small table."""
    files = [whole_table(path / facts["path"], table) for facts in facts_of(opened)]
    return [row for rows in files for row in rows.to_pylist()]


def _newest(derivations: Sequence[ReadRow], table: Table) -> Derivation | None:
    """Return what a cluster's rows of a table were computed from last; None where none were."""
    rows = [row for row in derivations if row["derived"] == table.name]
    newest = max(rows, key=lambda row: int(row["run"]), default=None)
    return None if newest is None else Derivation(newest["run"], json.loads(newest["basis"]))


def _anomaly(row: AnomalyRow) -> Change:
    """Return the change that a row of `anomalies` was made of, as far as notes on a moment ask for it."""
    place = row.log_partition, row.log_offset, row.timestamp, row.log_offset
    return Change(*place, ChangeKind.ANOMALY, GroupOf(row.group or ""), note=row.note)

"""A cluster of a lake as evidence: a source for each copy of its log partitions, and what tables say of files, copies and names.

Reads the tables' files and starts no Spark. Rows of runs that are not finished do not count, and nothing is locked.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.selection import ANY, NameFilter
from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.columns.columns_of_rows import plain, values_of
from offsets_tool.columns.reading import RowsRead
from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.filters import EVERYTHING, Filters
from offsets_tool.evidence.listener import Listener
from offsets_tool.evidence.moments.copies_asked import COPIES_ASKED, CopiesAsked
from offsets_tool.evidence.sources import Item, Source
from offsets_tool.expiry.forecast import PartitionRemovals
from offsets_tool.findings.group_rows import AnyPartition
from offsets_tool.job_rows import SUBSCRIPTIONS
from offsets_tool.lag.commits import LogCommits
from offsets_tool.lag.samples import EndMethod, EndSample
from offsets_tool.lake.copies import LakeCopy, StoredPart, copies_of, last_ingests
from offsets_tool.lake.histories import LakeHistories
from offsets_tool.lake.merge import once
from offsets_tool.lake.plan import Work
from offsets_tool.lake.rows import ARCHIVE, LakeRows, SourceFields, counts
from offsets_tool.lake.scan import LakeTables, scan, values_within
from offsets_tool.lake.tables import COPIES, ENDS, LOG, SOURCES, TOPIC_NAMES, Table
from offsets_tool.lake.whole import check_whole, chosen_cluster, no_lake
from offsets_tool.log.archive.delta_mirror import logs_listed_once
from offsets_tool.log.ledger import Ledger, LedgerEntry, MisplacedRange
from offsets_tool.log.storage import as_path
from offsets_tool.relations.row_events import RAW, MomentRows
from offsets_tool.rows import Batch, Codec, Header, LogRecord, Row, TimestampType, Unreadable, UnreadableKind
from offsets_tool.wire.text import from_shown, shown

_SAMPLE: Final = tuple({"at": "timestamp"}.get(name, name) for name in EndSample._fields)
_LEDGER: Final = tuple(field.name for field in fields(LedgerEntry))


class LakeCluster:
    """One cluster of a lake, as its tables are when it is opened."""

    def __init__(self, lake: str, cluster: str | None = None) -> None:
        """Open the cluster with this name, or the only one of a lake.

        UsageError where there is no lake, where it has several clusters and none is named, and for an unknown one.
        """
        self.root: Final = as_path(lake).absolute()
        self._tables = LakeTables(self.root)
        with logs_listed_once(self.root):
            check_whole(self.root)
            if not self._tables.has(SOURCES):
                raise no_lake(lake)
            rows = self._tables.rows(SOURCES)
            self.name: Final = chosen_cluster(cluster, sorted({row["cluster"] for row in rows}))
            self.sources: Final[list[SourceFields]] = [row for row in rows if row["cluster"] == self.name]
            self._records = LakeRows.now(self._tables, self.sources)
            self._copies = copies_of(self._of_cluster(COPIES), self.sources)
        names = sorted(self._of_cluster(TOPIC_NAMES), key=lambda row: int(row["run"]))
        self.names: Final = {
            row["topic_id"]: from_shown(row["topic"]) for row in names if row["method"] != SUBSCRIPTIONS
        }
        """The names of topics by id that an option, a file or a record has said."""
        self.derived: Final = {
            row["topic_id"]: from_shown(row["topic"]) for row in names if row["method"] == SUBSCRIPTIONS
        }
        """The names of topics by id that follow from what members subscribe to."""

    def _of_cluster(self, table: Table) -> list[Row]:
        rows = self._tables.rows(table) if self._tables.has(table) else []
        return [row for row in rows if row["cluster"] == self.name]

    @cached_property
    def counting(self) -> list[SourceFields]:
        """The rows of `sources` about files that are part of the log, in the order of their names and ranges."""
        rows = (row for row in self.sources if counts(row["kind"], row["fate"]))
        return sorted(rows, key=lambda row: (row["source"], row["range_start"], row["run"]))

    @property
    def set_aside(self) -> list[str]:
        """The files that Kafka had set aside, whose rows are no part of the log."""
        aside = (row["source"] for row in self.sources if not counts(row["kind"], row["fate"]))
        return [*dict.fromkeys(aside)]

    def files(self) -> list[LedgerEntry]:
        """Return the files as ledgers, one of each range that an ingest read."""
        return list(map(_ledger, self.counting))

    @cached_property
    def has_ends(self) -> bool:
        """Whether samples of end offsets were brought for the cluster."""
        return self._tables.has(ENDS) and any(scan(self._tables, ENDS, ["topic"], [self.name]))

    def ends(self, topics: Collection[str]) -> Iterator[EndSample]:
        """Yield the samples of end offsets that were brought for some topics of the cluster."""
        names = sorted(map(shown, topics))
        for rows in scan(
            self._tables,
            ENDS,
            _SAMPLE,
            [self.name] if self.has_ends else [],
            may_have=lambda facts: bool(values_within(facts, "topic", names)),
        ):
            of_topics = pc.is_in(rows.column("topic").cast(pa.string()), pa.array(names, pa.string()))
            for facts in zip(*map(values_of, rows.filter(of_topics).columns), strict=True):
                sample = EndSample._make(facts)
                yield sample._replace(method=EndMethod(sample.method))

    def log_partitions(self) -> list[int | None]:
        """Return the numbers of the log partitions, in their order."""
        numbers = {number for row in self.counting for number in _numbers(row)}
        return sorted(numbers, key=lambda number: -1 if number is None else number)

    def logs(self) -> "list[LakeLog]":
        """Return the log of each log partition; of one that has copies to be joined, that of each copy."""
        return [
            LakeLog(self, self._records, number, copy)
            for number in self.log_partitions()
            for copy in self._copies.get((self.name, number), (None,))
        ]

    def last_ingests(self) -> dict[int | None, int]:
        """Return the last ingest that brought records of each log partition."""
        return {number: run for (_, number), run in last_ingests(self.counting).items()}

    def records(self, number: int | None) -> int:
        """Return how many records a log partition has, of which each is in one source."""
        of_segments = [row for row in self.counting if row["log_partition"] == number]
        return sum(
            row["records"] - row["misplaced_records"] - (row["dropped_records"] or 0) for row in of_segments
        )

    def begins(self, number: int | None) -> int:
        """Return the base offset of a log partition's first segment; 0 where it has none."""
        firsts = [
            row["first_offset"] if row["base_offset"] is None else row["base_offset"]
            for row in self.counting
            if row["kind"] != ARCHIVE and row["log_partition"] == number
        ]
        return min((first for first in firsts if first is not None), default=0)


class LakeLog:
    """The log of one log partition of a lake, or of one of its copies, which Source.stored asks for rows or records."""

    def __init__(
        self, cluster: LakeCluster, rows: LakeRows, log_partition: int | None, copy: LakeCopy | None
    ) -> None:
        """Take the rows of a log partition; `copy` is the one that it is, where several are to be joined."""
        self.log_partition: Final = log_partition
        self.copy: Final = copy
        self.begins: Final = cluster.begins(log_partition)
        self.bytes: Final = sum(row["bytes"] for row in cluster.counting if log_partition in _numbers(row))
        self._rows = rows
        self._work = Work(cluster.name, log_partition, 0, None, None, 0, 0)

    def rows(self) -> Iterator[RowsRead]:
        """Yield the log as replay by column takes it; commits have no raw value."""
        made, nothing = MomentRows(), partial(pa.nulls, type=pa.string())
        for batch in once(rows for rows in self._rows.of(self._work) if rows.num_rows):
            rows = made.rows(batch)
            events = rows.select([name for name in rows.schema.names if name not in RAW])
            yield RowsRead(0, 0, rows.select(RAW), events.append_column("misplaced", nothing(rows.num_rows)))

    def names(self) -> Iterator[RowsRead]:
        """Yield the groups and topics that records name, with their places."""
        return (RowsRead(0, 0, None, rows) for rows in self._rows.named(self._work))

    def records(self, offsets: frozenset[int] | None = None) -> Iterator[LogRecord]:
        """Yield the records by offset, each once; only those at some offsets, where these are given."""
        units = None if self.copy is None else self.copy.units
        batches = self._rows.whole(self._work, offsets)
        for batch in once(rows for rows in _of_units(batches, units) if rows.num_rows):
            yield from map(_record, _dicts(batch))


def _of_units(
    batches: Iterable[pa.RecordBatch], units: frozenset[StoredPart] | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that some ingests have read of some files; all, for None."""
    for batch in batches:
        if units is None:
            yield batch
            continue
        of_rows = zip(plain(batch.column("source")).to_pylist(), batch.column("run").to_pylist(), strict=True)
        yield batch.filter(pa.array([unit in units for unit in of_rows], pa.bool_()))


def _dicts(batch: pa.RecordBatch) -> list[Row]:
    columns = (plain(column).to_pylist() for column in batch.columns)
    return [dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


class LakeEvidence(Evidence):
    """The evidence that a cluster of a lake is: what its tables say of files, copies and names need not be found in records."""

    def __init__(
        self,
        cluster: LakeCluster,
        filters: Filters = EVERYTHING,
        listener: Listener | None = None,
        *,
        copies_asked: CopiesAsked = COPIES_ASKED,
        log_partition: int | None = None,
        groups: NameFilter = ANY,
    ) -> None:
        """Take the log partitions of a cluster that filters and `log_partition` name; all, where they name none.

        `groups` are those that are asked about.
        """
        named = filters.log_partitions() | ({log_partition} - {None})
        logs = [log for log in cluster.logs() if not named or log.log_partition in named]
        path = cluster.root.as_posix()
        super().__init__(
            [_source(path, log) for log in logs], filters, listener, paths=[path], copies_asked=copies_asked
        )
        self.stored_ends = cluster
        self._cluster, self._groups, self._all = cluster, groups, self.sources
        for log in logs:
            if log.copy is not None:
                of_partition = self.copy_facts.setdefault(log.log_partition, [])
                of_partition.append(log.copy.facts)
        self._numbers = {log.log_partition for log in logs}
        self._is_whole = not named
        self._stated: Collection[int | None] = ()
        """The log partitions whose state at the end is taken from its checkpoint, if they are not read."""
        for entry in cluster.files():
            if entry.is_archive or entry.log_partition in self._numbers:
                self.ledgers.append(entry)

    @property
    def files(self) -> list[str]:
        """The lake's folder."""
        return list(self.paths)

    def topic_names(self) -> Mapping[str, str]:
        """Return the names of topics by id that an option, a file or a record has said."""
        return self._cluster.names

    @property
    def all_sources(self) -> list[Source]:
        """The sources, and those that `narrow` has left out."""
        return self._all

    def narrow(self, log_partitions: Collection[int | None]) -> None:
        """Read only some log partitions, if histories say enough of all others."""
        if self._histories is not None:
            self.sources = [source for source in self._all if source.log_partition in log_partitions]

    def narrow_to_groups(self, moment: AsOf) -> None:
        """Read only the log partitions that have rows of the groups that are asked about, and those that a moment names."""
        if self._groups and self._histories is not None and self._homes:
            self.narrow(self._homes | set(moment.ends or ()))

    @cached_property
    def _homes(self) -> set[int | None]:
        """The log partitions that have rows of the groups that are asked about; all, where none are named."""
        return self._histories.homes(self._groups) if self._groups and self._histories else self._numbers

    def take_states(self, moment: Snapshot, *, is_of_groups: bool) -> bool:
        """Read no log partition at the end of the log, by its own rules, if checkpoints have all states; return whether they do.

        Not where an archive has rows: whether its commits say that they are of a transaction, no checkpoint tells.
        """
        has_archive = any(row["kind"] == ARCHIVE for row in self._cluster.counting)
        if not moment.as_of.is_end or moment.rules is not None or has_archive or self._histories is None:
            return False
        stated = self._homes if is_of_groups else self._numbers
        if not self._histories.has_states(stated):
            return False
        self._stated = stated
        self.narrow(())
        return True

    def kept_commits(self, topics: Collection[str]) -> LogCommits:
        """Return all commits for some topics, where states are taken."""
        assert self._histories is not None
        return self._histories.commits(topics)

    def kept_removals(self, snapshot: Snapshot) -> list[PartitionRemovals]:
        """Return what was removed in each log partition, where states are taken."""
        assert self._histories is not None
        return list(map(self._histories.removals, snapshot))

    def reads(self, log_partitions: Collection[int | None]) -> bool:
        """Return whether all of some log partitions are read."""
        return self._numbers.intersection(log_partitions) <= {source.log_partition for source in self.sources}

    def stand_in(self, snapshot: Snapshot) -> None:
        """Add the log partitions that are not read to a snapshot that is about to be replayed."""
        for number in self._numbers - {source.log_partition for source in self.sources}:
            assert self._histories is not None
            records = self._cluster.records(number)
            partition = self._histories.stand_in(snapshot, number, self._cluster.begins(number), records)
            if number in self._stated and snapshot.as_of.is_end:
                partition.kept = partial(self._histories.state, number)
            snapshot.names.kept_derived = self._cluster.derived

    def kept_partitions(self, moment: Snapshot) -> list[AnyPartition] | None:
        """Return the rows of all log partitions from histories where these answer, and read no log partition.

        They do at the end of the log, by its own rules.
        """
        if not moment.as_of.is_end or moment.rules is not None or self._histories is None:
            return None
        self._stated = self._homes
        self.narrow(())
        # A replay asks for all names that rows of histories have.
        moment.names.asked_derived |= self._cluster.derived
        moment.names.asked_unnamed |= self._histories.unnamed
        reads = {source.log_partition: source.stored.rows() for source in self._all if source.stored}
        return [*self._histories.partitions(reads)]

    @cached_property
    def _histories(self) -> LakeHistories | None:
        """The cluster's histories; None where they are not of all its records, or copies are joined."""
        if not self._is_whole or self.copy_facts or self.copies_asked.leaders:
            return None
        found = LakeHistories(self._cluster.root, self._cluster.name)
        return found if found.has_all(self._cluster.last_ingests()) else None

    def leave_out_set_aside(self) -> list[Source]:
        """Return the files that Kafka had set aside: the sources have none of their rows."""
        return [Source(name, None, 0, lambda *_: iter(())) for name in self._cluster.set_aside]

    def again(self) -> Self:
        """Return the same sources for another pass, with the ledgers that tables have."""
        beside = super().again()
        beside.ledgers = list(self.ledgers)
        # Where tables answered, none is left.
        beside.sources = self.sources or self._all
        return beside

    def _close(self, ledger: Ledger, source: Source) -> None:
        """Keep no ledger of rows: the tables have those of the files that they came from."""


def lake_evidence(
    lake: str,
    cluster: str | None = None,
    filters: Filters = EVERYTHING,
    listener: Listener | None = None,
    *,
    copies_asked: CopiesAsked = COPIES_ASKED,
    log_partition: int | None = None,
    groups: Sequence[str] = (),
    is_of_records: bool = False,
) -> Evidence:
    """Open a cluster of a lake as evidence; if it `is_of_records`, its table `log` as an archive. Errors as of LakeCluster."""
    opened = LakeCluster(lake, cluster)
    if is_of_records:
        return _archive_evidence(opened, filters, listener, log_partition)
    return LakeEvidence(
        opened,
        filters,
        listener,
        copies_asked=copies_asked,
        log_partition=log_partition,
        groups=NameFilter(groups),
    )


def _archive_evidence(
    cluster: LakeCluster, filters: Filters, listener: Listener | None, log_partition: int | None
) -> Evidence:
    """Return the table `log` of a cluster as an archive: its records, without their batches and files."""
    named = filters.log_partitions() | ({log_partition} - {None})
    path = (cluster.root / LOG.name).as_posix()
    logs = [log for log in cluster.logs() if not named or log.log_partition in named]
    return Evidence([_archive(path, log) for log in logs], filters, listener, paths=[path])


def _archive(path: str, log: LakeLog) -> Source:
    def read(ledger: Ledger, verify: bool) -> Iterator[Item]:
        for record in log.records():
            row = replace(record, batch=None)
            ledger.add(row)
            yield row

    return Source(path, log.log_partition, 0, read, is_archive=True)


def _source(path: str, log: LakeLog) -> Source:
    def read(ledger: Ledger, verify: bool) -> Iterator[Item]:
        return log.records()

    name = path if log.copy is None else log.copy.facts.name
    return Source(name, log.log_partition, log.bytes, read, stored=log)


def _numbers(row: SourceFields) -> list[int | None]:
    """Return the log partitions of a source."""
    if row["kind"] == ARCHIVE:
        return [each["log_partition"] for each in row["archived"]]
    return [row["log_partition"]]


def _ledger(row: SourceFields) -> LedgerEntry:
    source = from_shown(row["source"])
    own: Row = {
        "source": source,
        "is_archive": row["kind"] == ARCHIVE,
        "misplaced_ranges": _misplaced(row),
        "foreign_topics": {},
        "reasons": {each["reason"]: each["records"] for each in row["kept_raw_reasons"]},
        "unreadable": tuple(_unreadable(source, row)),
        "magics": tuple(row["magics"]),
        "codecs": tuple(map(Codec, row["codecs"])),
        "sha256": row["file_sha256"] or row["sha256"],
    }
    return LedgerEntry(**own, **{name: row[name] for name in _LEDGER if name not in own})


def _unreadable(source: str, row: SourceFields) -> Iterator[Unreadable]:
    for each in row["unreadable"]:
        yield Unreadable(source, each["position"], each["size"], each["reason"], UnreadableKind(each["kind"]))


def _misplaced(row: SourceFields) -> tuple[MisplacedRange, ...]:
    if not row["misplaced_batches"]:
        return ()
    first = row["first_misplaced_offset"]
    return (MisplacedRange(0, 0, row["misplaced_batches"], row["misplaced_records"], first, first, ""),)


def _record(row: Mapping[str, Any]) -> LogRecord:
    names = ("log_partition", "log_offset", "timestamp", "key", "value", "producer_id", "producer_epoch")
    type_ = row["timestamp_type"]
    kept: Row = {name: row[name] for name in (*names, "sequence", "is_transactional", "is_control")}
    return LogRecord(
        **kept,
        source=from_shown(row["source"]),
        headers=tuple(Header(each["key"], each["value"]) for each in row["headers"] or ()),
        timestamp_type=None if type_ is None else TimestampType(type_),
        batch=_batch(row),
    )


def _batch(row: Mapping[str, Any]) -> Batch | None:
    """Return the batch of a record as far as its row says it: neither its size nor its checksum; None of an archive's."""
    if row["base_offset"] is None or row["magic"] is None:
        return None
    names = ("magic", "base_offset", "last_offset", "producer_id", "producer_epoch", "base_sequence")
    kept: Row = {name: row[name] for name in (*names, "is_control", "delete_horizon_ms")}
    return Batch(
        **kept,
        position=row["batch_position"],
        size=-1,
        codec=Codec(row["codec"]),
        crc=0,
        crc_valid=True,
        timestamp_type=TimestampType(row["timestamp_type"]),
        base_timestamp=row["timestamp"],
        max_timestamp=row["timestamp"],
        count=-1,
        partition_leader_epoch=row["partition_leader_epoch"],
        is_transactional=bool(row["is_transactional"]),
    )

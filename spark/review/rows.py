"""The rows that a review of a lake is made of: those of groups of one cluster, read from the tables' files without Spark.

Texts and times have the form of the library's rows. Does not decide what a review shows.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.events import Event, decode
from offsets_tool.evidence.answers.cited_records import CitedPlace
from offsets_tool.findings.finders import worst_first
from offsets_tool.findings.group_rows import GroupRow
from offsets_tool.findings.rows import Finding
from offsets_tool.lake.tables import EXPIRY, FINDINGS, LOG, REBALANCES, REPLAYS, SOURCES, Table
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.log_clock import LogClock
from offsets_tool.rebalances.rows import HeldBack, MemberName, RebalanceRow
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.review.coverage import CoveredPartition
from offsets_tool.rows import Codec, Header, LogRecord, Row, TimestampType
from offsets_tool.wire.text import from_shown, shown
from spark.derived.derive import known_derivations
from spark.derived.expiry import facts_of_logs
from spark.derived.history_rows import KINDS, TABLES, column_values, is_counted, retention_of
from spark.ingest.plan import ARCHIVE, counts
from spark.lake.commit import Lake
from spark.lake.scan import FileFacts, is_within, scan
from spark.replay.plan import latest

GroupHome = tuple[str, int | None]
"""A group, and the log partition that has its records."""
_HOME: Final = ("group", "log_partition")
_MEMBERS: Final = ("joined", "left", "replaced", "resubscribed")


class ClusterTables(NamedTuple):
    """One cluster of a lake, and the groups that are asked about."""

    lake: Lake
    name: str
    asked: ReviewAsked

    def groups(self) -> dict[GroupHome, int]:
        """Return the wanted groups that have rows, each with the number of its offsets' rows; only their names are read."""
        offsets, *others = (self.rows_by_group(table) for table in TABLES)
        homes = {home for rows in (offsets, *others) for home in rows}
        return {home: offsets[home] for home in homes if self.asked.wanted.has_group(home[0])}

    def rows(self, table: Table, fields: Sequence[str], groups: Collection[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some groups; rows about no group are none of them."""
        names = sorted(map(shown, groups))

        def may_have(file: FileFacts) -> bool:
            return any(is_within(file, "group", each) for each in names)

        for rows in scan(self.lake, table, fields, [self.name], may_have=may_have):
            found = rows.filter(
                pc.is_in(rows.column("group").cast(pa.string()), pa.array(names, pa.string()))
            )
            if found.num_rows:
                yield found

    def group_rows(self, groups: Collection[str]) -> Iterator[GroupRow]:
        """Yield the rows of some groups, of all kinds that findings are made of."""
        expiry = known_derivations(self.lake, EXPIRY).get(self.name)
        retention_ms = expiry and retention_of(expiry)
        for table, kind in zip(TABLES, KINDS, strict=True):
            for rows in self.rows(table, kind._fields, groups):
                made = (kind._make(each) for each in _tuples(rows))
                yield from (row for row in made if is_counted(row, retention_ms))

    def findings(self) -> list[Finding]:
        """Return the findings of the wanted groups, and all about no group, the worst first."""
        found = map(self._wanted, scan(self.lake, FINDINGS, Finding._fields, [self.name]))
        return worst_first(Finding._make(each) for rows in found for each in _tuples(rows))

    def _wanted(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that are about no group or a wanted one."""
        groups = rows.column("group").cast(pa.string())
        names = (name for name in pc.unique(groups).to_pylist() if name is not None)
        wanted = [name for name in names if self.asked.wanted.has_group(from_shown(name))]
        return rows.filter(pc.or_(pc.is_null(groups), pc.is_in(groups, pa.array(wanted, pa.string()))))

    def rebalances(self, groups: Collection[str]) -> list[RebalanceRow]:
        """Return the rebalances of some groups, in the order of the log."""
        found = [
            _rebalance(each)
            for rows in self.rows(REBALANCES, RebalanceRow._fields, groups)
            for each in rows.to_pylist()
        ]
        return sorted(found, key=lambda each: each.log_offset)

    def rows_by_group(self, table: Table) -> Counter[GroupHome]:
        """Return how many rows of a table each group has; only names are read."""
        counts: Counter[GroupHome] = Counter()
        for rows in scan(self.lake, table, _HOME, [self.name]):
            for row in pa.table(rows).group_by(list(_HOME)).aggregate([([], "count_all")]).to_pylist():
                if row["group"] is not None:
                    counts[from_shown(row["group"]), row["log_partition"]] += row["count_all"]
        return counts

    def records(self, places: Iterable[CitedPlace]) -> dict[CitedPlace, list[Event]]:
        """Return the events at these places, decoded from their raw bytes; several where copies differ."""
        wanted = frozenset(places)
        offsets = pa.array(sorted({at for _, at in wanted}), pa.int64())
        found: dict[CitedPlace, list[Event]] = defaultdict(list)

        def may_have(file: FileFacts) -> bool:
            return any(
                (number is None or is_within(file, "log_partition", number))
                and is_within(file, "log_offset", at)
                for number, at in wanted
            )

        for rows in scan(self.lake, LOG, _LOG, [self.name], may_have=may_have):
            for row in rows.filter(pc.is_in(rows.column("log_offset"), offsets)).to_pylist():
                there = found[row["log_partition"], row["log_offset"]]
                event = decode(_record(row))
                if not any(_is_same(event, each) for each in there):
                    there.append(event)
        return {each: events for each, events in found.items() if each in wanted}


_LOG: Final = (
    *(
        "source",
        "log_partition",
        "log_offset",
        "timestamp",
        "timestamp_type",
        "producer_id",
        "producer_epoch",
    ),
    *("sequence", "is_transactional", "is_control", "misplaced", "headers", "key", "value"),
)


def files_of(of: ClusterTables) -> list[LedgerEntry]:
    """Return the files of a cluster as ledgers, one of each range that an ingest read."""
    sources = [
        row for row in of.lake.rows(SOURCES) if row["cluster"] == of.name and counts(row["kind"], row["fate"])
    ]
    order = sorted(sources, key=lambda row: (row["source"], row["range_start"], row["run"]))
    return list(map(_ledger, order))


_LEDGER: Final = tuple(field.name for field in fields(LedgerEntry))


def _ledger(row: Mapping[str, Any]) -> LedgerEntry:
    own: Row = {
        "source": from_shown(row["source"]),
        "is_archive": row["kind"] == ARCHIVE,
        "misplaced_ranges": (),
        "foreign_topics": {},
        "reasons": {each["reason"]: each["records"] for each in row["kept_raw_reasons"]},
        "unreadable": (),
        "magics": tuple(row["magics"]),
        "codecs": tuple(map(Codec, row["codecs"])),
        "sha256": row["file_sha256"] or row["sha256"],
    }
    return LedgerEntry(**own, **{name: row[name] for name in _LEDGER if name not in own})


class ReplayedCluster(NamedTuple):
    """How far a cluster's log partitions were replayed, in the order of their numbers, and what their clocks observed."""

    partitions: list[CoveredPartition]
    clocks: Mapping[int | None, LogClock]


def replayed_cluster(of: ClusterTables) -> ReplayedCluster:
    """Return how far a cluster's log partitions were replayed, and the clocks of these."""
    rows = latest(of.lake.rows(REPLAYS))
    replays = {log_partition: row for log_partition, row in rows.items() if log_partition[0] == of.name}
    facts = facts_of_logs(of.lake.root, replays)
    order = sorted(replays, key=lambda log_partition: -1 if log_partition[1] is None else log_partition[1])
    partitions = [
        CoveredPartition(
            log_partition[1],
            0,
            replays[log_partition]["next_log_offset"],
            None,
            replays[log_partition]["proven_from_log_offset"],
            False,
            facts[log_partition].newest,
            None,
            replays[log_partition]["first_contradicting_log_offset"],
        )
        for log_partition in order
    ]
    return ReplayedCluster(partitions, {number: facts[cluster, number].clock for cluster, number in order})


def _tuples(rows: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    return zip(*map(column_values, rows.columns), strict=True)


def _rebalance(row: Mapping[str, Any]) -> RebalanceRow:
    fields: Row = {name: _decoded(value) for name, value in row.items()}
    for name in _MEMBERS:
        fields[name] = tuple(MemberName(**each) for each in fields[name])
    fields["held_back"] = tuple(HeldBack(**each) for each in fields["held_back"] or ())
    return RebalanceRow(**fields)


def _decoded(value: Any) -> Any:
    """Return a value of the lake as rows of the library have it: texts decoded, times in epoch milliseconds."""
    if isinstance(value, str):
        return from_shown(value)
    if isinstance(value, dict):
        return {name: _decoded(each) for name, each in value.items()}
    if isinstance(value, list):
        return tuple(map(_decoded, value))
    return round(value.timestamp() * 1_000) if hasattr(value, "timestamp") else value


def _record(row: Mapping[str, Any]) -> LogRecord:
    fields = dict(row)
    headers = tuple(Header(each["key"], each["value"]) for each in fields.pop("headers") or ())
    type_ = fields.pop("timestamp_type")
    source = from_shown(fields.pop("source"))
    return LogRecord(
        **fields,
        source=source,
        headers=headers,
        timestamp_type=None if type_ is None else TimestampType(type_),
    )


def _is_same(one: Event, other: Event) -> bool:
    return (one.record.key, one.record.value) == (other.record.key, other.record.value)

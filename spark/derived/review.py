"""What an incident review says of groups of a lake: from its tables, as `offsets_tool.review` gathers it from a log.

Findings, histories and rebalances are the lake's rows; sentences are made of them as those of a log are. Starts no Spark: what is
of these groups is read from the tables' files. A plan needs the log itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.errors import UsageError
from offsets_tool.events import Event, decode
from offsets_tool.evidence.answers.cited_records import CitedPlace
from offsets_tool.evidence.findings.finding import GroupFindings
from offsets_tool.expiry.rows import ExpiryRow
from offsets_tool.findings.finders import worst_first
from offsets_tool.findings.group_rows import GroupRow, GroupRows, LogStretch, gather
from offsets_tool.findings.rows import Finding
from offsets_tool.findings.sentences import listed
from offsets_tool.lake.tables import EXPIRY, FINDINGS, LOG, REBALANCES, REPLAYS, Table
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.rebalances.rows import HeldBack, MemberName, RebalanceRow
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.review.citations import citations, places_named
from offsets_tool.review.coverage import CoveredPartition, EvidenceCoverage
from offsets_tool.review.review import MOST_GROUPS, MOST_RECORDS, Review, ReviewedGroup
from offsets_tool.review.stories import ToldGroup, group_story
from offsets_tool.review.verdict import Verdict
from offsets_tool.rows import Codec, Header, LogRecord, TimestampType
from offsets_tool.server_log.join import NO_SERVER_LOG
from offsets_tool.story.limits import unsaid
from offsets_tool.story.sentence import when
from offsets_tool.story.shapes import group_events
from offsets_tool.story.state import state_sentences
from offsets_tool.story.story import GroupStory
from offsets_tool.story.timeline import in_time
from offsets_tool.story.verdict import ranked_group, ranking
from offsets_tool.wire.text import from_shown
from spark.derived.derive import known_derivations, replayed
from spark.derived.expiry import facts_of_logs
from spark.derived.finding_rows import KINDS, TABLES, column_values
from spark.ingest.plan import ARCHIVE, counts
from spark.lake.commit import ArrowLake
from spark.lake.scan import scan
from spark.replay.plan import latest

LACKS: Final = (
    "It is made from the tables of a lake: the way back, brokers' own logs, lag and the bytes of groups need the log itself.",
)
_MEMBERS: Final = ("joined", "left", "replaced", "resubscribed")


class _Cluster(NamedTuple):
    """One cluster of a lake, and the groups that are asked about."""

    root: Path
    name: str
    asked: ReviewAsked

    def rows(self, table: Table, fields: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the wanted groups; rows about no group are none of them."""
        for rows in scan(self.root, table, fields, [self.name]):
            names = pc.unique(rows.column("group").cast(pa.string())).to_pylist()
            meant = [
                each for each in names if each is not None and self.asked.wanted.has_group(from_shown(each))
            ]
            if meant:
                wanted = pc.is_in(rows.column("group").cast(pa.string()), pa.array(meant, pa.string()))
                yield rows.filter(wanted)

    def group_rows(self) -> Iterator[GroupRow]:
        """Yield the rows of all kinds that findings are made of."""
        retention_ms = self._retention()
        for table, kind in zip(TABLES, KINDS, strict=True):
            for rows in self.rows(table, kind._fields):
                made = (kind._make(each) for each in _tuples(rows))
                yield from (row for row in made if _counts(row, retention_ms))

    def _retention(self) -> int | None:
        """Return the retention that counts, where expiry was asked for several."""
        expiry = known_derivations(self.root, EXPIRY).get(self.name)
        several = expiry.basis["asked"]["retentions"] if expiry else []
        return several[0] if len(several) > 1 else None

    def findings(self) -> list[Finding]:
        """Return the findings of the wanted groups in the range, the worst first."""
        found = (
            Finding._make(each) for rows in self.rows(FINDINGS, Finding._fields) for each in _tuples(rows)
        )
        return worst_first(filter(self.asked.shows, found))

    def rebalances(self) -> list[RebalanceRow]:
        """Return the rebalances of the wanted groups, in the order of the log."""
        found = [
            _rebalance(each)
            for rows in self.rows(REBALANCES, RebalanceRow._fields)
            for each in rows.to_pylist()
        ]
        return sorted(found, key=lambda each: each.log_offset)

    def records(self, places: Iterable[CitedPlace]) -> dict[CitedPlace, list[Event]]:
        """Return the events at these places, decoded from their raw bytes; several where copies differ."""
        wanted = frozenset(places)
        offsets = pa.array(sorted({at for _, at in wanted}), pa.int64())
        found: dict[CitedPlace, list[Event]] = defaultdict(list)
        for rows in scan(self.root, LOG, _LOG, [self.name]) if wanted else ():
            for row in rows.filter(pc.is_in(rows.column("log_offset"), offsets)).to_pylist():
                there = found[row["log_partition"], row["log_offset"]]
                event = decode(_record(row))
                if not any(_is_same(event, each) for each in there):
                    there.append(event)
        return {place: events for place, events in found.items() if place in wanted}


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


def review_of_lake(
    lake: str,
    asked: ReviewAsked,
    cluster: str | None = None,
    *,
    most_groups: int = MOST_GROUPS,
    most_records: int = MOST_RECORDS,
) -> Review:
    """Return the review of the groups that are asked for, of the only cluster of a lake, or of the one named.

    UsageError where the lake has several clusters and none is named, or an unknown one; where it has no findings yet; and where no
    group is asked for.
    """
    if not asked.wanted.groups:
        raise UsageError("a report of a lake is about groups: name them with --group")
    root = Path(lake).absolute()
    with replayed(root) as replays:
        name = _chosen(cluster, sorted(replays))
        derived = known_derivations(root, FINDINGS).get(name)
        if derived is None or derived.basis.get("replay") != replays[name]:
            raise UsageError(
                f"the findings of cluster {name!r} are not those of its last replay: run offsets-spark findings first"
            )
        return _review(_Cluster(root, name, asked), most_groups, most_records)


def _chosen(cluster: str | None, names: Sequence[str]) -> str:
    if cluster is None and len(names) > 1:
        raise UsageError(f"the lake has the clusters {listed(names)}: name one with --cluster")
    if cluster is not None and cluster not in names:
        raise UsageError(f"the lake has no cluster {cluster!r}: choose among {', '.join(names)}")
    return names[0] if cluster is None else cluster


def _review(of: _Cluster, most_groups: int, most_records: int) -> Review:
    partitions = _partitions(of)
    newest = max((each.newest_at for each in partitions if each.newest_at is not None), default=None)
    moment = f"At the end of the lake, {when(newest)}"
    groups = _groups(of, partitions)
    ranked = ranking(ranked_group(each.rows, each.findings, moment, None) for each in groups)
    numbers = {(each.group, each.log_partition): number for number, each in enumerate(ranked[:most_groups])}
    told = sorted(
        (each for each in groups if _home(each.rows) in numbers), key=lambda each: numbers[_home(each.rows)]
    )
    rebalances = of.rebalances()
    sentences = [
        _coverage(each) for each in partitions if each.log_partition in {row.log_partition for row in ranked}
    ]
    timeline = in_time([group_story(each, of.asked, NO_SERVER_LOG) for each in told])
    verdict = Verdict(ranked, [], sentences)
    places, named = places_named(worst_first(verdict.findings), timeline, (), most_records)
    return Review(
        of.asked,
        verdict,
        EvidenceCoverage(_files(of), partitions, sentences, ()),
        [
            ReviewedGroup(
                ranked[numbers[_home(each.rows)]],
                each.rows,
                each.findings,
                _told(each, moment, of.asked),
                [row for row in rebalances if (row.group, row.log_partition) == _home(each.rows)],
            )
            for each in told
        ],
        timeline,
        None,
        citations(of.records(places), places, named),
        unsaid(False),
        newest,
    )


def _counts(row: GroupRow, retention_ms: int | None) -> bool:
    """Return whether a row is none of a forecast by another retention."""
    if retention_ms is None or not isinstance(row, ExpiryRow):
        return True
    return row.status != "live" or row.retention_ms == retention_ms


def _home(rows: GroupRows) -> tuple[str, int | None]:
    return rows.group, rows.log_partition


def _told(found: GroupFindings, moment: str, asked: ReviewAsked) -> ToldGroup:
    rows = found.rows
    state = list(state_sentences(rows, moment, asked.wanted))
    events, story = (
        group_events(rows, asked.wanted),
        GroupStory(rows, found.findings, asked.wanted).sentences(),
    )
    return ToldGroup(rows.group, rows.log_partition, events, story, state, [], unsaid(False))


def _groups(of: _Cluster, partitions: Iterable[CoveredPartition]) -> list[GroupFindings]:
    stretches = {
        each.log_partition: LogStretch(each.log_partition, each.proven_from, each.end, each.newest_at)
        for each in partitions
    }
    rows: dict[int | None, list[GroupRow]] = defaultdict(list)
    for row in of.group_rows():
        rows[row.log_partition].append(row)
    findings: dict[tuple[str | None, int | None], list[Finding]] = defaultdict(list)
    for finding in of.findings():
        findings[finding.group, finding.log_partition].append(finding)
    return [
        GroupFindings(group, findings[_home(group)])
        for number, some in rows.items()
        for _, group in sorted(gather(some, stretches.get(number, LogStretch(number))).items())
    ]


def _partitions(of: _Cluster) -> list[CoveredPartition]:
    rows = latest(ArrowLake(of.root).rows(REPLAYS))
    replays = {place: row for place, row in rows.items() if place[0] == of.name}
    facts = facts_of_logs(of.root, replays)
    order = sorted(replays, key=lambda place: -1 if place[1] is None else place[1])
    return [
        CoveredPartition(
            place[1],
            0,
            replays[place]["next_log_offset"],
            None,
            replays[place]["proven_from_log_offset"],
            False,
            facts[place].newest,
            None,
        )
        for place in order
    ]


def _coverage(partition: CoveredPartition) -> str:
    number = partition.log_partition
    if not partition.proven_from:
        return f"The evidence is complete: every record of partition {number} is here."
    return f"Every record of partition {number} is here from {number}:{partition.proven_from} on."


def _files(of: _Cluster) -> list[LedgerEntry]:
    """Return the files of the cluster as ledgers, one of each range that an ingest read."""
    sources = [
        row
        for row in ArrowLake(of.root).sources()
        if row["cluster"] == of.name and counts(row["kind"], row["fate"])
    ]
    order = sorted(sources, key=lambda row: (row["source"], row["range_start"], row["run"]))
    return list(map(_ledger, order))


def _ledger(row: Mapping[str, Any]) -> LedgerEntry:
    same = {
        name: row[name]
        for name in (
            *(
                "log_partition",
                "bytes",
                "bytes_in_batches",
                "bytes_unreadable",
                "batches",
                "empty_batches",
                "out_of_order_batches",
            ),
            *(
                "misplaced_batches",
                "records",
                "records_unreadable",
                "decoded_records",
                "raw_records",
                "control_records",
            ),
            *("foreign_rows", "first_offset", "last_offset", "min_timestamp", "max_timestamp"),
        )
    }
    return LedgerEntry(
        **same,
        source=from_shown(row["source"]),
        is_archive=row["kind"] == ARCHIVE,
        misplaced_ranges=(),
        reasons={each["reason"]: each["records"] for each in row["kept_raw_reasons"]},
        unreadable=(),
        magics=tuple(row["magics"]),
        codecs=tuple(map(Codec, row["codecs"])),
        sha256=row["file_sha256"] or row["sha256"],
    )


def _tuples(rows: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    return zip(*map(column_values, rows.columns), strict=True)


def _rebalance(row: Mapping[str, Any]) -> RebalanceRow:
    fields: dict[str, Any] = {name: _decoded(value) for name, value in row.items()}
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

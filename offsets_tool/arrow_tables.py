"""Evidence as Arrow tables, for notebooks and other programs: its files, its records, and what commands show of them.

Tables are held in memory whole; what is larger belongs in a lake. Columns are those of the lake's tables, but for `cluster` and
`run`, where it has such a table. Decodes, replays and finds nothing itself.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.columns.decode import decode_batches, log_batches
from offsets_tool.columns.reading import RowReader
from offsets_tool.evidence.answers.assignments import assignments_of
from offsets_tool.evidence.answers.files import FileRow, file_rows
from offsets_tool.evidence.clock_places import tell_range
from offsets_tool.evidence.ends import KnownEnds
from offsets_tool.evidence.evidence import Evidence, open_evidence
from offsets_tool.evidence.expiring import PolicyGiven
from offsets_tool.evidence.findings.finding import LogFindings, findings_of
from offsets_tool.evidence.findings.rebalances import rebalances_in
from offsets_tool.evidence.lagging import lag_rows, replay_for_lag
from offsets_tool.evidence.lanes import rows_pay
from offsets_tool.evidence.moments.moment_texts import Clock
from offsets_tool.evidence.replaying import END, EvidenceReplay, moment_asked
from offsets_tool.evidence.sources import Source
from offsets_tool.findings.rows import Finding
from offsets_tool.history.assignments import AssignmentRow, assignment_rows
from offsets_tool.history.replayed_rows import replayed_rows
from offsets_tool.history.rows import (
    AnomalyRow,
    GroupHistoryRow,
    MemberHistoryRow,
    OffsetHistoryRow,
)
from offsets_tool.lag.rows import LagRow
from offsets_tool.rebalances.rows import RebalanceRow
from offsets_tool.review.asked import ReviewAsked, asked_about
from offsets_tool.review.review import Review
from offsets_tool.review.stories import timeline_of
from offsets_tool.review.table_rows import (
    RankedGroupRow,
    TimelineRow,
    ToSetRow,
    ranked_row,
    timeline_row,
    to_set_row,
)
from offsets_tool.server_log.parse import read_server_logs
from offsets_tool.table_rows import EventRow
from offsets_tool.wire.arrow import arrow_schema, shown_batch
from offsets_tool.wire.text import shown

_HISTORIES: Final[dict[str, type]] = {
    "offset_history": OffsetHistoryRow,
    "group_history": GroupHistoryRow,
    "member_history": MemberHistoryRow,
    "anomalies": AnomalyRow,
}
_OF_LAKES: Final = ["cluster", "run"]
"""Columns that tell rows of one lake apart, and are the same in all rows here."""
_Path = str | os.PathLike[str]
_Names = str | Sequence[str] | None
"""A name or a pattern such as "orders-*", several of them, or None for all."""


def read_files(*paths: _Path, **options: Any) -> pa.Table:
    """Return what the evidence is, a row a file: its hash, where every byte and record of it went, what it covers.

    Everything is read and counted, as by `offsets-tool inspect`. Columns are those of `evidence.answers.files.FileRow`, options
    those of `open_evidence`. SourceError for a path that cannot be read.

    >>> files = read_files("fixtures/corpora/3.9.2-txn/segments")
    >>> files.num_rows, all(files["adds_up"].to_pylist()), sum(files["records"].to_pylist())
    (4, True, 97)
    """
    with open_evidence(*paths, **options) as evidence:
        return _table(FileRow, file_rows(evidence))


def read_events(*paths: str | os.PathLike[str], **options: Any) -> pa.Table:
    """Return every record below the paths, decoded: an Arrow table with the columns of the lake's `events`.

    A commit has its fields in columns; all other kinds have Kafka's JSON in `value_json`; what did not read is in `problem`.
    Options are those of `open_evidence`, but for `filters`. SourceError for a path that cannot be read.

    >>> table = read_events("fixtures/corpora/3.9.2-txn/segments")
    >>> table.num_rows, table.column("group")[0].as_py()
    (97, 'shipping-hangonly-17b3')
    >>> frame = table.to_pandas()  # with pandas, of the extras `spark` and `notebook`
    """
    schema = arrow_schema(EventRow)
    with open_evidence(*paths, **options) as evidence:
        batches = [batch.cast(schema) for batch in _batches(evidence)]
    return pa.Table.from_batches(batches, schema).drop_columns(_OF_LAKES)


def _batches(evidence: Evidence) -> Iterator[pa.RecordBatch]:
    reader = RowReader(log=False, fast=rows_pay(evidence.sources))
    for source in evidence.sources:
        if source.segment is None:
            yield from _of_records(evidence, source)
        else:
            yield from (read.events for read in evidence.rows(source, reader) if read.events is not None)


def _of_records(evidence: Evidence, source: Source) -> Iterator[pa.RecordBatch]:
    """Yield the rows of an archive or a live topic. The ledger counts events, so each record is decoded for it first."""
    records = (event.record for item in evidence.items(source) for event in evidence.decoded(item))
    return decode_batches(log_batches(records, cluster="", source=shown(source.name), run=0))


def read_histories(*paths: str | os.PathLike[str], **options: Any) -> dict[str, pa.Table]:
    """Return what held from one record to the next, by name: `offset_history`, `group_history`, `member_history`, `anomalies`.

    Each is an Arrow table with the columns of the lake's table of that name; what still holds has no `to_log_offset`. Options are
    those of `open_evidence`: of several copies of a partition, view="evidence" gives what is known to have happened. UsageError for
    copies of two clusters, SourceError for a path that cannot be read.

    >>> histories = read_histories("fixtures/corpora/2.4.1-mix/segments")
    >>> offsets = histories["offset_history"]
    >>> [row["delta"] for row in offsets.to_pylist() if row["group"] == "iris_pricing" and (row["delta"] or 0) < 0]
    [-3681, -556552787]
    >>> nights = [f"fixtures/corpora-replicated/4.1.2-nightly/copies/{name}" for name in ("night-1", "final")]
    >>> [read_histories(*nights, view=view)["offset_history"].num_rows for view in ("coordinator", "evidence")]
    [35, 178]
    """
    rows: dict[type, list[tuple[Any, ...]]] = {row: [] for row in _HISTORIES.values()}
    with EvidenceReplay(open_evidence(*paths, **options)) as replay:
        name_of = replay.run().names.name
        for _, replayed in replay.once_more():
            for row in replayed_rows(replayed, name_of):
                rows[type(row)].append(row)
    return {name: _table(row, rows[row]) for name, row in _HISTORIES.items()}


def read_findings(
    *paths: _Path,
    group: _Names = None,
    topic: _Names = None,
    since: str | None = None,
    until: str | None = None,
    zone: str | None = None,
    server_logs: Sequence[_Path] = (),
    policy: PolicyGiven | None = None,
    **options: Any,
) -> pa.Table:
    """Return what is wrong or odd, the worst first, as `offsets-tool findings` does: the columns of the lake's `findings`.

    `group` and `topic` are names or patterns, `since` and `until` a time in `zone` (else UTC) or a place of the log; `server_logs`
    are brokers' own logs, `policy` what is known of their settings. Other options are those of `open_evidence`, but for `filters`.
    UsageError for a text that does not read, SourceError for a path that cannot be read.

    >>> found = read_findings("fixtures/incidents/reset-to-earliest/segments")
    >>> found.select(["kind", "severity", "group"]).to_pylist()
    [{'kind': 'reset', 'severity': 'warning', 'group': 'payments'}]
    """
    asked, replay = _asked(
        paths, options, Clock.in_zone(zone), group=group, topic=topic, since=since, until=until
    )
    with replay:
        found = findings_of(replay, policy or PolicyGiven(), read_server_logs(_texts(server_logs)))
        return _table(Finding, (each for each in found if asked.shows(each)))


def read_timeline(
    *paths: _Path,
    group: _Names = None,
    topic: _Names = None,
    since: str | None = None,
    until: str | None = None,
    zone: str | None = None,
    server_logs: Sequence[_Path] = (),
    policy: PolicyGiven | None = None,
    is_whole: bool = False,
    **options: Any,
) -> pa.Table:
    """Return what happened in the order of time, a sentence a row, as `offsets-tool timeline` does.

    `is_whole` tells each commit and each rebalance of a storm by itself; all else is as for `read_findings`.

    >>> told = read_timeline("fixtures/incidents/reset-to-earliest/segments", group="payments", since="2026-11-23T02:30:14Z")
    >>> told["text"][0].as_py()[:51]
    'WARNING: 4 offsets of group payments of topic charg'
    """
    asked, replay = _asked(
        paths, options, Clock.in_zone(zone), group=group, topic=topic, since=since, until=until
    )
    with replay:
        found = LogFindings(replay, policy or PolicyGiven(), read_server_logs(_texts(server_logs)))
        return _table(TimelineRow, map(timeline_row, timeline_of(found, asked, is_whole=is_whole)))


def read_rebalances(
    *paths: _Path,
    group: _Names = None,
    topic: _Names = None,
    since: str | None = None,
    until: str | None = None,
    zone: str | None = None,
    server_logs: Sequence[_Path] = (),
    **options: Any,
) -> pa.Table:
    """Return each rebalance of the groups, as `offsets-tool rebalances` does: the columns of the lake's `rebalances`.

    Options are as for `read_findings`.

    >>> rows = read_rebalances("fixtures/incidents/reset-to-earliest/segments", group="payments")
    >>> rows.num_rows, rows["cause"][2].as_py()
    (7, 'member_left')
    """
    asked, replay = _asked(
        paths, options, Clock.in_zone(zone), group=group, topic=topic, since=since, until=until
    )
    with replay:
        found = rebalances_in(replay, asked.wanted, read_server_logs(_texts(server_logs)))
        return _table(RebalanceRow, (row for row in found if asked.shows_rebalance(row)))


def read_assignments(
    *paths: _Path,
    group: _Names = None,
    topic: _Names = None,
    partition: int | None = None,
    as_of: str | AsOf = END,
    zone: str | None = None,
    is_over_time: bool = True,
    **options: Any,
) -> pa.Table:
    """Return who owned which partition from when to when, as `offsets-tool assignments --over-time` does.

    `as_of` is the moment up to which it is told, as for `snapshot_of`; without `is_over_time` the rows are those that hold then.
    Columns are those of the lake's view `assignments`; other options are as for `read_findings`.

    >>> rows = read_assignments("fixtures/incidents/reset-to-earliest/segments", group="payments", topic="charges", partition=3)
    >>> [client.as_py() for client in rows["client_id"]]
    ['payments-1', 'payments-2', 'payments-2', 'payments-1']
    """
    asked, replay = _asked(
        paths, options, Clock.in_zone(zone), as_of, group=group, topic=topic, partition=partition
    )
    with replay:
        replay.run()
        rows = assignments_of(replay, asked.wanted)
        return _table(AssignmentRow, (row for row in rows if is_over_time or row.to_log_offset is None))


def read_lag(
    *paths: _Path,
    group: _Names = None,
    topic: _Names = None,
    partition: int | None = None,
    as_of: str | AsOf = END,
    zone: str | None = None,
    ends: Sequence[_Path] = (),
    **options: Any,
) -> pa.Table:
    """Return how far behind groups were at a moment, as `offsets-tool lag` does: the columns of the lake's `lag`, and `is_proven`.

    `ends` are files of end offsets; directories of data topics beside the log tell ends too. Where compaction took the committed
    offset, `is_proven` is false and what follows from it is null. All else is as for `read_assignments`.

    >>> behind = read_lag("fixtures/lag/broker", topic="lag-created")
    >>> behind.select(["group", "lag", "time_lag_ms"]).to_pylist()[1]
    {'group': 'lag-behind', 'lag': 67, 'time_lag_ms': 68294}
    """
    asked, replay = _asked(
        paths, options, Clock.in_zone(zone), as_of, group=group, topic=topic, partition=partition
    )
    logs, files = _texts(paths), _texts(ends)
    known = KnownEnds(logs, files=files, note=replay.evidence.note)
    with replay:
        rows = lag_rows(replay_for_lag(replay, known, asked.wanted), known, asked.wanted)
    table = _table(LagRow, (tuple(row[name] for name in LagRow._fields) for row in rows))
    nullable = pa.schema([field.with_nullable(True) for field in table.schema])
    return table.cast(nullable).append_column(
        "is_proven", pa.array([row["is_proven"] for row in rows], pa.bool_())
    )


def review_tables(review: Review) -> dict[str, pa.Table]:
    """Return what a review says as Arrow tables, by name; names in them are as tables show them.

    Of all that is asked about: `groups` by rank, `findings`, `timeline`, and `plan`, what it would set or leaves alone. Of the
    groups that are told in detail, up to the end of the log: `rebalances`, `assignments`, `offset_history`, `group_history`,
    `member_history`.

    >>> from offsets_tool import review_of
    >>> tables = review_tables(review_of("fixtures/incidents/reset-to-earliest/segments", group="payments"))
    >>> [(name, tables[name].num_rows) for name in ("groups", "findings", "plan", "rebalances", "offset_history")]
    [('groups', 1), ('findings', 1), ('plan', 4), ('rebalances', 7), ('offset_history', 108)]
    """
    rows = [each.rows for each in review.groups]
    return {
        "groups": _table(RankedGroupRow, map(ranked_row, review.verdict.ranked)),
        "findings": _table(Finding, review.findings),
        "timeline": _table(TimelineRow, map(timeline_row, review.timeline)),
        "plan": _table(ToSetRow, map(to_set_row, [] if review.plan is None else review.plan.page.rows)),
        "rebalances": _table(RebalanceRow, (row for each in review.groups for row in each.rebalances)),
        "assignments": _table(AssignmentRow, (row for each in rows for row in assignment_rows(each.members))),
        "offset_history": _table(OffsetHistoryRow, (row for each in rows for row in each.offsets)),
        "group_history": _table(GroupHistoryRow, (row for each in rows for row in each.groups)),
        "member_history": _table(MemberHistoryRow, (row for each in rows for row in each.members)),
    }


def _asked(
    paths: Sequence[_Path], options: dict[str, Any], clock: Clock, as_of: str | AsOf = END, **about: Any
) -> tuple[ReviewAsked, EvidenceReplay]:
    """Return what is asked about, and a replay of the evidence to a moment."""
    asked = asked_about(clock, **about)
    evidence = open_evidence(*paths, **options)
    tell_range(evidence, asked.range, clock)
    return asked, EvidenceReplay(evidence, moment_asked(evidence, as_of, clock))


def _texts(paths: Sequence[_Path]) -> list[str]:
    return [os.fspath(path) for path in paths]


def _table(row: type, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    return pa.Table.from_batches([shown_batch(row, list(rows))])

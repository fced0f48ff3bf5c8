"""The answers of commands as Arrow tables: findings, sentences, rebalances, owners, lag; and all tables of a review.

Each function takes the options of its command, and computes nothing itself.
"""

import os
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from offsets_tool.arrow_tables.table_of_rows import AnyPath, table_of
from offsets_tool.as_of.as_of import AsOf
from offsets_tool.evidence.answers.assignments import assignments_of
from offsets_tool.evidence.ends import EndSources
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.evidence.findings.finding import LogFindings, findings_of
from offsets_tool.evidence.findings.rebalances import rebalances_in
from offsets_tool.evidence.lagging import lag_rows, replay_for_lag
from offsets_tool.evidence.moments.moment_texts import Clock
from offsets_tool.evidence.replaying import END, EvidenceReplay, moment_asked
from offsets_tool.evidence.understood_moments import note_range
from offsets_tool.findings.rows import Finding
from offsets_tool.history.assignments import AssignmentRow, assignment_rows
from offsets_tool.history.rows import (
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

_Names = str | Sequence[str] | None
"""A name or a pattern such as "orders-*", several of them, or None for all."""


def read_findings(
    *paths: AnyPath,
    group: _Names = None,
    topic: _Names = None,
    since: str | None = None,
    until: str | None = None,
    zone: str | None = None,
    server_logs: Sequence[AnyPath] = (),
    policy: PolicyOverrides | None = None,
    **options: Any,
) -> pa.Table:
    """Return what is wrong or odd, the worst first, as `offsets-tool findings` does: the columns of the lake's `findings`.

    `group` and `topic` are names or patterns, `since` and `until` a time in `zone` (else UTC) or a place of the log; `server_logs`
    are brokers' own logs, `policy` what is known of their settings. Other options are those of `open_evidence`, but for `filters`.
    UsageError for an option that cannot be parsed, SourceError for a path that cannot be read.

    >>> found = read_findings("fixtures/incidents/reset-to-earliest/segments")
    >>> found.select(["kind", "severity", "group"]).to_pylist()
    [{'kind': 'reset', 'severity': 'warning', 'group': 'payments'}]
    """
    asked, replay = _asked(
        paths, options, Clock.in_zone(zone), group=group, topic=topic, since=since, until=until
    )
    with replay:
        found = findings_of(replay, policy or PolicyOverrides(), read_server_logs(_texts(server_logs)))
        return table_of(Finding, (each for each in found if asked.shows(each)))


def read_timeline(
    *paths: AnyPath,
    group: _Names = None,
    topic: _Names = None,
    since: str | None = None,
    until: str | None = None,
    zone: str | None = None,
    server_logs: Sequence[AnyPath] = (),
    policy: PolicyOverrides | None = None,
    is_whole: bool = False,
    **options: Any,
) -> pa.Table:
    """Return what happened in the order of time, a sentence a row, as `offsets-tool timeline` does.

    `is_whole` has a row for each commit and each rebalance of a storm; other options are as for `read_findings`.

    >>> told = read_timeline("fixtures/incidents/reset-to-earliest/segments", group="payments", since="2026-11-23T02:30:14Z")
    >>> told["text"][0].as_py()[:51]
    'WARNING: 4 offsets of group payments of topic charg'
    """
    asked, replay = _asked(
        paths, options, Clock.in_zone(zone), group=group, topic=topic, since=since, until=until
    )
    with replay:
        found = LogFindings(replay, policy or PolicyOverrides(), read_server_logs(_texts(server_logs)))
        return table_of(TimelineRow, map(timeline_row, timeline_of(found, asked, is_whole=is_whole)))


def read_rebalances(
    *paths: AnyPath,
    group: _Names = None,
    topic: _Names = None,
    since: str | None = None,
    until: str | None = None,
    zone: str | None = None,
    server_logs: Sequence[AnyPath] = (),
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
        return table_of(RebalanceRow, (row for row in found if asked.shows_rebalance(row)))


def read_assignments(
    *paths: AnyPath,
    group: _Names = None,
    topic: _Names = None,
    partition: int | None = None,
    as_of: str | AsOf = END,
    zone: str | None = None,
    is_over_time: bool = True,
    **options: Any,
) -> pa.Table:
    """Return who owned which partition from when to when, as `offsets-tool assignments --over-time` does.

    `as_of` is the moment at which the history ends, as for `snapshot_of`; without `is_over_time` only rows that hold then count.
    Columns are those of the lake's view `assignments`; other options are as for `read_findings`.

    >>> rows = read_assignments("fixtures/incidents/reset-to-earliest/segments", group="payments", topic="charges", partition=3)
    >>> [client.as_py() for client in rows["client_id"]]
    ['payments-1', 'payments-2', 'payments-2', 'payments-1']
    """
    asked, replay = _asked(
        paths, options, Clock.in_zone(zone), as_of, group=group, topic=topic, partition=partition
    )
    with replay:
        rows = assignments_of(replay, asked.wanted)
        return table_of(AssignmentRow, (row for row in rows if is_over_time or row.to_log_offset is None))


def read_lag(
    *paths: AnyPath,
    group: _Names = None,
    topic: _Names = None,
    partition: int | None = None,
    as_of: str | AsOf = END,
    zone: str | None = None,
    ends: Sequence[AnyPath] = (),
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
    evidence, files = replay.evidence, _texts(ends)
    known = EndSources(_texts(paths), stored=evidence.stored_ends, files=files, note=evidence.note)
    with replay:
        rows = lag_rows(replay_for_lag(replay, known, asked.wanted), known, asked.wanted)
    table = table_of(LagRow, (tuple(row[name] for name in LagRow._fields) for row in rows))
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
        "groups": table_of(RankedGroupRow, map(ranked_row, review.verdict.ranked)),
        "findings": table_of(Finding, review.findings),
        "timeline": table_of(TimelineRow, map(timeline_row, review.timeline)),
        "plan": table_of(ToSetRow, map(to_set_row, [] if review.plan is None else review.plan.page.rows)),
        "rebalances": table_of(RebalanceRow, (row for each in review.groups for row in each.rebalances)),
        "assignments": table_of(
            AssignmentRow, (row for each in rows for row in assignment_rows(each.members))
        ),
        "offset_history": table_of(OffsetHistoryRow, (row for each in rows for row in each.offsets)),
        "group_history": table_of(GroupHistoryRow, (row for each in rows for row in each.groups)),
        "member_history": table_of(MemberHistoryRow, (row for each in rows for row in each.members)),
    }


def _asked(
    paths: Sequence[AnyPath], options: dict[str, Any], clock: Clock, as_of: str | AsOf = END, **about: Any
) -> tuple[ReviewAsked, EvidenceReplay]:
    """Return the parsed options of a question, and a replay of the evidence to a moment."""
    asked = asked_about(clock, **about)
    evidence = open_evidence(*paths, groups=asked.wanted.groups.texts, **options)
    note_range(evidence, asked.range, clock)
    return asked, EvidenceReplay(evidence, moment_asked(evidence, as_of, clock))


def _texts(paths: Sequence[AnyPath]) -> list[str]:
    return [os.fspath(path) for path in paths]

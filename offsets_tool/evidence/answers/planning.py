"""The way back to a moment: one evidence replayed to that moment and to its end, and each committed offset compared.

What is to be done with an offset, and what speaks against it, is decided by offsets_tool.plans. Runs nothing, writes to no cluster.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot
from offsets_tool.as_of.transactions import open_rows
from offsets_tool.as_of.views_offsets import current_homes, empty_offset_row, is_current, offset_rows
from offsets_tool.evidence.ends import EndSources
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.evidence.findings.finding import partition_rows
from offsets_tool.evidence.lagging import find_ends, lags_of_rows
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.expiry.rules import Policy
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.lag.rows import LagRow
from offsets_tool.plans.cases import GroupCase, OffsetCase
from offsets_tool.plans.plan import plan_row
from offsets_tool.plans.rows import PlanAction, PlanRow
from offsets_tool.replay.changes import GroupKind, OffsetOf
from offsets_tool.rows import Row
from offsets_tool.wire.json import release_of

_Home = tuple[int | None, str]
"""A log partition and a group in it."""


class Plan(NamedTuple):
    """The way back to a moment."""

    rows: list[PlanRow]
    """One of each committed offset that is there at the moment or at the end, by group, topic and partition."""
    transactions: list[Row]
    """The open transactions, as `as_of.transactions` makes them, of the groups that have rows."""
    moment: Snapshot
    end: Snapshot

    def with_action(self, action: PlanAction) -> list[PlanRow]:
        """Return the rows with which this is to be done."""
        return [row for row in self.rows if row.action is action]


class _Standing(NamedTuple):
    """A committed offset at the moment and at the end."""

    moment: Row
    current: Row


def plan_back(
    replay: EvidenceReplay, at_end: EvidenceReplay, ends: EndSources, given: PolicyOverrides, wanted: Wanted
) -> Plan:
    """Run both replays, to the moment and to the end of the same evidence, and return the way back for the wanted groups.

    What `at_end` notes is noted by the evidence of `replay` too, unless that has noted the same.
    """
    snapshot = replay.run()
    partitions = partition_rows(at_end, given)
    for text in at_end.evidence.notes:
        replay.evidence.note_once(text)
    groups = [rows for partition in partitions for rows in partition.groups(wanted)]
    return plan_between(snapshot, at_end.snapshot, groups, ends, wanted)


def plan_between(
    snapshot: Snapshot, end: Snapshot, groups: Iterable[GroupRows], ends: EndSources, wanted: Wanted
) -> Plan:
    """Return the way back from one moment of an evidence, its end, to another; `groups` are the rows up to the end."""
    standing = _standing(snapshot, end, wanted)
    lags = _lags(end, ends, standing)
    cases = _cases(groups, standing, lags, snapshot, end)
    found = [plan_row(case) for case in cases]
    found.sort(key=lambda row: row[:3])
    groups_found = {row.group for row in found}
    open_ = [row for row in open_rows(end, wanted) if groups_found.intersection(row["groups"])]
    return Plan(found, open_, snapshot, end)


def _standing(snapshot: Snapshot, end: Snapshot, wanted: Wanted) -> dict[_Home, dict[OffsetOf, _Standing]]:
    """Return both rows of each offset that has a committed offset at the moment or at the end, or may have had one."""
    homes = current_homes(end)
    then, now = (
        _at_home(_by_home(offset_rows(snapshot, wanted)), snapshot, homes),
        _by_home(offset_rows(end, wanted)),
    )
    before, after = ({p.log_partition: p for p in each} for each in (snapshot, end))
    asked = snapshot.as_of.ends
    found: dict[_Home, dict[OffsetOf, _Standing]] = defaultdict(dict)
    for home, offset in dict.fromkeys((*then, *now)):
        log_partition = home[0]
        if asked is not None and log_partition not in asked:
            continue
        if not is_current(homes, offset.group, log_partition):
            continue
        was = then.get((home, offset)) or empty_offset_row(before[log_partition], offset)
        is_ = now.get((home, offset)) or empty_offset_row(after[log_partition], offset)
        if not was["is_proven"] or any(row["committed_offset"] is not None for row in (was, is_)):
            found[home][offset] = _Standing(was, is_)
    return found


def _at_home(
    rows: dict[tuple[_Home, OffsetOf], Row], snapshot: Snapshot, homes: Mapping[str, int | None]
) -> dict[tuple[_Home, OffsetOf], Row]:
    """Return the rows of a moment, those of a group that lies in several log partitions by the one of `homes`, where it lives now.

    They are those of the log partition where it lived then.
    """
    lived = current_homes(snapshot)
    found = {}
    for ((log_partition, group), offset), row in rows.items():
        home = homes.get(group, log_partition)
        if home == log_partition and is_current(lived, group, log_partition):
            found[(log_partition, group), offset] = row
        elif home is not None and is_current(lived, group, log_partition):
            found[(home, group), offset] = row
    return found


def _by_home(rows: Iterable[Row]) -> dict[tuple[_Home, OffsetOf], Row]:
    return {
        ((row["log_partition"], row["group"]), OffsetOf(row["group"], row["topic"], row["partition"])): row
        for row in rows
    }


def _lags(
    end: Snapshot, ends: EndSources, standing: Mapping[_Home, Mapping[OffsetOf, _Standing]]
) -> dict[OffsetOf, LagRow]:
    """Return the lag at the end of the log that each offset to be set would have, by group, topic and partition."""
    rows = [
        each.moment for of_group in standing.values() for each in of_group.values() if _has_lag(each, ends)
    ]
    find_ends(end, ends, rows)
    lags = lags_of_rows(rows, ends, reads_records=False)
    return {OffsetOf(lag.group, lag.topic, lag.partition): lag for lag in lags}


def _has_lag(standing: _Standing, ends: EndSources) -> bool:
    """Return whether the lag of an offset of the moment is wanted: of one that stands there still, only where ends are known."""
    offset = standing.moment["committed_offset"]
    return offset is not None and (ends.has_any or offset != standing.current["committed_offset"])


def _cases(
    groups: Iterable[GroupRows],
    standing: Mapping[_Home, Mapping[OffsetOf, _Standing]],
    lags: Mapping[OffsetOf, LagRow],
    snapshot: Snapshot,
    end: Snapshot,
) -> Iterator[OffsetCase]:
    before, after = ({p.log_partition: p for p in each} for each in (snapshot, end))
    there = {group for partition in before.values() for group in _groups_there(partition)}
    for rows in groups:
        number = rows.log_partition
        offsets = standing.get((number, rows.group))
        if not offsets:
            continue
        of = GroupCase(
            rows,
            after[number],
            before[number].end,
            rows.group in there,
            _kind(before[number], rows.group),
            _policy(rows),
            end.newest_timestamp,
        )
        for offset, (then, now) in offsets.items():
            yield OffsetCase(of, offset, then, now, lags.get(offset))


def _groups_there(partition: PartitionSnapshot) -> set[str]:
    """Return the groups that were there at the moment, or may have been."""
    return {*partition.state.groups, *(subject.group for subject in partition.unknown)}


def _kind(partition: PartitionSnapshot, group: str) -> GroupKind | None:
    state = partition.state.groups.get(group)
    return None if state is None else state.kind


def _policy(rows: GroupRows) -> Policy | None:
    """Return the last policy by which the group's offsets were judged; None if it never had any."""
    policies = (
        Policy(release_of(row.release), row.retention_ms, row.check_interval_ms) for row in rows.expiry
    )
    return max(policies, key=lambda policy: (policy.release, policy.retention_ms), default=None)

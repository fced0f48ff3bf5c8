"""The input of the pictures of one group: its rows, findings, rebalances and lag in a window of time, on one axis.

Decides which of them are in the window and wanted; draws nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from offsets_tool.as_of.selection import Wanted
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding
from offsets_tool.history.rows import GroupHistoryRow, LastingRow, OffsetHistoryRow
from offsets_tool.lag.rows import LagRow
from offsets_tool.plots.labels import Labels
from offsets_tool.plots.time_axis import TimeAxis, axis_of
from offsets_tool.rebalances.rows import RebalanceRow
from offsets_tool.story.story import concerns, record_times
from offsets_tool.wire.times import LAST_MILLISECOND, is_time


@dataclass(frozen=True)
class GroupScene:
    """One group in a window of time, with all that its pictures are drawn from."""

    rows: GroupRows
    all_findings: Sequence[Finding] = ()
    all_rebalances: Sequence[RebalanceRow] = ()
    all_lag: Sequence[LagRow] = ()
    since: int | None = None
    until: int | None = None
    wanted: Wanted = field(default_factory=Wanted)
    labels: Labels = field(default_factory=Labels)

    def has(self, begin: int, end: int | None = None) -> bool:
        """Return whether a time, or a stretch of time, is in the window; a stretch without an end lasts to the end of the log."""
        last = LAST_MILLISECOND if end is None else end
        return begin < (LAST_MILLISECOND + 1 if self.until is None else self.until) and last >= (
            self.since or 0
        )

    @cached_property
    def axis(self) -> TimeAxis | None:
        """The axis of time that all pictures of the group share; None where nothing in the window has a time."""
        return axis_of(self._times(), self.since, None if self.until is None else self.until - 1)

    def _times(self) -> Iterator[int]:
        lasting: tuple[Sequence[LastingRow], ...] = (self.rows.offsets, self.rows.groups, self.rows.members)
        for row in chain.from_iterable(lasting):
            yield from (at for at in (row.from_timestamp, row.to_timestamp) if at is not None)
        for each in self.rows.transactions:
            yield from (
                at
                for at in (each.first_timestamp, each.last_timestamp, each.marker_timestamp)
                if at is not None
            )
        for lag in self.all_lag:
            yield lag.timestamp
        for finding in self.all_findings:
            yield from (at for at in (finding.from_at, finding.to_at) if at is not None)
        if self.rows.newest_at is not None:
            yield self.rows.newest_at

    @cached_property
    def offsets(self) -> list[OffsetHistoryRow]:
        """The wanted committed offsets in the window that the group would be answered with, in the order of the log."""
        return [
            row
            for row in self.rows.offsets
            if row.is_effective
            and self.wanted.has_offset(row.topic, row.partition)
            and is_time(row.from_timestamp)
            and self.has(row.from_timestamp, row.to_timestamp)
        ]

    @cached_property
    def groups(self) -> list[GroupHistoryRow]:
        """The states of the group in the window that have a time, in the order of the log."""
        return [
            row
            for row in self.rows.groups
            if is_time(row.from_timestamp) and self.has(row.from_timestamp, row.to_timestamp)
        ]

    @cached_property
    def findings(self) -> list[tuple[int, Finding]]:
        """The findings in the window about wanted topics and partitions, each with the time of its first record."""
        times = record_times(self.rows) if self.all_findings else {}
        found = []
        for each in self.all_findings:
            at = _finding_time(each, times)
            if (
                at is not None
                and concerns(self.wanted, each.topic, each.partition)
                and self._is_in_window(each, at)
            ):
                found.append((at, each))
        return sorted(found, key=lambda pair: (pair[0], pair[1].log_offset))

    def _is_in_window(self, finding: Finding, at: int) -> bool:
        begin = at if finding.from_at is None else finding.from_at
        return self.has(at) or self.has(begin, at if finding.to_at is None else finding.to_at)

    @cached_property
    def rebalances(self) -> list[RebalanceRow]:
        """The group's rebalances in the window that have a time."""
        return [
            row
            for row in self.all_rebalances
            if (at := began_at(row)) is not None and self.has(at, row.to_at or at)
        ]

    @cached_property
    def lag(self) -> list[LagRow]:
        """The rows of lag in the window, of wanted topics and partitions."""
        return [
            row
            for row in self.all_lag
            if self.wanted.has_offset(row.topic, row.partition)
            and is_time(row.timestamp)
            and self.has(row.timestamp)
        ]

    def partition_label(self, topic: str, partition: int) -> str:
        """Return the label of a topic's partition, in which invisible characters of the topic are escaped."""
        return f"{self.labels.label(topic)}-{partition}"


def began_at(row: RebalanceRow) -> int | None:
    """Return when a rebalance began, as far as the log tells; else when it ended."""
    return row.to_at if row.from_at is None else row.from_at


def _finding_time(finding: Finding, times: dict[int, int]) -> int | None:
    at = times.get(finding.log_offset)
    if at is not None and is_time(at):
        return at
    return finding.from_at if finding.from_at is not None else finding.to_at

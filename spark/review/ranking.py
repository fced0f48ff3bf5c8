"""Choose the groups of a lake that a review shows, the worst first, by their findings and number of rebalances.

Rows, which say the state of a group, are read only of the groups that a page shows.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from offsets_tool.evidence.findings.finding import GroupFindings
from offsets_tool.findings.group_rows import GroupRow, GroupRows, LogStretch, gather
from offsets_tool.findings.rows import Finding
from offsets_tool.lake.tables import REBALANCES
from offsets_tool.review.coverage import CoveredPartition
from offsets_tool.review.verdict import OtherGroups
from offsets_tool.story.shapes import NO_EVENTS
from offsets_tool.story.verdict import Ranked, ranked_group, ranking
from spark.review.rows import ClusterTables, GroupHome

MOST_RANKED: Final = 40
"""Of how many groups, the worst first, it is read how they stand: as many as a page has in its table."""


class RankedGroups(NamedTuple):
    """The wanted groups by rank, the worst first, with the findings of each."""

    worst: list[Ranked]
    """How these stand is known."""
    rows: dict[GroupHome, GroupFindings]
    """Their rows and findings."""
    others: list[Ranked]
    """Of these only the findings, rebalances and number of offsets' rows are known."""

    @property
    def other_groups(self) -> OtherGroups:
        """The others, as a verdict names them."""
        findings = [finding for group in self.others for finding in group.findings]
        return OtherGroups(len(self.others), findings)


def ranked_groups(
    of: ClusterTables, findings: Iterable[Finding], partitions: Iterable[CoveredPartition], moment: str
) -> RankedGroups:
    """Return the wanted groups of a cluster by rank, given its findings about them; `moment` says when they stand so."""
    by_group: dict[GroupHome, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_group[finding.group or "", finding.log_partition].append(finding)
    rebalances = of.rows_by_group(REBALANCES)
    quick = ranking(
        _quick(home, by_group.get(home, ()), rebalances[home], offsets)
        for home, offsets in of.groups().items()
    )
    worst, others = quick[:MOST_RANKED], quick[MOST_RANKED:]
    homes = {(each.group, each.log_partition) for each in worst}
    rows = {
        home: GroupFindings(each, by_group.get(home, []))
        for each in groups_of(of, {group for group, _ in homes}, partitions)
        if (home := (each.group, each.log_partition)) in homes
    }
    return RankedGroups(
        ranking(ranked_group(each.rows, each.findings, moment, None) for each in rows.values()),
        rows,
        others,
    )


def _quick(home: GroupHome, findings: Sequence[Finding], rebalances: int, offsets: int) -> Ranked:
    """Return a group for the ranking without its state, from its findings and its numbers of rebalances and offsets' rows."""
    return Ranked(*home, tuple(findings), "", (), offsets, None, rebalances, None, NO_EVENTS)


def groups_of(
    of: ClusterTables, groups: Collection[str], partitions: Iterable[CoveredPartition]
) -> list[GroupRows]:
    """Return the rows of some groups, by log partition and name."""
    stretches = {
        each.log_partition: LogStretch(each.log_partition, each.proven_from, each.end, each.newest_at)
        for each in partitions
    }
    rows: dict[int | None, list[GroupRow]] = defaultdict(list)
    for row in of.group_rows(groups) if groups else ():
        rows[row.log_partition].append(row)
    return [
        group
        for number, some in rows.items()
        for _, group in sorted(gather(some, stretches.get(number, LogStretch(number))).items())
    ]

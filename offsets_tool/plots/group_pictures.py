"""All pictures of a group in a window of time, and those of a whole log: from the rows that findings are made of.

Which pictures there are, and in which order, is decided here; how each is drawn, in its own module.
"""

from collections.abc import Iterable
from typing import Final

from offsets_tool.as_of.selection import Wanted
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding
from offsets_tool.lag.rows import LagRow
from offsets_tool.plots.charts.cadence import group_cadence_picture, topic_cadence_picture
from offsets_tool.plots.charts.epochs import epoch_picture
from offsets_tool.plots.charts.group_state import group_state_picture
from offsets_tool.plots.charts.lag_lines import lag_picture
from offsets_tool.plots.charts.member_load import member_load_picture
from offsets_tool.plots.charts.offset_lines import offset_picture
from offsets_tool.plots.charts.owners import partition_owners_picture
from offsets_tool.plots.charts.transaction_spans import transaction_picture
from offsets_tool.plots.charts.treemap import size_picture
from offsets_tool.plots.labels import Labels
from offsets_tool.plots.picture import Picture
from offsets_tool.plots.scene import GroupScene
from offsets_tool.rebalances.row_builder import rebalance_rows
from offsets_tool.rebalances.rows import RebalanceRow
from offsets_tool.rows import Row
from offsets_tool.wire.times import LAST_MILLISECOND

_DRAWN: Final = (
    offset_picture,
    lag_picture,
    group_state_picture,
    partition_owners_picture,
    member_load_picture,
    epoch_picture,
    transaction_picture,
    group_cadence_picture,
)


def group_pictures(
    rows: GroupRows,
    findings: Iterable[Finding] = (),
    rebalances: Iterable[RebalanceRow] | None = None,
    lag: Iterable[LagRow] = (),
    *,
    since: int | None = None,
    until: int | None = None,
    wanted: Wanted | None = None,
) -> list[Picture]:
    """Return all pictures of one group that have something to show, from `since` to before `until` (epoch milliseconds).

    `rows` and `findings` are those of a GroupFindings (evidence.findings.finding); `rebalances` those of `rebalance_rows`, made of
    the rows where they are not given; `lag` rows of `lag.rows`, at commits or on a grid, without which lag is not drawn. `wanted`
    chooses topics and a partition. A narrower window, or fewer partitions, show more of each.

    >>> from offsets_tool import open_evidence
    >>> from offsets_tool.evidence.expiring import PolicyOverrides
    >>> from offsets_tool.evidence.findings.finding import LogFindings
    >>> from offsets_tool.evidence.replaying import EvidenceReplay
    >>> with EvidenceReplay(open_evidence("fixtures/incidents/member-seeks-back/segments")) as replay:
    ...     for found in LogFindings(replay, PolicyOverrides()).groups():
    ...         print(found.rows.group, [each.name for each in group_pictures(found.rows, found.findings)][:1])
    shipments ['committed-offsets']
    """
    scene = GroupScene(
        rows,
        list(findings),
        list(rebalance_rows(rows, None) if rebalances is None else rebalances),
        list(lag),
        since,
        until,
        wanted or Wanted(),
    )
    return [picture for draw in _DRAWN if (picture := draw(scene)) is not None]


def topic_pictures(
    groups: Iterable[GroupRows],
    sizes: Iterable[Row] = (),
    *,
    since: int | None = None,
    until: int | None = None,
) -> list[Picture]:
    """Return the pictures of a whole log that have something to show: when which group committed, and whose bytes these are.

    `groups` are the rows of all groups, taken one after another and not kept; `sizes` those of sizes.rows.group_rows.

    >>> from offsets_tool import open_evidence
    >>> from offsets_tool.evidence.expiring import PolicyOverrides
    >>> from offsets_tool.evidence.findings.finding import LogFindings
    >>> from offsets_tool.evidence.replaying import EvidenceReplay
    >>> with EvidenceReplay(open_evidence("fixtures/incidents/member-seeks-back/segments")) as replay:
    ...     groups = LogFindings(replay, PolicyOverrides()).groups()
    ...     print([each.name for each in topic_pictures(found.rows for found in groups)])
    ['groups-cadence']
    """
    times, labels = dict[str, list[int]](), Labels()
    low, high = since or 0, LAST_MILLISECOND + 1 if until is None else until
    for rows in groups:
        at = [row.from_timestamp for row in rows.offsets.commits if low <= row.from_timestamp < high]
        if at:
            times.setdefault(labels.label(rows.group), []).extend(at)
    found = (topic_cadence_picture(times), size_picture(sizes))
    return [picture for picture in found if picture is not None]

"""The rebalances of an evidence: it is replayed to the rows of histories, and each group's rows are asked for theirs."""

from collections.abc import Iterator

from offsets_tool.as_of.selection import Wanted
from offsets_tool.evidence.findings.finding import history_rows, log_context
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.findings.group_rows import ALL
from offsets_tool.rebalances.row_builder import rebalance_rows
from offsets_tool.rebalances.rows import RebalanceRow


def rebalances_in(replay: EvidenceReplay, wanted: Wanted = ALL) -> Iterator[RebalanceRow]:
    """Run the replay and yield the rebalances of the wanted groups, by log partition and group, in the order of the log.

    Notes what the log cannot tell.
    """
    partitions = history_rows(replay)
    session_timeout_ms = log_context(replay, partitions).session_timeout_ms
    for partition in partitions:
        for rows in partition.groups(wanted):
            yield from rebalance_rows(rows, session_timeout_ms)

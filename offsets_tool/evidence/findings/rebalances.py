"""The rebalances of an evidence: it is replayed to the rows of histories, and each group's rows are asked for theirs."""

from collections.abc import Iterator, Sequence

from offsets_tool.as_of.selection import Wanted
from offsets_tool.evidence.findings.finding import history_rows, log_context
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.findings.group_rows import ALL
from offsets_tool.rebalances.row_builder import rebalance_rows
from offsets_tool.rebalances.rows import RebalanceRow
from offsets_tool.server_log.notes import notes_on
from offsets_tool.server_log.parse import ServerLogFile


def rebalances_in(
    replay: EvidenceReplay, wanted: Wanted = ALL, server_logs: Sequence[ServerLogFile] = ()
) -> Iterator[RebalanceRow]:
    """Run the replay and yield the rebalances of the wanted groups, by log partition and group, in the order of the log.

    Notes what the log cannot tell, and how far the brokers' own logs were understood.
    """
    partitions = history_rows(replay)
    context = log_context(replay, partitions, server_logs)
    for text in notes_on(context.server_log):
        replay.evidence.note(text)
    for partition in partitions:
        for rows in partition.groups(wanted):
            yield from rebalance_rows(rows, context.session_timeout_ms, context.server_log)

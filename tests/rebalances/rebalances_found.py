"""The rebalances of corpora and incidents, as the command finds them, each folder once."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.findings.finding import history_rows, log_context
from offsets_tool.evidence.findings.rebalances import rebalances_in
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.rebalances.rebalance import Rebalance, rebalances_of
from offsets_tool.rebalances.rows import RebalanceRow
from offsets_tool.server_log.parse import read_server_logs


@cache
def rebalances_found(folder: Path, *server_logs: Path) -> tuple[RebalanceRow, ...]:
    """Return the rows of a folder's segments, with what brokers' own logs state."""
    with EvidenceReplay(open_evidence(folder / "segments")) as replay:
        return tuple(rebalances_in(replay, server_logs=read_server_logs([str(each) for each in server_logs])))


def rebalances_with_rows(folder: Path) -> Iterator[tuple[GroupRows, list[Rebalance]]]:
    """Yield the histories of each group of a folder's segments, and the rebalances in them."""
    with EvidenceReplay(open_evidence(folder / "segments")) as replay:
        partitions = history_rows(replay)
        timeout = log_context(replay, partitions).session_timeout_ms
        for partition in partitions:
            for rows in partition.groups():
                yield rows, list(rebalances_of(rows, timeout))

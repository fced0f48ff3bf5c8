"""The findings of an evidence at the moment of a replay: it is replayed to rows, and each group's rows are asked every question.

What is a finding, and of which rows, is declared in offsets_tool.findings.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.events import Event
from offsets_tool.evidence.expiring import PolicyGiven, expiry_rows
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.expiry.rows import ExpiryRow, expiry_row
from offsets_tool.findings.context import LogContext, context_of
from offsets_tool.findings.finders import find_all, worst_first
from offsets_tool.findings.group_rows import GroupRow, GroupRows, gather
from offsets_tool.findings.rows import Finding
from offsets_tool.history.history import History
from offsets_tool.history.owners import NameOf
from offsets_tool.history.transactions import ended_transactions, open_transactions
from offsets_tool.replay.changes import Change
from offsets_tool.replay.rules import Rules

_ALL = Wanted()


class FoundGroups(NamedTuple):
    """The rows of every group, by log partition and name, and what is found in them, the worst first."""

    groups: list[GroupRows]
    findings: list[Finding]


def found_groups(replay: EvidenceReplay, given: PolicyGiven) -> FoundGroups:
    """Run the replay and return all groups with all findings; `given` is what is known of the brokers' settings.

    Notes what of the settings is supposed, and what the log cannot tell.
    """
    groups = group_rows(replay, given)
    context = _context(replay, groups)
    return FoundGroups(groups, worst_first(each for rows in groups for each in find_all(rows, context)))


def findings_of(replay: EvidenceReplay, given: PolicyGiven) -> list[Finding]:
    """Run the replay as `found_groups` does; return all findings alone, the worst first."""
    return found_groups(replay, given).findings


def group_rows(replay: EvidenceReplay, given: PolicyGiven) -> list[GroupRows]:
    """Run the replay and return the rows of every group, by log partition and name."""
    expiry: dict[int | None, list[ExpiryRow]] = defaultdict(list)
    for row in expiry_rows(replay, given._replace(retentions=given.retentions[:1]), _ALL):
        expiry[row["log_partition"]].append(expiry_row(row))
    found: list[GroupRows] = []
    for partition, replayed in replay.once_more():
        rows = _rows_of(partition, replayed, replay.moment.names.name)
        number, proven_from = partition.log_partition, partition.coverage.proven_from
        gathered = gather((*rows, *expiry[number]), number, proven_from)
        found += sorted(gathered.values(), key=lambda rows: rows.group)
    return found


def _rows_of(
    partition: PartitionSnapshot, replayed: Iterable[tuple[Event, tuple[Change, ...]]], name_of: NameOf
) -> Iterator[GroupRow]:
    """Yield all rows of histories and transactions of one partition: those that ended first, then those that hold."""
    history = History(name_of)
    for event, changes in replayed:
        history.observe_record(event.record.log_offset)
        for change in changes:
            yield from history.fold(change)
        yield from ended_transactions(event, changes)
    yield from history.flush()
    yield from history.open_rows()
    yield from open_transactions(partition.state.transactions.values(), partition.log_partition)


def _context(replay: EvidenceReplay, groups: Iterable[GroupRows]) -> LogContext:
    moment = replay.moment
    newest_at = moment.newest_timestamp if moment.as_of.time is None else moment.as_of.time
    is_new = any(partition.coordinator.rules is Rules.NEW for partition in moment)
    return context_of(groups, newest_at=newest_at, is_new=is_new)

"""The findings of an evidence at the moment of a replay: it is replayed to rows, and each group's rows are asked every question.

What is a finding, and of which rows, is declared in offsets_tool.findings.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.views_describe import described_offsets
from offsets_tool.evidence.ends import EndSources
from offsets_tool.evidence.expiring import PolicyOverrides, expiry_of
from offsets_tool.evidence.lagging import SEEN, add_lag
from offsets_tool.evidence.moments.moment_notes import gaps
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.expiry.rows import expiry_row
from offsets_tool.findings.context import ContextParts, KnownEnds, LogContext, NotOfTopic, Overtaken
from offsets_tool.findings.finders import find_all, find_in_log, worst_first
from offsets_tool.findings.group_rows import (
    ALL,
    AnyPartition,
    GroupRow,
    GroupRows,
    RecordSums,
)
from offsets_tool.findings.partition_facts import PartitionFacts, of_ledgers
from offsets_tool.findings.rows import Finding
from offsets_tool.lag.rows import LagRow
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.rebalances.row_builder import rebalance_rows
from offsets_tool.rebalances.rows import RebalanceRow
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import Row
from offsets_tool.server_log.clocks import record_times
from offsets_tool.server_log.join import ServerLog, joined_log
from offsets_tool.server_log.notes import notes_on
from offsets_tool.server_log.parse import ServerLogFile

_OF_TABLES: Final = (
    "the lake's histories answer: which settings of brokers are supposed, its last offsets-spark expiry says"
)
_ByPartition = dict[int | None, list[GroupRow]]


class GroupFindings(NamedTuple):
    """The rows of a group in one log partition, and what is found in them, the worst first."""

    rows: GroupRows
    findings: list[Finding]


class LogFindings:
    """The findings in an evidence: those of each group, and those of its log partitions as a whole."""

    def __init__(
        self,
        replay: EvidenceReplay,
        given: PolicyOverrides,
        server_logs: Sequence[ServerLogFile] = (),
        ends: EndSources | None = None,
    ) -> None:
        """Run the replay; `given` is what is known of the brokers' settings, `server_logs` are brokers' own logs.

        `ends` tells where data partitions end. Notes what of the settings is supposed, what the log cannot tell, and how far the
        brokers' logs were understood.
        """
        self._partitions = partition_rows(replay, given)
        self._context = log_context(replay, self._partitions, server_logs)
        self.with_lag: list[Row] = []
        """The committed offsets with their lag, as `describe` has them; empty where no end is known."""
        if ends is not None and ends.has_any:
            self.with_lag = described_offsets(replay.snapshot, ALL)
            lags = add_lag(replay.snapshot, ends, self.with_lag)
            known = _known_ends(self.with_lag, ends.at)
            self._context = self._context._replace(
                ends=known, overtaken=_overtaken(lags), not_of_topic=_not_of_topic(lags)
            )
        for text in notes_on(self.server_log):
            replay.evidence.note(text)
        self.ledgers = replay.dated_ledgers()
        """The sums of the files that were read, with times that other records do not contradict."""
        self._sums = {partition.sums.log_partition: partition.sums for partition in self._partitions}
        self.of_log = worst_first(_of_log(replay, self._context, self._sums))
        """Findings about no group, the worst first."""

    @property
    def server_log(self) -> ServerLog:
        """The lines of the brokers' own logs, joined with the records of this evidence."""
        return self._context.server_log

    def groups(self, wanted: Wanted = ALL) -> Iterator[GroupFindings]:
        """Yield the wanted groups with their findings, by log partition and name, with one group's rows at a time."""
        for rows in self.rows(wanted):
            yield GroupFindings(rows, worst_first(find_all(rows, self._context)))

    def rows(self, wanted: Wanted = ALL) -> Iterator[GroupRows]:
        """Yield the rows of the wanted groups, by log partition and name, without asking what is found in them."""
        for partition in self._partitions:
            yield from partition.groups(wanted)

    def rebalances(self, rows: GroupRows) -> list[RebalanceRow]:
        """Return the rebalances of a group, in the order of the log."""
        return list(rebalance_rows(rows, self._context.session_timeout_ms, self.server_log))

    def bytes_of(self, rows: GroupRows) -> int:
        """Return the bytes of the keys and values of a group's records, in the log partition of these rows."""
        return self._sums[rows.log_partition].bytes_of(rows.group)


def _known_ends(with_lag: Iterable[Row], at: int) -> KnownEnds:
    ends = {TopicPartition(row["topic"], row["partition"]): row["log_end_offset"] for row in with_lag}
    return KnownEnds({of: end for of, end in ends.items() if end is not None}, at)


def _overtaken(lags: Iterable[LagRow]) -> dict[str, dict[TopicPartition, Overtaken]]:
    found: dict[str, dict[TopicPartition, Overtaken]] = defaultdict(dict)
    for lag in lags:
        if lag.committed_offset is None or lag.log_start_offset is None:
            continue
        if lag.data_lost and not lag.is_topic_recreated:
            at = TopicPartition(lag.topic, lag.partition)
            found[lag.group][at] = Overtaken(lag.committed_offset, lag.log_start_offset)
    return found


def _not_of_topic(lags: Iterable[LagRow]) -> dict[str, dict[TopicPartition, NotOfTopic]]:
    found: dict[str, dict[TopicPartition, NotOfTopic]] = defaultdict(dict)
    for lag in lags:
        is_beyond = lag.lag is None and lag.beyond_end > 0 and lag.method in SEEN
        if lag.committed_offset is not None and (is_beyond or lag.is_topic_recreated):
            at = TopicPartition(lag.topic, lag.partition)
            end = lag.end_offset if lag.method in SEEN else None
            found[lag.group][at] = NotOfTopic(lag.committed_offset, end, is_beyond, lag.is_topic_recreated)
    return found


def findings_of(
    replay: EvidenceReplay, given: PolicyOverrides, server_logs: Sequence[ServerLogFile] = ()
) -> list[Finding]:
    """Run the replay as LogFindings does; return the findings of all groups and of the log, the worst first."""
    found = LogFindings(replay, given, server_logs)
    return worst_first([*(each for group in found.groups() for each in group.findings), *found.of_log])


def _of_log(
    replay: EvidenceReplay, context: LogContext, sums: Mapping[int | None, RecordSums]
) -> Iterator[Finding]:
    """Yield the findings of each log partition as a whole: from its ledgers, its records, and what its joined copies left out."""
    by_partition: dict[int | None, list[LedgerEntry]] = defaultdict(list)
    for entry in replay.evidence.ledgers:
        by_partition[entry.log_partition].append(entry)
    # The rows of an archive say their partition, and its file does not.
    for number in dict.fromkeys((*by_partition, *sums)):
        facts = _with_copies(replay, of_ledgers(number, by_partition.get(number, ())))
        if number in sums:
            facts = facts._replace(versions=sums[number].versions, unread=sums[number].unread)
        yield from find_in_log(facts, context)


def _with_copies(replay: EvidenceReplay, facts: PartitionFacts) -> PartitionFacts:
    joined = replay.joined.get(facts.log_partition)
    if joined is None:
        return facts
    left = joined.left_out
    return facts._replace(
        copies=len(joined.facts),
        abandoned=left.abandoned,
        abandoned_at=left.abandoned_at,
        contradictions=left.contradictions,
        contradiction_at=left.contradiction_at,
    )


def partition_rows(replay: EvidenceReplay, given: PolicyOverrides) -> list[AnyPartition]:
    """Run the replay and return the rows of every log partition by group: by columns where that pays."""
    kept = replay.kept_partitions(is_default=given == PolicyOverrides())
    if kept is not None:
        replay.evidence.note(_OF_TABLES)
        return _with_gaps(replay, kept)
    one_each = given._replace(retentions=given.retentions[:1])
    replayed = replay.ask(lambda histories: histories.replayed())
    expiry = expiry_of(replay, one_each, ALL, [each.removals for each in replayed])
    more: _ByPartition = defaultdict(list)
    for row in expiry.rows:
        more[row["log_partition"]].append(expiry_row(row))
    partitions = [each.with_rows(more[each.sums.log_partition]) for each in replayed]
    for partition in partitions:
        facts = expiry.facts[partition.sums.log_partition]
        partition.sums.versions, partition.sums.unread = facts.seen, facts.unread
    return partitions


def _with_gaps(replay: EvidenceReplay, partitions: list[AnyPartition]) -> list[AnyPartition]:
    """Run the replay, note what its log cannot tell, and return the partitions."""
    for text in gaps(replay.run()):
        replay.evidence.note(text)
    return partitions


def history_rows(replay: EvidenceReplay) -> list[AnyPartition]:
    """Run the replay and return the rows of every log partition by group as `partition_rows` does, of histories alone.

    Notes what the log cannot tell.
    """
    kept = replay.kept_partitions()
    if kept:
        return _with_gaps(replay, kept)
    replayed = replay.ask(lambda histories: histories.replayed())
    for text in gaps(replay.snapshot):
        replay.evidence.note(text)
    return [partition.with_rows(()) for partition in replayed]


def log_context(
    replay: EvidenceReplay,
    partitions: Iterable[AnyPartition],
    server_logs: Sequence[ServerLogFile] = (),
) -> LogContext:
    """Return what holds for all groups of a replay that has run, with brokers' own logs joined to it."""
    parts, snapshot, records = ContextParts(), replay.snapshot, record_times(server_logs)
    for partition in partitions:
        for rows, highest, commits in partition.highest():
            parts.observe(rows, highest, commits)
            records.observe(rows.group, rows.groups, rows.members)
    is_by_records = snapshot.as_of.time is None or snapshot.is_after_records
    newest_at = snapshot.newest_timestamp if is_by_records else snapshot.as_of.time
    is_new = any(partition.coordinator.rules is Rules.NEW for partition in snapshot)
    context = parts.context(newest_at=newest_at, is_new=is_new)
    contradicted = ((number, log.left_out.contradiction_at) for number, log in replay.joined.items())
    context = context._replace(contradicted_at={number: at for number, at in contradicted if at is not None})
    return context._replace(server_log=joined_log(server_logs, records))

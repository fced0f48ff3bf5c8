"""The story of one group: its rows and findings as sentences in the order of the log, each thing told once.

What a finding tells is not told a second time: the storm stands for its rebalances, the rewind for its commit.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from offsets_tool.as_of.selection import Wanted
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, Severity
from offsets_tool.history.rows import LastingRow, OffsetHistoryRow
from offsets_tool.rebalances.holdings import HoldingSweep
from offsets_tool.rebalances.members import GroupMembers
from offsets_tool.rebalances.steps import GroupStep, steps_of
from offsets_tool.server_log.join import NO_SERVER_LOG, ServerLog
from offsets_tool.story.broker_reasons import why
from offsets_tool.story.commits import commit_rows, commit_sentence, commit_sentences
from offsets_tool.story.endings import (
    aborted_sentences,
    anomaly_sentences,
    unended_sentences,
    visibility_sentences,
)
from offsets_tool.story.finding_sentences import finding_sentence, log_offsets_of
from offsets_tool.story.rebalances import rebalance_text
from offsets_tool.story.sentence import Sentence, SentenceKind

_MOVES: Final = ("reset", "rewind", "jump")
"""Kinds of findings that tell the commits they name."""
_DELETIONS: Final = ("group_deleted", "group_expired")
_STORM: Final = "rebalance_storm"
_CONVERSION: Final = "group_converted"
_REPLACEMENT: Final = "static_member_replaced"
_ENDINGS: Final = ("transaction_timed_out", "transaction_fenced")
_ABORTED: Final = "transactions_aborted"
_ANOMALIES: Final = ("contradiction",)
_RANK: Final = {kind: rank for rank, kind in enumerate(SentenceKind)}


_ALL: Final = Wanted()
Within = Callable[[int, int], bool]
"""Whether a record of a time and a log offset is in the range that is told."""


def concerns(wanted: Wanted, topic: str | None, partition: int | None) -> bool:
    """Return whether `wanted` includes a topic and partition; None stands for every topic or partition."""
    if topic is None or not wanted.topics:
        return True
    return topic in wanted.topics if partition is None else wanted.has_offset(topic, partition)


def _always(at: int, log_offset: int) -> bool:
    return True


class GroupStory:
    """Makes the sentences of one group's story; with `is_whole` each commit has a sentence of its own."""

    def __init__(
        self,
        rows: GroupRows,
        findings: Iterable[Finding],
        wanted: Wanted = _ALL,
        *,
        within: Within = _always,
        is_whole: bool = False,
        server_log: ServerLog = NO_SERVER_LOG,
    ) -> None:
        """Take a group's rows and findings. `wanted` chooses topics, `within` says which times and log offsets are in the range.

        `server_log`: lines of brokers' logs, which say why the group rebalanced.
        """
        self._rows = rows
        self._wanted = wanted
        self._within = within
        self._is_whole = is_whole
        self._server_log = server_log
        self._members = GroupMembers(rows)
        self._findings = [each for each in findings if concerns(wanted, each.topic, each.partition)]

    def sentences(self) -> list[Sentence]:
        """Return all sentences in the order of the log."""
        others = [
            each
            for each in (*self._of_findings(), *self._of_group(), *self._of_endings())
            if self._is_within(each)
        ]
        boundaries = sorted({each.log_offset for each in others})
        found = sorted([*others, *self._of_commits(boundaries)], key=_order)
        return [each for each in found if concerns(self._wanted, each.topic, each.partition)]

    def _is_within(self, sentence: Sentence) -> bool:
        """Return whether a sentence begins, ends or goes on in the range of the story."""
        at = -1 if sentence.at is None else sentence.at
        until = at if sentence.until is None else sentence.until
        if self._within(at, sentence.log_offset) or self._within(until, sentence.last_log_offset):
            return True
        if sentence.finding is None or until <= at:
            return False
        rows: Iterator[LastingRow] = chain(self._rows.groups, self._rows.offsets)
        return any(
            self._within(row.from_timestamp, row.from_log_offset)
            for row in rows
            if at < row.from_timestamp < until
        )

    def _of_findings(self) -> Iterator[Sentence]:
        times = record_times(self._rows) if self._findings else {}
        for finding in self._findings:
            yield finding_sentence(finding, times)

    def _of_group(self) -> Iterator[Sentence]:
        sweep = HoldingSweep(self._rows)
        for change in steps_of(self._rows, self._members):
            holdings = sweep.over(change)
            if not self._is_told(change):
                said = why(change, self._rows, self._members, self._server_log)
                text = rebalance_text(change, self._members, holdings)
                yield Sentence(
                    SentenceKind.GROUP,
                    text if said is None else f"{text} {said.text}",
                    self._rows.group,
                    self._rows.log_partition,
                    change.first,
                    change.last,
                    change.at,
                    change.until if change.until > change.at else None,
                    lines=() if said is None else said.sources,
                )

    def _is_told(self, change: GroupStep) -> bool:
        """Return whether a change of the group needs no sentence: findings say it already, or nothing changed."""
        if self._is_whole:
            return False
        if change.is_unchanged:
            return True
        if (
            change.before is not None
            and change.is_renumbered
            and any(_covers(each, change.at) for each in self._storms())
        ):
            return True
        here = [each.kind for each in self._findings if change.first <= each.log_offset <= change.last]
        if change.after is None or (change.before is not None and not change.after.members):
            return any(_covers(each, change.at) for each in self._of_kind(*_DELETIONS))
        if change.is_conversion:
            return _CONVERSION in here and not (change.turnover.joined or change.turnover.left)
        return _REPLACEMENT in here and not change.is_renumbered

    def _storms(self) -> Iterator[Finding]:
        """Yield the findings of storms that replace sentences on their rebalances; a storm no worse than a restart does not."""
        return (each for each in self._of_kind(_STORM) if each.severity != Severity.NOTICE)

    def _of_kind(self, *kinds: str) -> Iterator[Finding]:
        return (each for each in self._findings if each.kind in kinds)

    def _of_endings(self) -> Iterator[Sentence]:
        named = log_offsets_of(self._findings, _ENDINGS)
        yield from unended_sentences(self._rows, named)
        if not any(self._of_kind(_ABORTED)):
            yield from aborted_sentences(self._rows, named)
        yield from visibility_sentences(self._rows)
        named = log_offsets_of(self._findings, _ANOMALIES)
        yield from anomaly_sentences(self._rows, named)

    def _of_commits(self, boundaries: Sequence[int]) -> Iterator[Sentence]:
        named = log_offsets_of(self._findings, _MOVES)
        commits = [row for row in commit_rows(self._rows) if self._is_to_tell(row, named)]
        if self._is_whole:
            yield from (commit_sentence(self._rows, [row]) for row in commits)
        else:
            yield from commit_sentences(self._rows, commits, boundaries)

    def _is_to_tell(self, row: OffsetHistoryRow, named: set[int]) -> bool:
        if row.commit_log_offset in named or not self._within(row.from_timestamp, row.from_log_offset):
            return False
        return concerns(self._wanted, row.topic, row.partition)


def _covers(finding: Finding, at: int) -> bool:
    if finding.from_at is None:
        return False
    return finding.from_at <= at <= (finding.from_at if finding.to_at is None else finding.to_at)


def _order(sentence: Sentence) -> tuple[int, int]:
    return sentence.log_offset, _RANK[sentence.kind]


def record_times(rows: GroupRows) -> dict[int, int]:
    """Return the times of the records that a group's rows name, by log offset."""
    return {log_offset: at for log_offset, at in _moments(rows) if log_offset is not None and at is not None}


def _moments(rows: GroupRows) -> Iterator[tuple[int | None, int | None]]:
    lasting: tuple[Sequence[LastingRow], ...] = (rows.offsets, rows.groups, rows.members)
    for row in chain.from_iterable(lasting):
        yield row.from_log_offset, row.from_timestamp
        yield row.to_log_offset, row.to_timestamp
    for anomaly in rows.anomalies:
        yield anomaly.log_offset, anomaly.timestamp
    for transaction in rows.transactions:
        yield transaction.first_log_offset, transaction.first_timestamp
        yield transaction.last_log_offset, transaction.last_timestamp
        yield transaction.marker_log_offset, transaction.marker_timestamp
    for removed in rows.removed:
        yield removed.log_offset, removed.removed_at

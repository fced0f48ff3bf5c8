"""The story of one group: its rows and findings as sentences in the order of the log, each thing told once.

What a finding tells is not told a second time: the storm stands for its rebalances, the rewind for its commit.

Removals and open transactions are findings, which have sentences of their own.

Why a group rebalanced, a broker's line says, or lines and records leave only one reason. Brokers before 2.1 write that a group
rebalances, and not why. A member that is gone then had asked to leave if its session was not over and the others were not waited
for: those brokers knew no third way.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Final, NamedTuple

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.transactions import TransactionOutcome
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, Severity
from offsets_tool.findings.sentences import count, listed, of_topics, span
from offsets_tool.history.change_labels import offset_label
from offsets_tool.history.rows import (
    AnomalyRow,
    GroupHistoryRow,
    LastingRow,
    MemberHistoryRow,
    OffsetBeginCause,
    OffsetHistoryRow,
)
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.rebalances.holdings import HoldingSweep
from offsets_tool.rebalances.members import GroupMembers
from offsets_tool.rebalances.steps import GroupStep, steps_of
from offsets_tool.replay.changes import GroupKind, is_unread_note
from offsets_tool.server_log.elimination import can_only_have_left, is_about_leaving
from offsets_tool.server_log.join import NO_SERVER_LOG, ServerLog, TimeSpan
from offsets_tool.server_log.reasons import Reason, RebalanceCause, reason_of
from offsets_tool.server_log.server_line import LineKind, ServerLine
from offsets_tool.story.commits import commit_rows, commit_sentence, commit_sentences
from offsets_tool.story.finding_sentences import finding_sentence, log_offsets_of
from offsets_tool.story.rebalances import rebalance_text
from offsets_tool.story.sentence import Moment, Sentence, SentenceKind, when
from offsets_tool.wire.longs import difference

_C: Final = RebalanceCause
_SAID: Final = {
    _C.JOINED: "{} joined",
    _C.LEFT: "{} asked to leave",
    _C.AWAY: "{} said that it would be back",
    _C.EXPIRED: "the session of {} timed out",
    _C.TOO_SLOW: "{} was too slow",
    _C.REPLACED: "{} was replaced by another with its group.instance.id",
    _C.RESUBSCRIBED: "{} asked for other topics",
    _C.TOPICS_CHANGED: "the topics that it reads changed",
    _C.GIVEN_UP: "{} gave partitions up",
    _C.REJOINED: "{} joined again",
    _C.CONVERTED: "it was converted",
    _C.CONFIGURED: "its settings changed",
    _C.FAILED: "what {} sent could not be kept",
}
_NO_REASON: Final = ("", "not provided")
"""What clients say that give no reason (KIP-800)."""
_USUAL: Final = (_C.JOINED, _C.TOPICS_CHANGED, _C.GIVEN_UP)
"""Causes that a client's own words only repeat."""


class Why(NamedTuple):
    """Why a group rebalanced, as brokers' lines say: the causes, the lines, and both in a sentence."""

    causes: tuple[Reason, ...]
    text: str

    @property
    def sources(self) -> tuple[str, ...]:
        """The lines that say it, each as FILE:LINE."""
        return tuple(dict.fromkeys(each.entry.source for each in self.causes))


def why(change: GroupStep, rows: GroupRows, members: GroupMembers, server_log: ServerLog) -> Why | None:
    """Return why a group changed, by the lines of brokers' logs; None if no line says it."""
    if not server_log:
        return None
    reasons = list(_reasons(change, rows, server_log))
    if not reasons:
        return None
    texts = dict.fromkeys(_texts(reasons, members))
    found = Why(tuple(reasons), "")
    return found._replace(text=f"By the broker's log: {'; '.join(texts)} ({', '.join(found.sources)}).")


def _reasons(change: GroupStep, rows: GroupRows, server_log: ServerLog) -> Iterator[Reason]:
    """Yield the reasons that lines give for a change of the group, and for members that left with it."""
    found = list(_of_numbers(change, server_log))
    named = {each.member_id for each in found}
    for reason in found:
        if reason.cause is _C.UNKNOWN:
            yield from _concluded(reason.entry, change, rows, server_log)
        elif reason.cause is _C.REJOINED and reason.member_id in change.turnover.resubscribed:
            yield reason._replace(cause=_C.RESUBSCRIBED)
        elif reason.entry.kind is not LineKind.EPOCH or not any(change.turnover._replace(moved={})):
            yield reason
    for member_id in change.turnover.left:
        line = _departure(member_id, change, rows, server_log)
        if line is not None and member_id not in named and (reason_ := reason_of(line)) is not None:
            yield reason_


def _of_numbers(change: GroupStep, server_log: ServerLog) -> Iterator[Reason]:
    """Yield the reasons that lines give for the generations or epochs that a change began."""
    before, after = change.before, change.after
    row = after or before
    if row is None:
        return
    since = None if before is None else before.from_timestamp
    if row.generation is not None or (before is not None and before.generation is not None):
        yield from server_log.generations(row.group, _generations(before, after), TimeSpan(since, change.at))
    if after is not None and after.epoch is not None:
        first = after.epoch - 1 if before is None or before.epoch is None else before.epoch
        within = TimeSpan(change.at, change.at)
        turnover = change.turnover
        changed = {*turnover.joined, *turnover.left, *turnover.resubscribed} if change.is_proven else None
        numbers = range(first + 1, after.epoch + 1)
        yield from server_log.epochs(row.group, numbers, within, turnover.joined, changed)


def _generations(before: GroupHistoryRow | None, after: GroupHistoryRow | None) -> range:
    """Return the generations that a change of a group ended; a line announces a rebalance with the old generation."""
    began = None if before is None else before.generation
    # Before 0.10 a group that has no members any more is gone: what is left of it has no generation.
    until = None if after is None or after.kind == GroupKind.SIMPLE else after.generation
    if began is None:
        began = (until or 1) - 1
    return range(began, began + 1 if until is None else until)


def _departure(
    member_id: str, change: GroupStep, rows: GroupRows, server_log: ServerLog
) -> ServerLine | None:
    row = rows.by_member[member_id][-1]
    return server_log.departure(rows.group, member_id, TimeSpan(row.from_timestamp, change.until))


def _concluded(
    line: ServerLine, change: GroupStep, rows: GroupRows, server_log: ServerLog
) -> Iterator[Reason]:
    """Yield the reasons of a rebalance that a line announces without any, where only one kind of reason is possible."""
    turnover, is_told = change.turnover, False
    for member_id in turnover.left:
        commit_at = _last_commit(rows, member_id, change)
        if can_only_have_left(server_log, line, _last(rows, member_id, change), commit_at):
            yield Reason(_C.LEFT, line, member_id)
            is_told = True
    gone = [_last(rows, member_id, change) for member_id in turnover.left]
    if not (is_told or turnover.joined) and is_about_leaving(server_log, line, gone):
        yield Reason(_C.LEFT, line, turnover.left[0] if len(gone) == 1 else None)
    for member_id in turnover.joined:
        yield Reason(_C.JOINED, line, member_id)
    is_only = change.after is not None and change.after.members == 1
    if is_only and not (turnover.left or turnover.joined):
        for member_id in turnover.resubscribed:
            yield Reason(_C.RESUBSCRIBED, line, member_id)


def _last(rows: GroupRows, member_id: str, change: GroupStep) -> MemberHistoryRow:
    """Return the row of a member that a change ended."""
    of_member = rows.by_member[member_id]
    return next(
        (row for row in of_member if row.to_log_offset is not None and row.to_log_offset >= change.first),
        of_member[-1],
    )


def _last_commit(rows: GroupRows, member_id: str, change: GroupStep) -> int | None:
    """Return the time of a member's last commit before a change."""
    commits = [at for log_offset, at in rows.commits_of.get(member_id, ()) if log_offset < change.first]
    return commits[-1] if commits else None


def _texts(reasons: Iterable[Reason], members: GroupMembers) -> Iterator[str]:
    some = list(reasons)
    for cause in dict.fromkeys(each.cause for each in some):
        of = [each for each in some if each.cause is cause]
        names = (
            listed(members.names(each.member_id for each in of if each.member_id))
            if any(each.member_id for each in of)
            else "a member"
        )
        yield _SAID[cause].format(names) + _words(of)


def _words(reasons: list[Reason]) -> str:
    """Return the client's own words for the reasons; else the broker's, where they say more than that a member left."""
    first = reasons[0]
    if first.cause is _C.TOO_SLOW and first.entry.kind is LineKind.TOO_SLOW and first.words:
        return f', "{first.words}"'
    said = {
        each.client_reason or (each.words if each.entry.kind is LineKind.LEFT else None) for each in reasons
    }
    said -= {None, *_NO_REASON}
    is_told = len(said) == 1 and first.cause not in _USUAL
    return f', "{said.pop()}"' if is_told else ""


_VISIBILITY: Final = (OffsetBeginCause.HIDDEN, OffsetBeginCause.REVEALED)


def aborted_sentences(rows: GroupRows, named: Collection[int]) -> Iterator[Sentence]:
    """Yield a sentence for each aborted transaction whose marker is at none of the log offsets `named`, which findings name."""
    for row in rows.transactions:
        if row.outcome == TransactionOutcome.ABORTED and row.marker_log_offset not in named:
            yield _aborted(rows, row)


def unended_sentences(rows: GroupRows, named: Collection[int]) -> Iterator[Sentence]:
    """Yield a sentence on the begin of each transaction whose marker is at one of the log offsets `named`, which findings name."""
    for row in rows.transactions:
        if row.marker_log_offset in named:
            text = (
                f"Producer {row.producer_id} begins a transaction with {count(row.commits, 'commit')}, "
                f"and does not end it: it is open until {when(row.marker_timestamp)}."
            )
            at = Moment(row.first_log_offset, row.first_timestamp)
            yield _sentence(rows, SentenceKind.TRANSACTION, text, at)


def _aborted(rows: GroupRows, row: TransactionRow) -> Sentence:
    assert row.marker_log_offset is not None and row.marker_timestamp is not None
    text = (
        f"The transaction of producer {row.producer_id} was aborted "
        f"{span(difference(row.marker_timestamp, row.first_timestamp))} after it began: "
        f"{'its commit' if row.commits == 1 else f'its {row.commits:,} commits'} never counted."
    )
    return _sentence(
        rows, SentenceKind.TRANSACTION, text, Moment(row.marker_log_offset, row.marker_timestamp)
    )


def visibility_sentences(rows: GroupRows) -> Iterator[Sentence]:
    """Yield a sentence for each time that offsets were hidden with their deleted group, and each time that they came back."""
    hidden = (row for row in rows.offsets if row.begin_cause in _VISIBILITY)
    for (at, cause), some in groupby(hidden, key=lambda row: (row.from_timestamp, row.begin_cause)):
        yield _visibility(rows, list(some), cause, at)


def _visibility(rows: GroupRows, offsets: list[OffsetHistoryRow], cause: str, at: int) -> Sentence:
    what = f"{count(len(offsets), 'offset')} {of_topics([row.topic for row in offsets])}"
    label = offset_label(None, offsets[0])
    meaning = (
        "the coordinator keeps them without answering anybody with them"
        if cause == OffsetBeginCause.HIDDEN
        else "the group would be answered with them again"
    )
    text = f"{what} {'is' if len(offsets) == 1 else 'are'} {label}: {meaning}."
    return _sentence(rows, SentenceKind.OFFSETS, text, Moment(offsets[0].from_log_offset, at))


def anomaly_sentences(rows: GroupRows, named: Collection[int]) -> Iterator[Sentence]:
    """Yield a sentence for each anomaly that is not at the log offsets `named`, which findings name; equal notes share one.

    What was not understood is always a finding.
    """
    anomalies = (
        row for row in rows.anomalies if row.log_offset not in named and not is_unread_note(row.note)
    )
    for note, some in groupby(anomalies, key=lambda row: row.note):
        yield _anomaly(rows, note, list(some))


def _anomaly(rows: GroupRows, note: str, some: list[AnomalyRow]) -> Sentence:
    first, last = some[0], some[-1]
    times = f" ({count(len(some), 'time')} up to {last.log_offset})" if len(some) > 1 else ""
    text = f"The log holds what no coordinator writes: {note.rstrip('.')}{times}."
    sentence = _sentence(rows, SentenceKind.ANOMALY, text, Moment(first.log_offset, first.timestamp))
    return sentence._replace(last_log_offset=last.log_offset)


def _sentence(rows: GroupRows, kind: SentenceKind, text: str, at: Moment) -> Sentence:
    return Sentence(kind, text, rows.group, rows.log_partition, at.log_offset, at.log_offset, at.at)


def offsets_of(rows: Iterable[OffsetHistoryRow], topic: str, partition: int) -> list[OffsetHistoryRow]:
    """Return the rows of one committed offset."""
    return [row for row in rows if row.topic == topic and row.partition == partition]


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

"""Why a group rebalanced, by the broker's own lines: the reason that a line gives, or the only one that lines and records leave.

Brokers before 2.1 write that a group rebalances, and not why. A member that is gone then had asked to leave if its session was not
over and the others were not waited for: those brokers knew no third way.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.sentences import listed
from offsets_tool.history.rows import GroupHistoryRow, MemberHistoryRow
from offsets_tool.rebalances.members import GroupMembers
from offsets_tool.rebalances.steps import GroupStep
from offsets_tool.replay.changes import GroupKind
from offsets_tool.server_log.elimination import can_only_have_left, is_about_leaving
from offsets_tool.server_log.join import ServerLog, TimeSpan
from offsets_tool.server_log.reasons import Reason, RebalanceCause, reason_of
from offsets_tool.server_log.server_line import LineKind, ServerLine

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

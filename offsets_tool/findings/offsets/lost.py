"""Were committed offsets lost, by what, and where did the group begin again?

Takes the cause of each removal as `expiry` explains it; puts together what went for one cause, and looks for the next commits.
A cause that records leave open becomes certain by lines of a broker's own log that agree in time and in group, partition or topic.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from offsets_tool.expiry.causes import Cause, Confidence
from offsets_tool.expiry.rows import ExpiryRow
from offsets_tool.expiry.rules import KIP_211, Rule
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found, log_offset_text
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.runs import runs
from offsets_tool.findings.sentences import SAID, at_time, count, named, of_topics, only
from offsets_tool.replay.changes import GroupKind, TopicPartition
from offsets_tool.server_log.join import ServerLog
from offsets_tool.server_log.server_line import LineKind, ServerLine
from offsets_tool.time_texts import duration_text
from offsets_tool.wire.json import release_of

_SET_AGAIN: Final = "and set its offsets with kafka-consumer-groups --reset-offsets before it starts again"
_SET_STREAMS: Final = (
    "and set its offsets with kafka-streams-groups, as `offsets-tool plan` says, before it starts again"
)
NO_GROUP: Final = (
    "kafka-consumer-groups sets nothing of the empty group id, which brokers refuse with INVALID_GROUP_ID"
)
NO_GROUP_REMEDY: Final = "give the clients a group.id, and set the offsets of that group"
"""What helps a client that commits without a group.id, which is a part of a sentence."""
EXPIRED: Final = FindingKind(
    "offsets_expired",
    Severity.NOTICE,
    "Committed offsets expired: the broker removed them when their retention was over.",
    "Raise offsets.retention.minutes above the longest time that this group is without members, "
    f"{_SET_AGAIN}.",
)
DELETED: Final = FindingKind(
    "offsets_deleted",
    Severity.WARNING,
    "Somebody deleted committed offsets (OffsetDelete, kafka-consumer-groups --delete-offsets).",
    "Ask who may alter this group; `offsets-tool offsets --as-of` gives the offsets before that, to reset to.",
)
TOPIC_DELETED: Final = FindingKind(
    "topic_deleted",
    Severity.NOTICE,
    "Committed offsets went because their topic was deleted.",
    "If the topic was created again under the same name, its offsets begin at 0: no old offset fits.",
)
GROUP_DELETED: Final = FindingKind(
    "group_deleted",
    Severity.WARNING,
    "Somebody deleted the group (DeleteGroups), with its offsets: by --delete of kafka-consumer-groups, kafka-share-groups or "
    "kafka-streams-groups, whichever is for its kind.",
    "Ask who may delete groups; `offsets-tool offsets --as-of` gives the offsets before that, to reset to.",
)
LOST: Final = FindingKind(
    "offsets_lost",
    Severity.WARNING,
    "Committed offsets were removed by something that is not known.",
    "Look at the records around these places with `offsets-tool decode`, and at the logs of the broker of that time.",
)

KINDS: Final = {
    Cause.RETENTION: EXPIRED,
    Cause.EXPIRE_TIMESTAMP: EXPIRED,
    Cause.UNSUBSCRIBED_TOPIC: EXPIRED,
    Cause.OFFSETS_DELETED: DELETED,
    Cause.TOPIC_DELETED: TOPIC_DELETED,
    Cause.GROUP_DELETED: GROUP_DELETED,
    Cause.UNKNOWN: LOST,
}
_NOT_LOST: Final = (Cause.ABORTED, Cause.SUPERSEDED)
"""Commits that were never effective."""
_WHY: Final = {
    Cause.RETENTION: "expired (retention {retention})",
    Cause.EXPIRE_TIMESTAMP: "expired (at the time that the commit gave)",
    Cause.UNSUBSCRIBED_TOPIC: "expired (no member subscribed to the topic, retention {retention})",
    Cause.OFFSETS_DELETED: "deleted by somebody",
    Cause.TOPIC_DELETED: "the topic was deleted",
    Cause.GROUP_DELETED: "somebody deleted the group",
    Cause.UNKNOWN: "by what is not known",
}
_PERHAPS: Final = {
    Cause.RETENTION: "they expired",
    Cause.EXPIRE_TIMESTAMP: "they expired",
    Cause.UNSUBSCRIBED_TOPIC: "they expired",
    Cause.OFFSETS_DELETED: "somebody deleted them",
    Cause.TOPIC_DELETED: "the topic was deleted",
    Cause.GROUP_DELETED: "somebody deleted the group",
    Cause.UNKNOWN: "it is not known",
}
"""What is said of each of several causes, without the details of one that is known."""
_TELL_APART: Final = " Name the broker's --kafka-version and --retention: they often tell such causes apart."
_MEANT: Final = (Cause.EXPIRE_TIMESTAMP, Cause.TOPIC_DELETED)
"""Causes of which a loss is what one asked for: a commit that was given its own end, a topic that is another one since."""
_WEAKEST: Final = (Confidence.AMBIGUOUS, Confidence.LIKELY, Confidence.CERTAIN)
_CHECKS: Final = 2
"""Checks of the broker between two removals up to which they are one loss: expiry takes what is due at each check."""


class FirstCommit(NamedTuple):
    """A commit after a loss: fields of OffsetHistoryRow."""

    committed_offset: int
    commit_log_offset: int
    from_log_offset: int
    from_timestamp: int
    member_id: str | None


class Restart(NamedTuple):
    """Where a group began again after its offsets were removed, summed up over partitions, in offsets of the topics."""

    partitions: int
    read_again: int
    skipped: int
    first: FirstCommit
    is_read_on: bool
    """Whether the members of before committed: they had not asked for the offsets, and went on from where they were."""


@finder(EXPIRED, DELETED, TOPIC_DELETED, GROUP_DELETED, LOST)
def find_lost_offsets(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each removal of offsets together: of one topic for one cause, or with the whole group."""
    lost, lines = with_stated_causes(
        [row for row in rows.removed if row.cause not in _NOT_LOST], context.server_log
    )
    for together in _removed_together(lost):
        yield _finding(rows, together, [lines[row.log_offset] for row in together if row.log_offset in lines])


def _removed_together(lost: list[ExpiryRow]) -> Iterator[list[ExpiryRow]]:
    """Yield lists of offsets that were removed together, sorted by the log offset of each list's first."""
    by_cause = sorted(lost, key=_of_one_cause)
    losses = [
        part
        for _, some in groupby(by_cause, _of_one_cause)
        for part in runs(sorted(some, key=_log_offset), _is_next)
    ]
    yield from sorted(losses, key=lambda loss: loss[0].log_offset)


def _of_one_cause(row: ExpiryRow) -> tuple[str, str]:
    """Return what rows removed together share: the cause, and the topic unless the whole group was removed."""
    return row.cause or "", "" if row.cause == Cause.GROUP_DELETED else row.topic


def _log_offset(row: ExpiryRow) -> int:
    return row.log_offset


def _is_next(before: ExpiryRow, row: ExpiryRow) -> bool:
    """Return whether a removal follows another one within a few checks of the broker."""
    if before.removed_at is None or row.removed_at is None:
        return row.log_offset - before.log_offset <= 1
    return row.removed_at - before.removed_at <= _CHECKS * row.check_interval_ms


def _finding(rows: GroupRows, lost: list[ExpiryRow], lines: list[ServerLine]) -> Finding:
    first = lost[0]
    cause = Cause(first.cause or Cause.UNKNOWN)
    restart = _restart(rows, lost)
    kind = KINDS[cause]
    confidence = min((Confidence(row.confidence or "ambiguous") for row in lost), key=_WEAKEST.index)
    alternatives = tuple(dict.fromkeys(other for row in lost for other in row.alternatives))
    causes = _causes(first, alternatives, confidence)
    severity = Severity.CRITICAL if _hurts(rows, restart, cause, first) else kind.severity
    return found(
        kind,
        rows,
        Places(_log_offsets(lost, restart), first.removed_at, lost[-1].removed_at),
        _title(rows.group, lost, causes, is_said=len(lines) == len(lost)) + _began_again(restart, first),
        confidence=confidence,
        lines=lines,
        severity=severity,
        topic=only(row.topic for row in lost),
        partition=lost[0].partition if len(lost) == 1 else None,
        alternatives=alternatives,
        remedy=_remedy(rows, kind, first) + (_TELL_APART if len(causes) > 1 else ""),
    )


_OWN_EXPIRY: Final = (
    "No setting of the broker changes that: the client asks for an offset retention with its commits (OffsetCommit up to version "
    f"4). Let it ask for none, or for a longer one, {_SET_AGAIN}."
)
_OWN_TIME: Final = (
    "The commits say a time at which their retention is over as soon as they are written, and retention counts from it: let the "
    f"client send its real time, or none, {_SET_AGAIN}."
)
_BEFORE_KIP_211: Final = (
    "Before 2.1 each offset expires by its own last commit, also while the group lives: let clients commit partitions without new "
    "records now and then, set offsets.retention.minutes above the longest time without a commit of any partition, or upgrade the "
    f"brokers, {_SET_AGAIN}."
)
_SINCE_COMMIT: Final = (
    "Retention counts from the last commit here: raise offsets.retention.minutes above the longest time without a commit of any "
    f"partition, {_SET_AGAIN}."
)
_UNSUBSCRIBED: Final = (
    "If the group is not to read that topic any more, nothing is to be done. Else let a member subscribe to it, "
    f"{_SET_AGAIN}."
)


def _remedy(rows: GroupRows, kind: FindingKind, lost: ExpiryRow) -> str:
    """Return what helps against such a loss: by what the offset expired, where it did, with the tool for the group's kind."""
    state = rows.state_at(lost.log_offset) or rows.state_at(lost.log_offset - 1)
    remedy = _against(rows, kind, lost)
    is_streams = state is not None and state.kind == GroupKind.STREAMS
    return remedy.replace(_SET_AGAIN, _SET_STREAMS) if is_streams else remedy


def _against(rows: GroupRows, kind: FindingKind, lost: ExpiryRow) -> str:
    if not rows.group and kind is not TOPIC_DELETED:
        return f"{NO_GROUP_REMEDY[0].upper()}{NO_GROUP_REMEDY[1:]}: {NO_GROUP}."
    if kind is not EXPIRED:
        return kind.remedy
    return _OWN_EXPIRY if lost.cause == Cause.EXPIRE_TIMESTAMP else _against_retention(rows, lost)


def _against_retention(rows: GroupRows, lost: ExpiryRow) -> str:
    if lost.rule != Rule.RETENTION_SINCE_EMPTY and _is_over_when_written(rows, lost):
        return _OWN_TIME
    if release_of(lost.release) < KIP_211:
        return _BEFORE_KIP_211
    if lost.cause == Cause.UNSUBSCRIBED_TOPIC:
        return _UNSUBSCRIBED
    return _SINCE_COMMIT if lost.rule == Rule.RETENTION_SINCE_COMMIT else EXPIRED.remedy


def _is_over_when_written(rows: GroupRows, lost: ExpiryRow) -> bool:
    """Return whether retention, which counts from a commit's own time, was over when its record was written."""
    if lost.commit_timestamp is None or not lost.evidence:
        return False
    at = int(lost.evidence[0].rpartition(":")[2])
    row = rows.offsets.by_partition.following(TopicPartition(lost.topic, lost.partition), at - 1)
    is_it = row is not None and row.commit_log_offset == at
    return is_it and row is not None and lost.commit_timestamp + lost.retention_ms <= row.from_timestamp


def _hurts(rows: GroupRows, restart: Restart | None, cause: Cause, lost: ExpiryRow) -> bool:
    """Return whether records were read again, or skipped as far as one can tell.

    A client that never joins the group may have read on all the time: that its offset is ahead proves no skip.
    """
    if restart is None or restart.is_read_on or cause in _MEANT:
        return False
    group = rows.state_at(lost.log_offset)
    is_without_members = group is not None and group.kind == GroupKind.SIMPLE
    return restart.read_again > 0 or (restart.skipped > 0 and not is_without_members)


def removal_reason(row: ExpiryRow) -> str:
    """Return the cause of a removal in words: "expired (retention 7d)", "perhaps they expired, or somebody deleted them"."""
    return _reason(
        _causes(row, row.alternatives, Confidence(row.confidence or "ambiguous")), row.retention_ms
    )


def _causes(row: ExpiryRow, alternatives: tuple[str, ...], confidence: Confidence) -> tuple[Cause, ...]:
    """Return the cause, followed by the alternatives that a title names, where several fit."""
    cause = Cause(row.cause or Cause.UNKNOWN)
    return (cause, *map(Cause, alternatives)) if confidence is Confidence.AMBIGUOUS else (cause,)


def _reason(causes: tuple[Cause, ...], retention_ms: int) -> str:
    cause, *others = causes
    if others:
        return "perhaps " + ", or ".join(dict.fromkeys(_PERHAPS[each] for each in causes))
    return _WHY[cause].format(retention=duration_text(retention_ms))


def _title(group: str, lost: list[ExpiryRow], causes: tuple[Cause, ...], *, is_said: bool) -> str:
    what = f"{count(len(lost), 'offset')} {of_topics([row.topic for row in lost])}"
    if causes == (Cause.GROUP_DELETED,):
        return f"Group {named(group)} was deleted{at_time(lost[0].removed_at)}, with {what}{SAID if is_said else ''}"
    reason = _reason(causes, lost[0].retention_ms)
    if is_said:
        # The line says that they expired, and not after which retention.
        reason = f"{'expired' if KINDS[causes[0]] is EXPIRED else reason}{SAID}"
    return f"Group {named(group)} lost {what}{at_time(lost[0].removed_at)}: {reason}"


def _log_offsets(lost: list[ExpiryRow], restart: Restart | None) -> tuple[int, ...]:
    """Return log offsets as evidence: a tombstone, the first commit afterwards, the other tombstones, the removed commits."""
    own = log_offset_text(lost[0].log_partition, 0).removesuffix("0")
    texts = [text for row in lost for text in row.evidence if text.startswith(own)]
    before = [int(text.removeprefix(own)) for text in texts]
    after = [restart.first.commit_log_offset] if restart else []
    return (*(row.log_offset for row in lost[:1]), *after, *(row.log_offset for row in lost), *before)


def _restart(rows: GroupRows, lost: list[ExpiryRow]) -> Restart | None:
    """Return where the group began again, by its first commit in each partition after the loss; None if it has not yet."""
    places = ((TopicPartition(row.topic, row.partition), row.log_offset) for row in lost)
    following = rows.offsets.by_partition.following_all(places, FirstCommit)
    pairs = [(row, after) for row, after in zip(lost, following, strict=True) if after is not None]
    if not pairs:
        return None
    moved = [
        0
        if row.committed_offset is None or min(row.committed_offset, after.committed_offset) < 0
        else after.committed_offset - row.committed_offset
        for row, after in pairs
    ]
    return Restart(
        len(pairs),
        -sum(each for each in moved if each < 0),
        sum(each for each in moved if each > 0),
        min((after for _, after in pairs), key=lambda row: row.from_log_offset),
        all(_was_member_before(rows, row, after) for row, after in pairs),
    )


def _was_member_before(rows: GroupRows, lost: ExpiryRow, after: FirstCommit) -> bool:
    """Return whether the owner at a commit after the removal was a member before it, and so knew its position.

    If the group has rebalanced in between, it may have asked for the offset: then a lower one means that records were read again.
    """
    of_member = rows.by_member.get(after.member_id or "", [])
    if not any(row.from_log_offset < lost.log_offset for row in of_member[:1]):
        return False
    is_behind = lost.committed_offset is not None and after.committed_offset < lost.committed_offset
    return not is_behind or _number(rows, lost.log_offset) == _number(rows, after.commit_log_offset)


def _number(rows: GroupRows, log_offset: int) -> tuple[int | None, int | None]:
    """Return the group's generation and epoch at a log offset: when they change, members may ask for offsets."""
    group = rows.state_at(log_offset)
    return (None, None) if group is None else (group.generation, group.assignment_epoch)


def _began_again(restart: Restart | None, lost: ExpiryRow) -> str:
    if restart is None:
        return "; no commit followed"
    if restart.is_read_on and not restart.read_again:
        return "; its members read on, and committed again"
    later = ""
    if lost.removed_at is not None and restart.first.from_timestamp >= lost.removed_at:
        later = f" {duration_text(restart.first.from_timestamp - lost.removed_at)} later"
    said = [
        f"{number:,} {what} where it had been"
        for number, what in ((restart.read_again, "behind"), (restart.skipped, "ahead of"))
        if number
    ]
    where = " and ".join(said) or "where it had been"
    if said and restart.partitions > 1:
        where += ", in all"
    return f"; it committed {count(restart.partitions, 'partition')} again{later}, {where}"


_CAUSES: Final = {
    LineKind.GROUPS_DELETED: Cause.GROUP_DELETED,
    LineKind.OFFSETS_DELETED: Cause.OFFSETS_DELETED,
    LineKind.TOPICS_DELETED: Cause.TOPIC_DELETED,
}
_EXPIRED: Final = (Cause.RETENTION, Cause.EXPIRE_TIMESTAMP, Cause.UNSUBSCRIBED_TOPIC)
"""Causes of expiry: the line that the broker writes does not say which."""


def with_stated_causes(
    removed: Sequence[ExpiryRow], server_log: ServerLog
) -> tuple[list[ExpiryRow], dict[int, ServerLine]]:
    """Return removals with the causes that lines state, and these lines by the log offset of the removal."""
    if not server_log:
        return list(removed), {}
    lines = {row.log_offset: line for row in removed if (line := _line(row, server_log)) is not None}
    return [_with_cause(row, lines.get(row.log_offset)) for row in removed], lines


def _line(row: ExpiryRow, server_log: ServerLog) -> ServerLine | None:
    """Return the line that states why an offset was removed; None where an older broker's line may mean a deleted topic too."""
    of = TopicPartition(row.topic, row.partition)
    line = server_log.removal(row.group, of, row.log_partition, row.removed_at)
    if (
        line is None
        or line.kind is not LineKind.OFFSETS_EXPIRED
        or server_log.has_line_for_deleted_topics(line)
    ):
        return line
    return None if Cause.TOPIC_DELETED in (row.cause, *row.alternatives) else line


def _with_cause(row: ExpiryRow, line: ServerLine | None) -> ExpiryRow:
    if line is None:
        return row
    fitting = [
        cause for cause in map(Cause, (row.cause or Cause.UNKNOWN, *row.alternatives)) if cause in _EXPIRED
    ]
    cause = _CAUSES.get(line.kind) or next(iter(fitting), Cause.RETENTION)
    return row._replace(cause=cause.value, confidence=Confidence.CERTAIN.value, alternatives=())

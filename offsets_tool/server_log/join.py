"""Files of brokers' logs joined with the records: entries by group in the records' time, and the questions asked of them.

A line counts where group, generation or epoch, member, and time agree with the records. Without a known clock only what needs none
is joined: a member's own id, or a generation that occurs once.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from offsets_tool.replay.changes import TopicPartition
from offsets_tool.server_log.clocks import SLACK_MS, FileClock, RecordTimes, clock_of
from offsets_tool.server_log.parse import ServerLogFile
from offsets_tool.server_log.reasons import Reason, RebalanceCause, reason_of
from offsets_tool.server_log.server_line import LineKind, ServerLine

DEPARTURES: Final = (LineKind.LEFT, LineKind.EXPIRED, LineKind.TOO_SLOW)
"""Lines that say how a member went."""
_SOON_MS: Final = 1_000
"""How long before a new epoch the line stands, at most, that says why it is there: one heartbeat is one call."""
_LISTED: Final = ", "
"""What stands between the names of one line."""


class JoinedFile(NamedTuple):
    """A file and its clock."""

    file: ServerLogFile
    clock: FileClock


class TimeSpan(NamedTuple):
    """A span of time in epoch milliseconds that includes both ends; a negative end or None leaves it open."""

    since: int | None
    until: int | None

    def has(self, at: int | None) -> bool:
        """Return whether a line of this time may belong to the span, with a tolerance for the delay between line and record."""
        if at is None:
            return True
        is_late = self.until is not None and 0 <= self.until < at - SLACK_MS
        return not is_late and (self.since is None or self.since < 0 or at >= self.since - SLACK_MS)


class ServerLog:
    """The coordinators' lines on groups, in the time of the records, with the questions asked of them."""

    def __init__(self, files: Iterable[JoinedFile] = ()) -> None:
        """Join files whose clocks are known."""
        self.files = tuple(files)
        entries = sorted(
            (entry for each in self.files for entry in _in_records_time(each)),
            key=lambda entry: (-1 if entry.at is None else entry.at, entry.file, entry.line),
        )
        self._of_group: dict[str, list[ServerLine]] = defaultdict(list)
        self._of_kind: dict[LineKind, list[ServerLine]] = defaultdict(list)
        for entry in entries:
            self._of_kind[entry.kind].append(entry)
            if entry.group is not None:
                self._of_group[entry.group].append(entry)
        self._epochs: dict[str, dict[int, int]] = {}

    def __bool__(self) -> bool:
        """Return whether there is any file."""
        return bool(self.files)

    def of_group(self, group: str, *kinds: LineKind) -> list[ServerLine]:
        """Return the lines about a group, of these kinds or of all, the oldest first."""
        return [each for each in self._of_group.get(group, ()) if not kinds or each.kind in kinds]

    def of_kind(self, kind: LineKind) -> Sequence[ServerLine]:
        """Return all lines of a kind, the oldest first."""
        return self._of_kind.get(kind, ())

    def departure(self, group: str, member_id: str, within: TimeSpan) -> ServerLine | None:
        """Return the last line within a span that says how a member left; None if there is none, or it is ambiguous."""
        some = [
            each
            for each in self.of_group(group, *DEPARTURES)
            if _is_of(each, member_id) and within.has(each.at)
        ]
        is_sure = len(some) == 1 or any(each.at is not None for each in some)
        return some[-1] if some and is_sure else None

    def generations(self, group: str, numbers: range, within: TimeSpan) -> list[Reason]:
        """Return why a classic group ended these generations: a reason for each line that announces a rebalance."""
        some = [
            each
            for each in self.of_group(group, LineKind.PREPARING)
            if each.number in numbers and within.has(each.at)
        ]
        is_sure = all(each.at is not None for each in some) or len({each.number for each in some}) == len(
            some
        )
        return [reason for each in some if is_sure and (reason := reason_of(each)) is not None]

    def epochs(
        self,
        group: str,
        numbers: range,
        within: TimeSpan,
        joined: Collection[str] = (),
        changed: Collection[str] | None = None,
        *,
        left: Collection[str] = (),
    ) -> list[Reason]:
        """Return why a group of KIP-848 has these epochs: by the lines before each, or by time where no line names an epoch.

        `joined` are the members that came with these epochs, `left` those that went. With `changed`, all that came, went or asked
        for other topics, a line about another member is none of theirs: some releases have no line for an epoch, and so do epochs
        of leaving share members.
        """
        known = self._epochs.setdefault(group, dict(self._causes_of_epochs(group)))
        stated = {each.number for each in self.of_group(group, LineKind.EPOCH) if within.has(each.at)}
        is_complete = stated.issuperset(numbers)
        some = [
            each
            for at, each in enumerate(self._of_group.get(group, ()))
            if (known.get(at) in numbers if is_complete or at in known else each.at is not None)
            and within.has(each.at)
            and (changed is None or each.member_id is None or _may_be_of(each, joined, left, changed))
        ]
        reasons = list(_of_joining((reason for each in some if (reason := reason_of(each))), joined))
        others = [each for each in reasons if each.entry.kind is not LineKind.TOPICS_CHANGED]
        if others or joined or changed:
            # Who comes, goes or asks for other topics also changes what is known of topics: the line on that may be missing here.
            return others
        return reasons or list(self._of_topics(group, numbers, within))

    def _of_topics(self, group: str, numbers: range, within: TimeSpan) -> Iterator[Reason]:
        """Yield the lines of epochs that no other line explains, but those of an unchanged metadata hash: topics changed."""
        for before, entry in pairwise(self.of_group(group, LineKind.EPOCH)):
            is_same = entry.reason is not None and entry.reason == before.reason
            if entry.number in numbers and within.has(entry.at) and not is_same:
                yield Reason(RebalanceCause.TOPICS_CHANGED, entry)

    def _causes_of_epochs(self, group: str) -> Iterator[tuple[int, int]]:
        """Yield the index of each of a group's lines, with the epoch that the broker began right after it."""
        before: list[int] = []
        entries = self._of_group.get(group, ())
        for index, entry in enumerate(entries):
            if entry.kind is not LineKind.EPOCH:
                before.append(index)
                continue
            yield from (
                (each, entry.number or 0)
                for each in before
                if (entry.at or 0) - (entries[each].at or 0) <= _SOON_MS and entries[each].file == entry.file
            )
            before = []

    def stabilized(self, group: str, number: int, within: TimeSpan) -> ServerLine | None:
        """Return the line that says that all members had joined a generation, or that it has none; None without such a line."""
        kinds = (LineKind.STABILIZED, LineKind.EMPTIED)
        some = [
            each for each in self.of_group(group, *kinds) if each.number == number and within.has(each.at)
        ]
        return some[-1] if some else None

    def deletion_of_group(self, group: str, at: int | None) -> ServerLine | None:
        """Return the line that says that somebody deleted a group at this time."""
        return self._at_time(LineKind.GROUPS_DELETED, at, lambda entry: names_group(entry.text or "", group))

    def removal(
        self, group: str, of: TopicPartition, log_partition: int | None, at: int | None
    ) -> ServerLine | None:
        """Return the line that says what removed a committed offset at this time: a request, its topic's end, or the retention."""
        name = f"{of.topic}-{of.partition}"
        return (
            self.deletion_of_group(group, at)
            or self._at_time(
                LineKind.OFFSETS_DELETED,
                at,
                lambda entry: entry.group == group and name in (entry.text or "").split(_LISTED),
            )
            or self._at_time(
                LineKind.TOPICS_DELETED,
                at,
                lambda entry: _is_here(entry, log_partition) and _names_topic(entry, of),
            )
            or self.expiry(log_partition, at)
        )

    def expiry(self, log_partition: int | None, at: int | None) -> ServerLine | None:
        """Return the line that says that the broker's check of retention removed something at this time."""
        return self._at_time(
            LineKind.OFFSETS_EXPIRED, at, lambda entry: bool(entry.number) and _is_here(entry, log_partition)
        )

    def has_line_for_deleted_topics(self, line: ServerLine) -> bool:
        """Return whether the broker that wrote a line has a line of its own for offsets of deleted topics: from 2.0 on.

        Older brokers call them expired. A broker of 2.0 or newer gives reasons for rebalances, or names its log partition.
        """
        is_new = any(each.file == line.file and each.reason for each in self.of_kind(LineKind.PREPARING))
        return line.log_partition is not None or is_new

    def fenced(self, instance_id: str, member_ids: Iterable[str], within: TimeSpan) -> list[ServerLine]:
        """Return the lines that say that one of these members asked for something while another had its group.instance.id."""
        ids = set(member_ids)
        return [
            each
            for each in self.of_kind(LineKind.FENCED)
            if each.instance_id == instance_id and each.member_id in ids and within.has(each.at)
        ]

    def end_of_transaction(self, producer_id: int, at: int | None) -> ServerLine | None:
        """Return the line that says that the coordinator aborted a producer's transaction at this time because it had timed out."""
        names = {
            each.text for each in self.of_kind(LineKind.TRANSACTION_BEGAN) if each.producer_id == producer_id
        }
        return self._at_time(LineKind.TRANSACTION_TIMED_OUT, at, lambda entry: entry.text in names)

    def takeover(self, producer_id: int, epoch: int, at: int | None) -> ServerLine | None:
        """Return the line that says that a producer took over the transactional id of one with this epoch, at this time."""
        return self._at_time(
            LineKind.TRANSACTION_BEGAN,
            at,
            lambda entry: entry.producer_id == producer_id and (entry.number or 0) > epoch,
        )

    def _at_time(
        self, kind: LineKind, at: int | None, is_it: Callable[[ServerLine], bool]
    ) -> ServerLine | None:
        """Return the line of a kind that was written at a time, the nearest; none where a time is unknown."""
        if at is None or at < 0:
            return None
        near = [each for each in self.of_kind(kind) if _is_at(each, at) and is_it(each)]
        return min(near, key=lambda each: abs((each.at or 0) - at), default=None)


def _may_be_of(
    entry: ServerLine, joined: Collection[str], left: Collection[str], changed: Collection[str]
) -> bool:
    """Return whether a line about a member may be of an epoch with which these members came, went, or changed at all.

    Where the line on an epoch is missing, those of the neighbours' members stand beside: of one that came with it and goes later.
    A static member that goes for a while begins no epoch (consumerGroupStaticMemberGroupLeave).
    """
    if entry.member_id not in changed or entry.kind is LineKind.AWAY:
        return False
    if entry.kind is LineKind.JOINED:
        return entry.member_id in joined
    return entry.kind not in DEPARTURES or entry.member_id not in joined or entry.member_id in left


def _of_joining(reasons: Iterable[Reason], joined: Collection[str]) -> Iterator[Reason]:
    """Yield reasons; what a member that joins subscribes to is part of its joining, which not all releases have a line for."""
    came: set[str] = set()
    for reason in reasons:
        member_id = reason.member_id or ""
        if reason.cause is RebalanceCause.JOINED:
            came.add(member_id)
        elif reason.cause is RebalanceCause.RESUBSCRIBED and member_id in came:
            continue
        elif reason.cause is RebalanceCause.RESUBSCRIBED and member_id in joined:
            came.add(member_id)
            yield reason._replace(cause=RebalanceCause.JOINED)
            continue
        yield reason


def _in_records_time(joined: JoinedFile) -> Iterator[ServerLine]:
    file, clock = joined
    for entry in file.entries:
        if entry not in clock.misfits:
            at = None if clock.ahead_ms is None or entry.at is None else entry.at - clock.ahead_ms
            yield entry._replace(at=at)


def _is_of(entry: ServerLine, member_id: str) -> bool:
    """Return whether a line is about a member, alone or among others that it lists."""
    is_listed = (
        entry.kind is LineKind.TOO_SLOW and entry.member_id is None and member_id in (entry.text or "")
    )
    return entry.member_id == member_id or is_listed


def _is_at(entry: ServerLine, at: int) -> bool:
    """Return whether what a line says happened at a time, with a tolerance for the delay until it was written."""
    if entry.at is None:
        return False
    return -SLACK_MS - (entry.took_ms or 0) <= at - entry.at <= SLACK_MS


def _is_here(entry: ServerLine, log_partition: int | None) -> bool:
    return entry.log_partition is None or log_partition is None or entry.log_partition == log_partition


def names_group(text: str, group: str) -> bool:
    """Return whether a text that lists names has a group's; the list is not split, as names may have commas too."""
    return any(
        text == group
        or text.startswith(group + between)
        or text.endswith(between + group)
        or between + group + between in text
        for between in (_LISTED, ",")
    )


def _names_topic(entry: ServerLine, of: TopicPartition) -> bool:
    text = entry.text or ""
    return f"{of.topic}-{of.partition}" in text.split(_LISTED) or f"name={of.topic}]" in text


def joined_log(files: Iterable[ServerLogFile], records: RecordTimes) -> ServerLog:
    """Return files joined with what the records say of the groups that they name; NO_SERVER_LOG without any."""
    joined = [JoinedFile(each, clock_of(each, records)) for each in files]
    return ServerLog(joined) if joined else NO_SERVER_LOG


NO_SERVER_LOG: Final = ServerLog()
"""No file was given: no line says anything."""

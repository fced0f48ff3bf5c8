"""Were there partitions that no member owned, members that owned none or asked for other topics, or times without any members?

Ownership is what members were assigned; while a group rebalances nobody need own anything, so only what lasts counts.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Final, NamedTuple

from offsets_tool.expiry.causes import Cause, Confidence
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows, is_simple
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import count, from_time, listed, named, span
from offsets_tool.history.rows import MemberHistoryRow
from offsets_tool.log_clock import age_at
from offsets_tool.rebalances.holdings import topic_of
from offsets_tool.replay.member_records import CONSUMER_PROTOCOL
from offsets_tool.wire.longs import difference

UNOWNED: Final = FindingKind(
    "unowned_partitions",
    Severity.WARNING,
    "Partitions that a member had owned or the group committed were owned by nobody for minutes, though members asked for "
    "their topic.",
    "Look at the group's assignor and at the members' subscriptions of that time; nothing of these partitions was read.",
)
IDLE: Final = FindingKind(
    "idle_members",
    Severity.NOTICE,
    "Members of the group own no partition: there are more members than partitions, or the assignor left them out.",
    "Stop the members that have nothing to do, or give the topic more partitions.",
)
DOWN: Final = FindingKind(
    "group_without_members",
    Severity.NOTICE,
    "The group had no members for minutes, and then had some again: nothing was read in between.",
    "Look at why all of its clients were stopped at that time.",
)
MIXED: Final = FindingKind(
    "mixed_subscriptions",
    Severity.NOTICE,
    "Members of the group ask for different topics: whenever some of them come or go, the others stop as well.",
    "If these are several applications, give each a group.id of its own; a topic whose application is gone is read by nobody.",
)
LASTS_MS: Final = 300_000
"""How long something must last to count: max.poll.interval.ms, within which every rebalance is over."""
_RANGE: Final = "range"
_STREAMS: Final = "stream"
_TWO_ROUNDS: Final = (
    "If that was not meant: while members with one assignor are there, members that name only another are refused "
    "(INCONSISTENT_GROUP_PROTOCOL); change it in two rolling restarts, the first of which names both."
)
_MOST_SUBSCRIPTIONS: Final = 32
"""How many subscriptions are compared: with more, members follow each their own list, and that is meant."""
_MOST_NAMED: Final = 3


class _Stretch(NamedTuple):
    """A stretch of the log: from one record to another, or to its end; times in epoch milliseconds."""

    from_offset: int
    from_at: int
    to_offset: int | None
    to_at: int | None

    def lasts(self, newest_at: int | None) -> int:
        """Return how long it lasted, milliseconds."""
        until = newest_at if self.to_at is None else self.to_at
        return age_at(until, self.from_at) or 0


@finder(UNOWNED, IDLE, DOWN, MIXED)
def find_ownership(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield findings for partitions without an owner, for members without partitions or with other topics, and for pauses."""
    owned = _owned(rows)
    for stretches, names in _unowned_stretches(rows, owned, context).items():
        yield _unowned(rows, stretches, names, context, _is_whole_topic(owned, set(names)))
    idle = [row for row in rows.members if _is_idle(row, context)]
    if idle:
        yield _idle(rows, idle)
    yield from _down(rows)
    yield from _mixed(rows, context)


def _owned(rows: GroupRows) -> dict[str, list[_Stretch]]:
    """Return, by partition as text, the stretches in which a member owned it."""
    owned = defaultdict[str, list[_Stretch]](list)
    for row in rows.members:
        stretch = _stretch_of(row)
        for name in row.held:
            owned[name].append(stretch)
    return owned


def _stretch_of(row: MemberHistoryRow) -> _Stretch:
    return _Stretch(row.from_log_offset, row.from_timestamp, row.to_log_offset, row.to_timestamp)


def _unowned_stretches(
    rows: GroupRows, owned: Mapping[str, Iterable[_Stretch]], context: LogContext
) -> dict[tuple[_Stretch, ...], list[str]]:
    """Return partitions by the stretches that lasted in which nobody owned them, though members asked for their topic.

    A group without members asks for nothing: what nobody owned before and after such a pause is told without the pause.
    """
    topics = defaultdict[tuple[str, _Stretch], list[str]](list)
    for name, stretches in owned.items():
        for gap in _gaps(_merged(stretches)):
            topics[topic_of(name), gap].append(name)
    for name, gap in _never_owned(rows, owned):
        topics[topic_of(name), gap].append(name)
    asked_for = _asked_for(rows, {topic for topic, _ in topics})
    unowned = defaultdict[tuple[_Stretch, ...], list[str]](list)
    for (topic, gap), names in topics.items():
        within = (_within(gap, stretch) for stretch in asked_for[topic])
        lasting = tuple(part for part in within if part and part.lasts(context.newest_at) >= LASTS_MS)
        if lasting:
            unowned[lasting] += names
    return unowned


def _never_owned(rows: GroupRows, owned: Iterable[str]) -> Iterator[tuple[str, _Stretch]]:
    """Yield partitions that have a committed offset and never had an owner, of topics that had, each from its last commit on.

    Before that somebody read them, whatever the assignments say.
    """
    names = set(owned)
    topics = {topic_of(name) for name in names}
    never = [
        at
        for at, end_cause in rows.offsets.by_partition.end_causes.items()
        if end_cause is None and at.topic in topics and f"{at.topic}-{at.partition}" not in names
    ]
    for last in rows.offsets.by_partition.last_rows(never):
        yield (
            f"{last.topic}-{last.partition}",
            _Stretch(last.from_log_offset, last.from_timestamp, None, None),
        )


def _asked_for(rows: GroupRows, topics: set[str]) -> dict[str, list[_Stretch]]:
    """Return by topic the stretches in which a member asked for it, by name or by an expression that gave it a partition."""
    stretches: dict[str, list[_Stretch]] = {topic: [] for topic in topics}
    for row in rows.members if topics else ():
        by_expression = _topics_of(row) if row.subscribed_regex else ()
        for topic in topics.intersection(chain(row.subscription, by_expression)):
            stretches[topic].append(_stretch_of(row))
    return {topic: _merged(of_topic) for topic, of_topic in stretches.items()}


def _topics_of(row: MemberHistoryRow) -> set[str]:
    """Return the topics of which a member owns a partition."""
    return {topic_of(name) for name in row.held}


def _merged(stretches: Iterable[_Stretch]) -> list[_Stretch]:
    """Return stretches in the order of the log, those as one that overlap or follow each other without a record between."""
    merged: list[_Stretch] = []
    for stretch in sorted(stretches, key=lambda each: each.from_offset):
        last = merged[-1] if merged else None
        if last is None or (last.to_offset is not None and stretch.from_offset > last.to_offset):
            merged.append(stretch)
        elif _ends_later(stretch, last):
            merged[-1] = last._replace(to_offset=stretch.to_offset, to_at=stretch.to_at)
    return merged


def _gaps(merged: Iterable[_Stretch]) -> Iterator[_Stretch]:
    """Yield the gaps between merged stretches, the one behind the last too."""
    last: _Stretch | None = None
    for stretch in merged:
        if last is not None and last.to_offset is not None:
            yield _Stretch(last.to_offset, last.to_at or 0, stretch.from_offset, stretch.from_at)
        last = stretch
    if last is not None and last.to_offset is not None:
        yield _Stretch(last.to_offset, last.to_at or 0, None, None)


def _within(one: _Stretch, other: _Stretch) -> _Stretch | None:
    """Return the stretch that two have in common; None without one."""
    first = one if one.from_offset >= other.from_offset else other
    last = other if _ends_later(one, other) else one
    if last.to_offset is not None and last.to_offset <= first.from_offset:
        return None
    return _Stretch(first.from_offset, first.from_at, last.to_offset, last.to_at)


def _ends_later(one: _Stretch, other: _Stretch) -> bool:
    return other.to_offset is not None and (one.to_offset is None or one.to_offset > other.to_offset)


def _is_whole_topic(owned: Iterable[str], names: Collection[str]) -> bool:
    """Return whether these are all partitions of their topics that anybody ever owned: then the topic may have been deleted."""
    topics = {topic_of(name) for name in names}
    return all(name in names for name in owned if topic_of(name) in topics)


def _unowned(
    rows: GroupRows,
    stretches: Sequence[_Stretch],
    names: list[str],
    context: LogContext,
    is_whole_topic: bool,
) -> Finding:
    topics = {topic_of(name) for name in names}
    ends = [offset for stretch in stretches for offset in (stretch.from_offset, stretch.to_offset)]
    lasts = sum(stretch.lasts(context.newest_at) for stretch in stretches)
    times = f" in all, {len(stretches)} times" if len(stretches) > 1 else ""
    return found(
        UNOWNED,
        rows,
        Places(
            tuple(offset for offset in ends if offset is not None), stretches[0].from_at, stretches[-1].to_at
        ),
        f"No member of group {named(rows.group)} owned {count(len(names), 'partition')} ({listed(names)}) for "
        f"{span(lasts)}{times}{from_time(stretches[0].from_at)}",
        topic=topics.pop() if len(topics) == 1 else None,
        severity=Severity.NOTICE if is_whole_topic else Severity.WARNING,
        confidence=Confidence.AMBIGUOUS if is_whole_topic else Confidence.CERTAIN,
        # Its members may still ask for it.
        alternatives=(Cause.TOPIC_DELETED.value,) if is_whole_topic else (),
    )


def _is_idle(row: MemberHistoryRow, context: LogContext) -> bool:
    """Return whether a member has owned nothing for long at the end of the log, though it subscribes to topics."""
    if row.to_log_offset is not None or row.assignment or row.pending_revocation:
        return False
    lasts = _Stretch(row.from_log_offset, row.from_timestamp, None, None).lasts(context.newest_at)
    return bool(row.subscription or row.subscribed_regex) and lasts >= LASTS_MS


def _idle(rows: GroupRows, idle: list[MemberHistoryRow]) -> Finding:
    of = rows.groups[-1].members if rows.groups else len(idle)
    first = idle[0]
    return found(
        IDLE,
        rows,
        Places(tuple(row.from_log_offset for row in idle), first.from_timestamp),
        f"{len(idle)} of {count(of, 'member')} of group {named(rows.group)} own no partition at the end of the log: "
        f"{listed(rows.name_of(row) for row in idle)}",
        remedy=_what_helps(rows, idle),
    )


def _what_helps(rows: GroupRows, idle: Iterable[MemberHistoryRow]) -> str:
    """Return the remedy for idle members: to have fewer of them helps only where all partitions that there are have owners.

    Where fewer members have partitions than could, another assignor would give the idle ones some; range gives some to as many as
    the largest topic has partitions. Of Kafka Streams, whose tasks are of several partitions, nothing like that is known.
    """
    present = [row for row in rows.members if row.to_log_offset is None]
    expressions = {row.subscribed_regex for row in idle if row.subscribed_regex}
    by_expression = [row for row in present if row.subscribed_regex in expressions]
    topics = {topic for row in idle for topic in row.subscription}.union(*map(_topics_of, by_expression))
    asking = [
        row for row in present if row.subscribed_regex in expressions or topics.intersection(row.subscription)
    ]
    partitions = [{name for name in row.held if topic_of(name) in topics} for row in asking]
    names = set[str]().union(*partitions)
    known, owners = len(names), sum(map(bool, partitions))
    protocol = rows.groups[-1].protocol if rows.groups else None
    if not known and (topics or expressions):
        return "Look whether the topics that they ask for exist, and at the group's assignor: nobody owns a partition of them."
    if not topics or protocol == _STREAMS or owners >= min(known, len(asking)):
        return IDLE.remedy
    numbers = f"there are {count(known, 'partition')} for {count(len(asking), 'member')}"
    by_range = max(Counter(topic_of(name) for name in names).values())
    if protocol == _RANGE and owners >= min(by_range, len(asking)):
        return (
            "Name another assignor than range, which deals out each topic by itself (partition.assignment.strategy: roundrobin, "
            f"sticky or cooperative-sticky), or give each topic more partitions: {numbers}."
        )
    return f"Look at the group's assignor{f' {named(protocol)}' if protocol else ''}, which left them out: {numbers}."


def _down(rows: GroupRows) -> Iterator[Finding]:
    """Yield a finding for each pause in which a group of consumers had no members."""
    empty: _Stretch | None = None
    protocol: str | None = None
    for row in rows.groups:
        if row.protocol_type not in (None, CONSUMER_PROTOCOL) or is_simple(row):
            continue
        if row.members:
            if empty is not None and difference(row.from_timestamp, empty.from_at) >= LASTS_MS:
                pause = empty._replace(to_offset=row.from_log_offset, to_at=row.from_timestamp)
                yield _pause(rows, pause, protocol, row.protocol)
            empty, protocol = None, row.protocol
        elif empty is None:
            empty = _Stretch(row.from_log_offset, row.from_timestamp, None, None)


def _pause(
    rows: GroupRows, pause: _Stretch, assignor_before: str | None, assignor_after: str | None
) -> Finding:
    """Return the finding of a pause, given the assignors of the members before and after it."""
    is_other = bool(assignor_before and assignor_after and assignor_before != assignor_after)
    also = (
        f"; since then its assignor is {named(assignor_after or '')}, before it was {named(assignor_before or '')}"
        if is_other
        else ""
    )
    return found(
        DOWN,
        rows,
        Places((pause.from_offset, pause.to_offset or 0), pause.from_at, pause.to_at),
        f"Group {named(rows.group)} had no members for {span(pause.lasts(None))}{from_time(pause.from_at)}{also}",
        remedy=f"{DOWN.remedy} {_TWO_ROUNDS}" if is_other else DOWN.remedy,
    )


class _Asked(NamedTuple):
    """What members ask for: topics, and a regular expression."""

    topics: frozenset[str]
    regex: str | None

    def text(self) -> str:
        """Return it for a sentence."""
        names = [*sorted(self.topics), *([self.regex] if self.regex else [])]
        return listed(names)


def _mixed(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding if members asked for different topics at the same time, and not only while an application was replaced."""
    members = defaultdict[_Asked, list[MemberHistoryRow]](list)
    for row in rows.members:
        if row.subscription or row.subscribed_regex:
            members[_Asked(frozenset(row.subscription), row.subscribed_regex)].append(row)
    if len(members) == 1 or len(members) > _MOST_SUBSCRIPTIONS:
        return
    stretches = {asked: _merged(map(_stretch_of, some)) for asked, some in members.items()}
    mixed = [
        (asked, together)
        for asked in combinations(members, 2)
        if _is_mixed(*asked, together := _together(*(stretches[each] for each in asked)), context)
    ]
    if mixed:
        first = min((together[0].stretch for _, together in mixed), key=lambda stretch: stretch.from_offset)
        groups = dict.fromkeys(asked for pair, _ in mixed for asked in pair)
        yield _mixed_finding(rows, first, {asked: members[asked] for asked in groups})


class _Together(NamedTuple):
    """A stretch in which two subscriptions were there; `has_withdrawn` if the one that came later went first."""

    stretch: _Stretch
    has_withdrawn: bool


def _together(some: Sequence[_Stretch], others: Sequence[_Stretch]) -> list[_Together]:
    """Return what two lists of merged stretches have in common."""
    common: list[_Together] = []
    number, other_number = 0, 0
    while number < len(some) and other_number < len(others):
        one, other = some[number], others[other_number]
        part = _within(one, other)
        if part is not None:
            earlier, later = sorted((one, other), key=lambda stretch: stretch.from_offset)
            is_later = later.from_offset > earlier.from_offset
            common.append(_Together(part, is_later and _ends_later(earlier, later)))
        is_other_last = _ends_later(other, one)
        number, other_number = number + is_other_last, other_number + (not is_other_last)
    return common


def _is_mixed(one: _Asked, other: _Asked, together: Sequence[_Together], context: LogContext) -> bool:
    """Return whether two subscriptions belong to two applications, or to two settings that live side by side.

    An application that is replaced by one with other topics is there beside it once, for minutes, and does not come back. Where
    they share topics, one member may only not have learnt yet of a topic that matches its pattern: that takes up to
    metadata.max.age.ms, and a rebalance.
    """
    lasts = sum(common.stretch.lasts(context.newest_at) for common in together)
    if one.topics & other.topics or one.regex or other.regex:
        return lasts >= 2 * LASTS_MS
    return len(together) > 1 or lasts >= LASTS_MS or any(common.has_withdrawn for common in together)


def _mixed_finding(
    rows: GroupRows, first: _Stretch, members: Mapping[_Asked, Sequence[MemberHistoryRow]]
) -> Finding:
    texts = [
        f"{listed(rows.name_of(row) for row in askers)} for {asked.text()}"
        for asked, askers in members.items()
    ]
    more = f"; and {len(texts) - _MOST_NAMED} more" if len(texts) > _MOST_NAMED else ""
    return found(
        MIXED,
        rows,
        Places((first.from_offset,), first.from_at),
        f"Members of group {named(rows.group)} asked for different topics at the same time{from_time(first.from_at)}: "
        f"{'; '.join(texts[:_MOST_NAMED])}{more}",
    )

"""Was a topic created again under a group, given more partitions, or cut off? Do the group's offsets stand for no record of it?

Commits give another id, members get what nobody had before. Nothing of the topic itself is in the log: its start is known only
where ends are, and of a partition that is new to a group only its first commit, not how much was left out before.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from offsets_tool.expiry.causes import Confidence
from offsets_tool.expiry.rules import Rule
from offsets_tool.findings.context import LogContext, NotOfTopic, Overtaken
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import (
    at_time,
    count,
    from_time,
    in_partitions,
    named,
    offsets_text,
    span,
    was,
)
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.wire.longs import difference

RECREATED: Final = FindingKind(
    "topic_recreated",
    Severity.WARNING,
    "A topic was deleted and created again under the same name, and the group goes on with it.",
    "Offsets from before do not fit the new topic: make sure that the group began at its earliest record.",
)
STARTED_LATE: Final = FindingKind(
    "started_late",
    Severity.NOTICE,
    "The first commit in partitions that a group got later than the others is far above 0: records before it may never have been "
    "read.",
    "Look at auto.offset.reset of its clients: with latest, what was written to new partitions before they were noticed is left "
    "out.",
)
OVERTAKEN: Final = FindingKind(
    "records_deleted_unread",
    Severity.WARNING,
    "Records were deleted, by the topic's retention or by somebody, before the group had committed them.",
    "Get the records from elsewhere if they matter: the group goes on by auto.offset.reset. Let the topic keep records "
    "(retention.ms, retention.bytes) for longer than the group may be behind.",
)
BEYOND: Final = FindingKind(
    "offset_beyond_end",
    Severity.WARNING,
    "Committed offsets are beyond the end of their partition: whoever fetches there is refused (OFFSET_OUT_OF_RANGE), and begins "
    "elsewhere.",
    "auto.offset.reset of the clients decides where the group goes on: with earliest it reads all again, with latest it leaves out "
    "what is there, with none it stops. Set its offsets with kafka-consumer-groups --reset-offsets while it has no members.",
)
NEGATIVE: Final = FindingKind(
    "negative_offset",
    Severity.WARNING,
    "A client committed offsets below 0, which are none: Kafka shows - for them, and their readers begin elsewhere.",
    "auto.offset.reset of the clients decides where the group begins at its next start. Look at the client that commits them, and "
    "set its offsets with kafka-consumer-groups --reset-offsets while it has no members.",
)
LATER_MS: Final = 60_000
"""How much later than others of its topic members must get a partition if it is new to the group: no joining takes that long."""
STEPS: Final = 5
"""How many commits after the first one tell the pace of a partition."""
LEAST_STEPS: Final = 3
FAR: Final = 10
"""How many of its largest steps a first commit must be above 0; one found in time is a step or two above it."""
LEAST_OFFSET: Final = 100
"""Below that no first commit is far above 0, however slow a partition is."""
_READ_BEFORE: Final = "read_before_the_first_commit"


@finder(RECREATED)
def find_recreated(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each time that commits of a topic changed to another topic id."""
    offsets = rows.offsets
    with_id = offsets.has("topic_id").nonzero()[0]
    in_order = with_id[offsets.numbers("commit_log_offset")[with_id].argsort(kind="stable")]
    by_topic = offsets.numbers("topic")[in_order].argsort(kind="stable")
    topics, ids = (offsets.numbers(name)[in_order[by_topic]] for name in ("topic", "topic_id"))
    changes = ((topics[1:] == topics[:-1]) & (ids[1:] != ids[:-1])).nonzero()[0]
    changes = changes[by_topic[changes + 1].argsort()]
    pairs = (offsets.at(in_order[by_topic[changes + n]]) for n in (0, 1))
    yield from (_recreated(rows, *pair) for pair in zip(*pairs, strict=True))


def _recreated(rows: GroupRows, before: OffsetHistoryRow, after: OffsetHistoryRow) -> Finding:
    """Return the finding for the last commit for one id of a topic, and the first for the next."""
    return found(
        RECREATED,
        rows,
        Places(
            (after.commit_log_offset, before.commit_log_offset), after.from_timestamp, after.from_timestamp
        ),
        f"Topic {named(after.topic)} was created again: group {named(rows.group)} commits for id {after.topic_id}"
        f"{from_time(after.from_timestamp)}, and did for id {before.topic_id} before",
        topic=after.topic,
    )


class _Start(NamedTuple):
    """A partition that was new to the group: the record that gave it to a member, and the first commit."""

    log_offset: int
    at: int
    later_ms: int
    commit: OffsetHistoryRow


@finder(STARTED_LATE)
def find_started_late(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for the partitions of a topic that were new to the group at once, and began far above 0."""
    starts = defaultdict[tuple[str, int], list[_Start]](list)
    for start in _starts(rows):
        starts[start.commit.topic, start.log_offset].append(start)
    for at_once in starts.values():
        yield _started_late(rows, at_once)


def _starts(rows: GroupRows) -> Iterator[_Start]:
    owned: dict[tuple[str, str], tuple[int, int]] = {}
    for row in rows.members:
        for name in row.assignment:
            topic, _, number = name.rpartition("-")
            begin = row.from_log_offset, row.from_timestamp
            owned[topic, number] = min(owned.get((topic, number), begin), begin)
    topics: dict[str, tuple[int, int]] = {}
    for (topic, _), begin in owned.items():
        topics[topic] = min(topics.get(topic, begin), begin)
    for (topic, number), (log_offset, at) in owned.items():
        first_offset, first_at = topics[topic]
        later = difference(at, first_at)
        if first_offset < rows.proven_from or min(at, first_at) < 0 or later < LATER_MS:
            continue
        commit = _far_first_commit(rows, TopicPartition(topic, int(number)))
        if commit is not None and commit.from_log_offset > log_offset:
            yield _Start(log_offset, at, later, commit)


def _far_first_commit(rows: GroupRows, at: TopicPartition) -> OffsetHistoryRow | None:
    """Return the first commit of a partition, if it is far above 0 by the pace of those after it."""
    first = rows.offsets.by_partition.following(at, -1)
    if first is None or first.committed_offset < LEAST_OFFSET:
        return None
    steps: list[int] = []
    last: OffsetHistoryRow | None = first
    while last is not None and len(steps) < STEPS:
        last = rows.offsets.by_partition.following(at, last.from_log_offset)
        steps += [] if last is None else [last.delta or 0]
    return first if len(steps) >= LEAST_STEPS and first.committed_offset >= FAR * max(steps) else None


def _started_late(rows: GroupRows, starts: Sequence[_Start]) -> Finding:
    first, commits = starts[0], [start.commit for start in starts]
    topic, partitions = first.commit.topic, sorted(commit.partition for commit in commits)
    text = offsets_text([commit.committed_offset for commit in commits])
    return found(
        STARTED_LATE,
        rows,
        Places(
            (*(commit.from_log_offset for commit in commits), first.log_offset),
            first.at,
            max(commit.from_timestamp for commit in commits),
        ),
        f"The first commit{'s' if len(commits) > 1 else ''} of group {named(rows.group)} {in_partitions(partitions)} of topic "
        f"{named(topic)}, which it got {span(first.later_ms)} after the others{at_time(first.at)}, "
        f"{'are' if len(commits) > 1 else 'is'} at {text}: records before may never have been read",
        topic=topic,
        partition=partitions[0] if len(partitions) == 1 else None,
        confidence=Confidence.AMBIGUOUS,
        alternatives=(_READ_BEFORE,),
    )


@finder(OVERTAKEN)
def find_overtaken(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each topic of which records were deleted that the group had not committed; none where nobody says it."""
    by_topic: dict[str, dict[int, Overtaken]] = defaultdict(dict)
    for at, overtaken in context.overtaken.get(rows.group, {}).items():
        if at in rows.offsets.by_partition.places:
            by_topic[at.topic][at.partition] = overtaken
    for topic, partitions in sorted(by_topic.items()):
        yield _overtaken(rows, topic, partitions)


def _overtaken(rows: GroupRows, topic: str, partitions: Mapping[int, Overtaken]) -> Finding:
    """Return the finding; it is critical where the group has members, who do not read what they are there for."""
    last = rows.offsets.by_partition.last_rows(TopicPartition(topic, number) for number in sorted(partitions))
    records = sum(overtaken.records for overtaken in partitions.values())
    first = next(iter(partitions.values()))
    where = f"it stands at {first.committed_offset:,}, and the log begins at {first.log_start_offset:,}"
    if len(partitions) > 1:
        where = "their logs begin after the committed offsets"
    return found(
        OVERTAKEN,
        rows,
        Places(tuple(row.commit_log_offset for row in last), max(row.from_timestamp for row in last)),
        f"{count(records, 'record')} of topic {named(topic)} {in_partitions(sorted(partitions))} {was(records)} deleted before "
        f"group {named(rows.group)} had committed them: {where}",
        severity=Severity.CRITICAL if _has_members(rows) else OVERTAKEN.severity,
        topic=topic,
        partition=next(iter(partitions)) if len(partitions) == 1 else None,
    )


@finder(BEYOND, RECREATED)
def find_not_of_topic(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each topic with offsets beyond its end, or of an earlier topic of its name; none where no end is known.

    An offset beyond the end is critical where the group has members: they read elsewhere.
    """
    by_topic: dict[str, dict[int, NotOfTopic]] = defaultdict(dict)
    for at, offset in context.not_of_topic.get(rows.group, {}).items():
        if rows.offsets.by_partition.end_causes.get(at, "none") is None:
            by_topic[at.topic][at.partition] = offset
    for topic, partitions in sorted(by_topic.items()):
        beyond = {number: offset for number, offset in partitions.items() if offset.is_beyond}
        if beyond:
            yield _beyond(rows, topic, beyond)
        elif topic not in (finding.topic for finding in find_recreated.find(rows, context)):
            yield _of_earlier_topic(rows, topic, partitions)


def _beyond(rows: GroupRows, topic: str, partitions: Mapping[int, NotOfTopic]) -> Finding:
    first = next(iter(partitions.values()))
    where = f"it stands at {first.committed_offset:,}, and the log ends at {first.end_offset:,}"
    if len(partitions) > 1:
        where = "their logs end before the committed offsets"
    is_recreated = any(offset.is_topic_recreated for offset in partitions.values())
    why = "; the topic was created again" if is_recreated else ""
    title = f"{_offsets_of(rows, topic, partitions)} beyond the end: {where}{why}"
    finding = _of_partitions(rows, BEYOND, topic, partitions, title)
    return finding._replace(severity=Severity.CRITICAL.value) if _has_members(rows) else finding


def _of_earlier_topic(rows: GroupRows, topic: str, partitions: Mapping[int, NotOfTopic]) -> Finding:
    title = (
        f"{_offsets_of(rows, topic, partitions)} of an earlier topic of this name, which was created again"
    )
    return _of_partitions(rows, RECREATED, topic, partitions, title)


@finder(NEGATIVE)
def find_negative(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each topic for which the group's committed offsets are below 0 when the log ends."""
    by_topic: dict[str, dict[int, int]] = defaultdict(dict)
    for row in rows.live:
        if row.rule != Rule.PENDING and row.committed_offset is not None and row.committed_offset < 0:
            by_topic[row.topic][row.partition] = row.committed_offset
    for topic, partitions in sorted(by_topic.items()):
        text = offsets_text(list(partitions.values()))
        title = f"{_offsets_of(rows, topic, partitions)} below 0, which is none: {text}"
        yield _of_partitions(rows, NEGATIVE, topic, partitions, title)


def _offsets_of(rows: GroupRows, topic: str, partitions: Collection[int]) -> str:
    """Return the subject of a sentence on committed offsets of a topic, with its verb."""
    s, verb = ("", "is") if len(partitions) == 1 else ("s", "are")
    return f"The committed offset{s} of group {named(rows.group)} {in_partitions(partitions)} of topic {named(topic)} {verb}"


def _of_partitions(
    rows: GroupRows, kind: FindingKind, topic: str, partitions: Collection[int], title: str
) -> Finding:
    """Return a finding on the last commits of partitions."""
    last = rows.offsets.by_partition.last_rows(TopicPartition(topic, number) for number in sorted(partitions))
    return found(
        kind,
        rows,
        Places(tuple(row.commit_log_offset for row in last), max(row.from_timestamp for row in last)),
        title,
        topic=topic,
        partition=next(iter(partitions)) if len(partitions) == 1 else None,
    )


def _has_members(rows: GroupRows) -> bool:
    return bool(rows.groups) and rows.groups[-1].to_log_offset is None and rows.groups[-1].members > 0

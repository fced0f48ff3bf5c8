"""When a committed offset expires, by the rule of the broker's release: functions of what the log says and of a Policy.

`at` is the first millisecond at which a check finds it expired; the first check from then on removes it, up to an interval later.
Source: OffsetManager.compact (0.8.2), GroupMetadataManager.deleteExpiredOffsets (0.9 to 2.0), GroupMetadata.getExpiredOffsets
(KIP-211: 2.1, KIP-496: 2.4), OffsetExpirationConditionImpl and Group.isSubscribedToTopic (the new coordinator's groups).
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from offsets_tool.records.classic import MemberMetadata
from offsets_tool.replay.changes import CommittedOffset, Group, GroupKind, Member
from offsets_tool.replay.member_records import CONSUMER_PROTOCOL, subscribed_topics, subscription
from offsets_tool.wire.json import Release
from offsets_tool.wire.times import LAST_MILLISECOND, time_after

OWN_EXPIRY_FROM: Final[Release] = (0, 9)
WEEK_FROM: Final[Release] = (2, 0)
KIP_211: Final[Release] = (2, 1)
KIP_496: Final[Release] = (2, 4)
CHECK_INTERVAL_MS: Final = 600_000
"""Kafka's default of offsets.retention.check.interval.ms."""
MINUTE_MS: Final = 60_000
"""offsets.retention.minutes is whole minutes, and at least one."""
MAX_RETENTION_MS: Final = 2_147_483_647 * MINUTE_MS
_DAY_MS: Final = 86_400_000
_NONE: Final = -1


def default_retention_ms(release: Release) -> int:
    """Return Kafka's default of offsets.retention.minutes, in milliseconds: a day, since 2.0 a week (KIP-186)."""
    return 7 * _DAY_MS if release >= WEEK_FROM else _DAY_MS


def may_be_retention(milliseconds: int) -> bool:
    """Return whether a broker can have this retention: `offsets.retention.minutes` is an int, and at least 1."""
    return MINUTE_MS <= milliseconds <= MAX_RETENTION_MS and milliseconds % MINUTE_MS == 0


class WrittenRetention(NamedTuple):
    """The retention that brokers up to 2.0 wrote into commits as their expire timestamp, which no client asked for."""

    retention_ms: int
    until: int
    """When the last of these brokers was there, epoch milliseconds."""

    def is_of(self, commit: CommittedOffset) -> bool:
        """Return whether a broker, and not the client, gave a commit its expire timestamp."""
        is_early = commit.commit_timestamp <= self.until
        return is_early and commit.expire_timestamp - commit.commit_timestamp == self.retention_ms


class Policy(NamedTuple):
    """The settings by which a broker expires offsets: release, `offsets.retention.minutes` and check interval, in milliseconds."""

    release: Release
    retention_ms: int
    check_interval_ms: int = CHECK_INTERVAL_MS
    before: "EarlierPolicy | None" = None
    """The policy before an upgrade of the brokers; None where the log proves no upgrade."""
    written: WrittenRetention | None = None
    """Of a policy from 2.1 on, the retention that earlier brokers wrote into commits; None where the log has no such commits."""

    def earlier_at(self, time: int | None, commits: Iterable[CommittedOffset]) -> "EarlierPolicy | None":
        """Return the earlier policy by which a broker removed commits at a time, epoch milliseconds; None if this one holds.

        While brokers of both releases were there, the commits tell whose partition it was.
        """
        before = self.before
        if before is None or time is None or time >= before.last:
            return None
        if time >= before.until and not (self.written and all(map(self.written.is_of, commits))):
            return None
        return before.policy.earlier_at(time, commits) or before

    def retention_of(self, commit: CommittedOffset | None) -> int:
        """Return the retention that counts for a commit, in milliseconds: its own, where an earlier broker wrote one into it."""
        is_written = commit is not None and self.written is not None and self.written.is_of(commit)
        return self.written.retention_ms if is_written and self.written else self.retention_ms


class EarlierPolicy(NamedTuple):
    """The policy of brokers before an upgrade."""

    policy: Policy
    until: int
    """When the first record was written that only the later brokers write, epoch milliseconds."""
    last: int
    """When the last record was written that only the earlier ones write; not before `until`."""
    is_retention_known: bool
    """Whether its retention is the brokers' own, and not only supposed."""
    words: str
    """The records that tell the release, in words."""


class Rule(StrEnum):
    """Why an offset expires when it does; from `subscribed` on, why it does not expire."""

    RETENTION_SINCE_COMMIT = "retention_since_commit"
    """Retention after the commit: simple groups, consumer and streams groups without members, and all before 2.1."""
    RETENTION_SINCE_EMPTY = "retention_since_empty"
    """Retention after the group became Empty (classic groups, 2.1+)."""
    UNSUBSCRIBED_TOPIC = "unsubscribed_topic"
    """Retention after the commit, of a topic that no member of the group reads (2.4+)."""
    EXPIRE_TIMESTAMP = "expire_timestamp"
    """The time that the commit itself gives: the client asked for it."""
    SUBSCRIBED = "subscribed"
    """A member reads the topic: it does not expire while that is so."""
    HAS_MEMBERS = "has_members"
    """The group has members and its release, protocol type or subscription leaves its offsets alone."""
    PENDING = "pending"
    """A transaction that commits this partition is open (new coordinator)."""
    SHARE_GROUP = "share_group"
    """Offsets of share groups do not expire."""
    NO_GROUP = "no_group"
    """The new coordinator has no such group, and checks groups only."""
    OUT_OF_RANGE = "out_of_range"
    """No clock reaches its time: after the year 9999, or too long ago for Java's long to count from."""


class Expiry(NamedTuple):
    """When an offset expires, and by which rule.

    `at` is None if it does not expire as things stand. `base_timestamp` is what retention counts from, None where nothing is
    counted. Times are epoch milliseconds.
    """

    at: int | None
    rule: Rule
    base_timestamp: int | None = None


def expiry_of(
    commit: CommittedOffset,
    group: Group | None,
    subscribed: bool | None,
    has_pending: bool,
    policy: Policy,
) -> Expiry:
    """Return when this commit expires if nothing more is written.

    Args:
        commit: what is committed.
        group: the group as it is; None where the coordinator has none.
        subscribed: whether a member reads the topic; None where the coordinator cannot tell (see `is_subscribed`).
        has_pending: whether the new coordinator has a pending transactional commit for the partition; the classic one does not ask.
        policy: of the broker.
    """
    if policy.release < KIP_211 and (group is None or group.kind in (GroupKind.SIMPLE, GroupKind.CLASSIC)):
        return _expiry_by_itself(commit, policy)
    if group is None:
        return Expiry(None, Rule.NO_GROUP)
    if group.kind is GroupKind.SHARE:
        return Expiry(None, Rule.SHARE_GROUP)
    found = _expiry_in_group(commit, group, subscribed, policy)
    return Expiry(None, Rule.PENDING) if has_pending and found.at is not None else found


def _expiry_by_itself(commit: CommittedOffset, policy: Policy) -> Expiry:
    """Return the expiry up to 2.0, whatever the group does: strictly later than retention, or than the time in the value."""
    if commit.expire_timestamp == _NONE or policy.release < OWN_EXPIRY_FROM:
        base = commit.commit_timestamp
        return _expiry_after(base, policy.retention_ms + 1, Rule.RETENTION_SINCE_COMMIT)
    # The broker wrote its own retention into every value that the client gave none for.
    if commit.expire_timestamp - commit.commit_timestamp == policy.retention_ms:
        return _expiry_after(commit.commit_timestamp, policy.retention_ms + 1, Rule.RETENTION_SINCE_COMMIT)
    return _at_its_own(commit.expire_timestamp + 1)


def _expiry_in_group(
    commit: CommittedOffset, group: Group, subscribed: bool | None, policy: Policy
) -> Expiry:
    """Return the expiry by the rules since 2.1, where the group's state says whether retention counts, and from when."""
    if not group.members or _has_no_protocol(group):
        since_empty = group.kind is GroupKind.CLASSIC and group.protocol_type is not None
        at = group.current_state_timestamp if since_empty else None
        if at is None:
            return _since(commit, commit.commit_timestamp, Rule.RETENTION_SINCE_COMMIT, policy)
        return _since(commit, at, Rule.RETENTION_SINCE_EMPTY, policy)
    if subscribed:
        return Expiry(None, Rule.SUBSCRIBED)
    if subscribed is None or (group.kind is GroupKind.CLASSIC and policy.release < KIP_496):
        return Expiry(None, Rule.HAS_MEMBERS)
    return _since(commit, commit.commit_timestamp, Rule.UNSUBSCRIBED_TOPIC, policy)


def _has_no_protocol(group: Group) -> bool:
    return group.kind is GroupKind.CLASSIC and group.protocol_type is None


def _since(commit: CommittedOffset, base: int, rule: Rule, policy: Policy) -> Expiry:
    """Return the expiry of a commit since 2.1: at `base` (epoch milliseconds) plus retention, not after it as before 2.1.

    A commit with an expire timestamp expires then, whatever the retention is; whether the group lets it expire is not asked here.
    """
    if commit.expire_timestamp != _NONE:
        own = _at_its_own(commit.expire_timestamp)
        is_written = policy.written is not None and policy.written.is_of(commit) and own.at is not None
        return own._replace(rule=Rule.RETENTION_SINCE_COMMIT) if is_written else own
    return _expiry_after(base, policy.retention_ms, rule)


def _expiry_after(base: int, after: int, rule: Rule) -> Expiry:
    at = time_after(base, after)
    return Expiry(at, Rule.OUT_OF_RANGE if at is None else rule, base)


def _at_its_own(expire_timestamp: int) -> Expiry:
    """Return an expiry at the expire timestamp of a commit (epoch milliseconds); none, if that is after the year 9999."""
    if expire_timestamp > LAST_MILLISECOND:
        return Expiry(None, Rule.OUT_OF_RANGE)
    return Expiry(expire_timestamp, Rule.EXPIRE_TIMESTAMP)


def is_subscribed(group: Group, members: Mapping[str, Member], topic: str) -> bool | None:
    """Return whether the coordinator considers the topic read by the group; None where it cannot tell, and expires nothing.

    Classic groups: the subscriptions of members with protocol type consumer. Consumer groups: names, and what regular expressions
    were resolved to. Streams groups: source and repartition topics of the topology, but no patterns.
    """
    if not group.members:
        return False
    match group.kind:
        case GroupKind.CLASSIC:
            return _classic_reads(group, members.values(), topic)
        case GroupKind.CONSUMER:
            return topic in _consumer_topics(group, members.values())
        case GroupKind.STREAMS:
            return _topology_reads(group, topic)
        case _:
            return None


def _classic_reads(group: Group, members: Iterable[Member], topic: str) -> bool | None:
    if group.protocol_type != CONSUMER_PROTOCOL or group.protocol is None:
        return None
    found = False
    for member in members:
        assert isinstance(member.metadata, MemberMetadata)
        asked = _asked(member.metadata.subscription)
        if asked is None:
            return None
        found = found or topic in asked
    return found


@lru_cache(4096)
def _asked(blob: bytes) -> frozenset[str] | None:
    """Return the topics that a classic member asks for; cached, because generations repeat their members' blobs."""
    topics = subscribed_topics(blob)
    return None if topics is None else frozenset(topics)


def _consumer_topics(group: Group, members: Iterable[Member]) -> set[str]:
    named = {topic for member in members for topic in subscription(member, None)}
    return named.union(*(value.data.topics for _, value in group.expressions))


def _topology_reads(group: Group, topic: str) -> bool:
    """Return whether a topology reads the topic (StreamsTopology.sourceTopicMap, which has no patterns)."""
    if group.topology is None:
        return False
    parts = group.topology.data.subtopologies
    return any(
        topic in part.source_topics or any(topic == made.name for made in part.repartition_source_topics)
        for part in parts
    )

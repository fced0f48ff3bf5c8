"""Expiry at a moment, a row for each offset: when a live one will expire, and why a removed one was removed.

Offsets of groups that the coordinator no longer has are not in the forecast, because it answers nothing for them. Removals of which
compaction left no record have no row; where it left the tombstone, only the commit is missing.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.as_of.views_offsets import NO_COMMIT, commit_fields, is_current
from offsets_tool.events import Event
from offsets_tool.expiry.causes import Deletion, PolicyConfidence
from offsets_tool.expiry.lifetimes import Lifetimes
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.expiry.policy_search import Ages
from offsets_tool.expiry.removal_causes import explain_dropped, explained_topic
from offsets_tool.expiry.removal_tracker import RemovalTracker
from offsets_tool.expiry.removals import DroppedCommit, LongestLifetime, Removal
from offsets_tool.expiry.rules import Expiry, Policy, expiry_of, is_subscribed
from offsets_tool.expiry.topic_removals import LogEnd, TopicRemoval, age, log_end_of, split_by_topic
from offsets_tool.replay.changes import Change, CommittedOffset, GroupOf, OffsetOf
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import Row
from offsets_tool.wire.longs import difference
from offsets_tool.wire.times import is_time

_ALL: Final = Wanted()
TopicFact = TopicRemoval | DroppedCommit | LongestLifetime
"""What the explanation of a topic's removals needs."""


def forecast(
    partition: PartitionSnapshot, policy: Policy
) -> Iterator[tuple[OffsetOf, CommittedOffset, Expiry]]:
    """Yield each live offset of a partition with its commit and its expiry, if nothing more is written."""
    state = partition.state
    asks_pending = partition.coordinator.rules is Rules.NEW
    pending = {offset for commits in state.pending.values() for offset in commits} if asks_pending else set()
    for group_id, offsets in state.offsets.items():
        group, members = state.groups.get(group_id), state.members.get(group_id, {})
        if group is None:
            continue
        reads = {topic: is_subscribed(group, members, topic) for topic in {at.topic for at in offsets}}
        for at, commit in offsets.items():
            offset = OffsetOf(group_id, *at)
            yield offset, commit, expiry_of(commit, group, reads[at.topic], offset in pending, policy)


class PartitionRemovals(NamedTuple):
    """The offsets removed in one partition of the log, and those that are live.

    `changed` is when each group last changed, in epoch milliseconds; `facts` are those of all records.
    """

    partition: PartitionSnapshot
    changed: Mapping[str, int]
    removals: list[Removal | DroppedCommit]
    longest: list[LongestLifetime]
    log_end: LogEnd
    facts: LogFacts


def partition_removals(
    partition: PartitionSnapshot,
    changed: Mapping[str, int],
    lifetimes: Lifetimes,
    found: Iterable[Removal | DroppedCommit],
    facts: LogFacts,
) -> PartitionRemovals:
    """Return the removals of one partition, given all that were found, and what is known at its end.

    `changed` says when each group last changed, `lifetimes` how long live offsets have been there.
    """
    log_end = log_end_of(
        is_new=partition.coordinator.rules is Rules.NEW,
        proven_from=partition.coverage.proven_from,
        begins=partition.begins,
        end=partition.end,
    )
    return PartitionRemovals(
        partition,
        changed,
        list(found),
        list(lifetimes.longest()),
        log_end,
        facts,
    )


def removals_by_event(
    partition: PartitionSnapshot, replayed: Iterable[tuple[Event, Sequence[Change]]]
) -> PartitionRemovals:
    """Return the removals of one partition, given its events and their changes; none is held."""
    facts, tracker = LogFacts(), RemovalTracker(partition.log_partition)
    removals: list[Removal | DroppedCommit] = []
    for event, changes in replayed:
        facts.observe(event)
        removals += tracker.take_event(event, changes)
    removals += tracker.close()
    return partition_removals(partition, tracker.changed, tracker.lifetimes, removals, facts)


def ages(found: Iterable[PartitionRemovals], policy: Policy) -> Ages:
    """Return how old removed offsets were, counted by the rules of the policy's release."""
    made = Ages()
    for each in found:
        observe_removed(made, each.removals, each.log_end, policy)
    return made


def observe_removed(
    made: Ages, removals: Iterable[Removal | DroppedCommit], log_end: LogEnd, policy: Policy
) -> None:
    """Add the ages of the offsets removed in one partition."""
    for removal in removals:
        if isinstance(removal, Removal):
            age(made, removal, log_end, policy)


def live_ages(found: Iterable[PartitionRemovals], newest: int | None, policy: Policy) -> Ages:
    """Return the ages of all live offsets; `newest` is the time of the cluster's newest record, epoch milliseconds."""
    made = Ages()
    for each in found:
        observe_live(made, each.partition, each.changed, newest, policy)
    return made


def observe_live(
    made: Ages, partition: PartitionSnapshot, changed: Mapping[str, int], newest: int | None, policy: Policy
) -> None:
    """Add the ages of the live offsets of one partition; `changed` says when each group last changed."""
    if newest is not None and is_time(newest):
        live = forecast(partition, policy)
        written = (
            (expiry, max(commit.commit_timestamp, changed.get(at.group, 0))) for at, commit, expiry in live
        )
        made.observe_live(written, newest)


def explained(
    found: Sequence[PartitionRemovals], newest: int | None, policy: Policy, known: PolicyConfidence
) -> list[Deletion]:
    """Return why each offset was removed, by log partition and log offset, given the removals of all partitions of a cluster.

    `newest` is the time of the cluster's newest record, in epoch milliseconds.
    """
    by_removal = (topic_facts(each.removals, each.log_end, policy, known) for each in found)
    lifetimes = (lifetime for each in found for lifetime in each.longest)
    return explained_topics(chain(*by_removal, lifetimes), newest, known)


def topic_facts(
    removals: Iterable[Removal | DroppedCommit], log_end: LogEnd, policy: Policy, known: PolicyConfidence
) -> Iterator[TopicRemoval | DroppedCommit]:
    """Yield the removals of one partition split by topic, as `explained_topics` takes them."""
    for removal in removals:
        if isinstance(removal, DroppedCommit):
            yield removal
        else:
            yield from split_by_topic(removal, log_end, policy, retention_known=known.retention)


def explained_topics(
    facts: Iterable[TopicFact], newest: int | None, known: PolicyConfidence
) -> list[Deletion]:
    """Return why each offset of some topics was removed, as `explained` does, given all that is known of these."""
    removals = defaultdict[str, list[TopicRemoval]](list)
    longest = defaultdict[str, list[LongestLifetime]](list)
    found = list[Deletion]()
    for fact in facts:
        if isinstance(fact, DroppedCommit):
            found.append(explain_dropped(fact))
        elif isinstance(fact, LongestLifetime):
            longest[fact.topic].append(fact)
        else:
            removals[fact.topic].append(fact)
    for topic, of_topic in removals.items():
        found += explained_topic(of_topic, longest[topic], newest, known)
    return sorted(found, key=_place)


def _place(removed: Deletion) -> tuple[int | str, ...]:
    """Return by what explanations are sorted: one record may remove several offsets."""
    committed_at = -1 if removed.commit is None else removed.commit.log_offset
    of_offset = removed.group, removed.topic, removed.partition, committed_at
    return (
        _number(removed.log_partition),
        removed.log_offset,
        removed.producer_id or -1,
        *of_offset,
    )


def live_rows(
    partitions: Iterable[PartitionSnapshot],
    policy: Policy,
    now: int | None,
    wanted: Wanted = _ALL,
    homes: Mapping[str, int | None] = MappingProxyType({}),
) -> Iterator[Row]:
    """Yield a row for each live offset that is wanted; `now` is the time of the moment, in epoch milliseconds.

    `homes` says where each group lives that lies in several log partitions (views_offsets.current_homes): what is live is there.
    """
    for p in partitions:
        unknown = p.unknown
        for offset, commit, expiry in forecast(p, policy):
            if not (wanted.has_group(offset.group) and wanted.has_offset(offset.topic, offset.partition)):
                continue
            if is_current(homes, offset.group, p.log_partition):
                # What is left of a group decides when its offsets expire.
                is_proven = unknown.keys().isdisjoint((offset, GroupOf(offset.group)))
                row = _live_row(p, offset, commit, expiry) | {"is_proven": is_proven}
                yield row | _until(expiry, now) | _policy_fields(policy)


def _live_row(p: PartitionSnapshot, offset: OffsetOf, commit: CommittedOffset, expiry: Expiry) -> Row:
    return {
        **offset._asdict(),
        "status": "live",
        "expires_at": expiry.at,
        "expires_in_ms": None,
        "rule": expiry.rule.value,
        "base_timestamp": expiry.base_timestamp,
        **commit_fields(commit),
        "log_partition": p.log_partition,
        "log_offset": commit.log_offset,
    }


def _until(expiry: Expiry, now: int | None) -> Row:
    return {"expires_in_ms": None if expiry.at is None or now is None else difference(expiry.at, now)}


def removed_rows(found: Iterable[Deletion], policy: Policy, wanted: Wanted | None = None) -> list[Row]:
    """Return a row for each explanation, in their order; `wanted` chooses groups, topics and partitions."""
    asked = wanted or _ALL
    return [
        _removed_row(each, policy)
        for each in found
        if asked.has_group(each.group) and asked.has_offset(each.topic, each.partition)
    ]


def _removed_row(removed: Deletion, policy: Policy) -> Row:
    judged_by = removed.policy or policy
    return {
        "group": removed.group,
        "topic": removed.topic,
        "partition": removed.partition,
        "status": "removed",
        "removed_at": removed.at,
        "cause": removed.cause.value,
        "confidence": removed.confidence.value,
        "alternatives": [each.value for each in removed.alternatives],
        "expected_at": removed.expected_at,
        "rule": None if removed.rule is None else removed.rule.value,
        "evidence": list(removed.evidence),
        **(NO_COMMIT if removed.commit is None else commit_fields(removed.commit)),
        "producer_id": removed.producer_id,
        "log_partition": removed.log_partition,
        "log_offset": removed.log_offset,
        **_policy_fields(judged_by),
        "retention_ms": judged_by.retention_of(removed.commit),
    }


def _policy_fields(policy: Policy) -> Row:
    return {
        "release": ".".join(map(str, policy.release)),
        "retention_ms": policy.retention_ms,
        "check_interval_ms": policy.check_interval_ms,
    }


def _number(log_partition: int | None) -> int:
    return -1 if log_partition is None else log_partition

"""The live offset of each group and partition, and since when the group has had one there without a break.

Memory grows with the number of live offsets only. Knows no rule; removal_tracker.py calls it with Changes.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from offsets_tool.expiry.removals import LongestLifetime, RemovedOffset, may_be_one
from offsets_tool.replay.changes import CommittedOffset, OffsetOf, TopicPartition


class Lifetime(NamedTuple):
    """A live commit, and since when its partition has had one.

    `began_at`: since when the group has had a commit there without a break, of the topic with this id if that is known;
    `committed_at`: when this one was written. Epoch milliseconds, None unknown.
    """

    commit: CommittedOffset
    began_at: int | None
    committed_at: int | None
    topic_id: UUID | None = None
    is_doubtful: bool = False
    """Whether only a coordinator that loaded this log has the commit, and not the one that wrote it."""


class LeftOffset(NamedTuple):
    """An offset that a removal left, as far as the rules of expiry ask."""

    topic: str
    partition: int
    commit_timestamp: int
    expire_timestamp: int
    topic_id: UUID | None


ByGroup = dict[str, dict[TopicPartition, Lifetime]]


class Lifetimes:
    """The live offsets of one log partition."""

    def __init__(self, lifetimes: ByGroup | None = None) -> None:
        self.by_group: ByGroup = lifetimes or {}

    def get(self, offset: OffsetOf) -> Lifetime | None:
        """Return the live commit of an offset; None without one."""
        return self.by_group.get(offset.group, {}).get(TopicPartition(offset.topic, offset.partition))

    def put(self, offset: OffsetOf, lifetime: Lifetime) -> None:
        """Set the live commit of an offset."""
        self.by_group.setdefault(offset.group, {})[TopicPartition(offset.topic, offset.partition)] = lifetime

    def commit(self, offset: OffsetOf, commit: CommittedOffset, timestamp: int, *, is_doubtful: bool) -> None:
        """Make a commit the live one of its offset; `timestamp` is that of its record, in epoch milliseconds.

        The lifetime continues if the offset had a commit for the same topic, otherwise a new one begins.
        """
        at = time_of(timestamp, commit.commit_timestamp)
        known = self.get(offset)
        began_at, topic_id = at, commit.topic_id
        if known is not None and not known.is_doubtful and may_be_one(known.topic_id, topic_id):
            began_at, topic_id = known.began_at, topic_id or known.topic_id
        self.put(offset, Lifetime(commit, began_at, at, topic_id, is_doubtful))

    def end(self, offset: OffsetOf) -> Lifetime | None:
        """Remove an offset and return what was live; None if nothing was."""
        there = self.by_group.get(offset.group, {})
        lifetime = there.pop(TopicPartition(offset.topic, offset.partition), None)
        if not there:
            self.by_group.pop(offset.group, None)
        return lifetime

    def of_group(self, group: str) -> Mapping[TopicPartition, Lifetime]:
        """Return all live offsets of a group."""
        return self.by_group.get(group, {})

    def left_of(self, group: str) -> tuple[LeftOffset, ...]:
        """Return the live offsets of a group, but for those that only a coordinator has that loaded the log."""
        return tuple(
            LeftOffset(*at, commit.commit_timestamp, commit.expire_timestamp, commit.topic_id)
            for at, (commit, _, _, _, is_doubtful) in self.of_group(group).items()
            if not is_doubtful
        )

    def longest(self) -> Iterator[LongestLifetime]:
        """Yield the longest lifetime of each topic that has live offsets."""
        first: dict[tuple[str, UUID | None], int] = {}
        for there in self.by_group.values():
            for at, lifetime in there.items():
                if lifetime.began_at is not None and not lifetime.is_doubtful:
                    topic = at.topic, lifetime.topic_id
                    first[topic] = min(lifetime.began_at, first.get(topic, lifetime.began_at))
        yield from (LongestLifetime(*topic, began_at) for topic, began_at in first.items())


def time_of(timestamp: int, commit_timestamp: int) -> int | None:
    """Return a record's time, or the commit's where the record has none (magic 0); None if neither has."""
    at = commit_timestamp if timestamp < 0 else timestamp
    return None if at < 0 else at


def partly_removed_topics(removed: Iterable[RemovedOffset], left: Iterable[LeftOffset]) -> frozenset[str]:
    """Return the topics that lost offsets and still have some; a topic created again under the name has another id."""
    went: dict[str, set[UUID | None]] = {}
    for each in removed:
        went.setdefault(each.topic, set()).add(each.commit.topic_id if each.commit else None)
    return frozenset(
        each.topic
        for each in left
        if any(may_be_one(topic_id, each.topic_id) for topic_id in went.get(each.topic, ()))
    )

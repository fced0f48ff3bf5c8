"""Since when each group has had an offset in each partition that it has one in, and the commit that is there: what lives.

In memory that grows with what lives. Knows no rule; what is there is told by Changes (removal_tracker.py), or of many at once.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from offsets_tool.expiry.removals import LongestLifetime, may_be_one
from offsets_tool.replay.changes import CommittedOffset, OffsetOf, TopicPartition


class Lifetime(NamedTuple):
    """A commit that is there.

    `began_at`: since when there has been one without a break, of the topic with this id if that is known; `committed_at`: when this
    one was written. Epoch ms, None unknown.
    """

    commit: CommittedOffset
    began_at: int | None
    committed_at: int | None
    topic_id: UUID | None = None
    doubtful: bool = False
    """Whether only a coordinator that loaded this log has it, and not the one that wrote it."""


ByGroup = dict[str, dict[TopicPartition, Lifetime]]


class Lifetimes:
    """Of one log partition."""

    def __init__(self, lives: ByGroup | None = None) -> None:
        self.by_group: ByGroup = lives or {}

    def get(self, offset: OffsetOf) -> Lifetime | None:
        """What is there."""
        return self.by_group.get(offset.group, {}).get(TopicPartition(offset.topic, offset.partition))

    def put(self, offset: OffsetOf, lived: Lifetime) -> None:
        """In the place of what was there."""
        self.by_group.setdefault(offset.group, {})[TopicPartition(offset.topic, offset.partition)] = lived

    def commit(self, offset: OffsetOf, commit: CommittedOffset, timestamp: int, *, doubtful: bool) -> None:
        """A commit that counts from a record of that time on."""
        at = time_of(timestamp, commit.commit_timestamp)
        known = self.get(offset)
        began_at, topic_id = at, commit.topic_id
        if known is not None and not known.doubtful and may_be_one(known.topic_id, topic_id):
            began_at, topic_id = known.began_at, topic_id or known.topic_id
        self.put(offset, Lifetime(commit, began_at, at, topic_id, doubtful))

    def end(self, offset: OffsetOf) -> Lifetime | None:
        """It is gone; what there was."""
        there = self.by_group.get(offset.group, {})
        lived = there.pop(TopicPartition(offset.topic, offset.partition), None)
        if not there:
            self.by_group.pop(offset.group, None)
        return lived

    def of_group(self, group: str) -> Mapping[TopicPartition, Lifetime]:
        """All that a group has."""
        return self.by_group.get(group, {})

    def alive(self) -> Iterator[LongestLifetime]:
        """Of every topic that has offsets, the longest life."""
        first: dict[tuple[str, UUID | None], int] = {}
        for there in self.by_group.values():
            for at, lived in there.items():
                if lived.began_at is not None and not lived.doubtful:
                    topic = at.topic, lived.topic_id
                    first[topic] = min(lived.began_at, first.get(topic, lived.began_at))
        yield from (LongestLifetime(*topic, began_at) for topic, began_at in first.items())


def time_of(timestamp: int, commit_timestamp: int) -> int | None:
    """A record's time; in magic 0, which has none, the commit's."""
    at = commit_timestamp if timestamp < 0 else timestamp
    return None if at < 0 else at

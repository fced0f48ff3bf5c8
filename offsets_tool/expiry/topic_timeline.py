"""Removals of a topic's offsets by time, over all log partitions: when it cannot have been deleted, who lost it together.

Keeps the removals with the lifetimes that ended, and the longest lifetime of what is live: little, however long the log is.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final, NamedTuple
from uuid import UUID

from offsets_tool.expiry.plausibility import CHECKED_MS
from offsets_tool.expiry.removals import LongestLifetime, RemovedOffset, may_be_one
from offsets_tool.expiry.topic_removals import TopicRemoval

SPREAD_MS: Final = 10_000
"""Within what time the coordinators of all log partitions hear that a topic is gone."""


class TopicTimeline:
    """The removals and lifetimes of the offsets of one topic in all groups and log partitions.

    `until` is the time, in epoch milliseconds, up to which all log partitions are complete: live offsets were live then.
    """

    def __init__(
        self, removals: Iterable[TopicRemoval], longest: Iterable[LongestLifetime], until: int | None
    ) -> None:
        self.removals = sorted((each for each in removals if each.at is not None), key=_sort_key)
        """All removals of offsets of the topic at a known time, in the order of time."""
        lifetimes: dict[UUID | None, list[tuple[int, int]]] = {}
        for lifetime in longest:
            if until is not None:
                lifetimes.setdefault(lifetime.topic_id, []).append((lifetime.began_at, until))
        for removal in self.removals:
            for removed, _ in removal.removed:
                if removed.began_at is not None:
                    lifetimes.setdefault(_id_of(removed), []).append((removed.began_at, _when(removal)))
        self._lifetimes = {topic_id: _lifetimes(spans) for topic_id, spans in lifetimes.items()}

    def outlived(self, removal: TopicRemoval) -> bool:
        """Return whether some group had an offset of the topic before this removal and still had it after it."""
        at = removal.at
        if at is None:
            return False
        ids = {_id_of(removed) for removed, _ in removal.removed}
        return any(
            lifetimes.outlived(at)
            for topic_id, lifetimes in self._lifetimes.items()
            if any(may_be_one(topic_id, each) for each in ids)
        )

    def others(self, removal: TopicRemoval) -> Iterator[TopicRemoval]:
        """Yield the removals of the topic in other groups at about the same time."""
        if removal.at is None:
            return
        for number in range(
            bisect_left(self.removals, removal.at - SPREAD_MS, key=_when), len(self.removals)
        ):
            if _when(self.removals[number]) > removal.at + SPREAD_MS:
                return
            if self.removals[number].group_id != removal.group_id:
                yield self.removals[number]


class _Lifetimes(NamedTuple):
    """Times at which lifetimes began, ascending, and until when the longest of those up to each lasted."""

    began: list[int]
    longest: list[int]

    def outlived(self, at: int) -> bool:
        number = bisect_left(self.began, at - CHECKED_MS)
        return number > 0 and self.longest[number - 1] > at + SPREAD_MS


def _lifetimes(spans: list[tuple[int, int]]) -> _Lifetimes:
    spans.sort()
    return _Lifetimes([began for began, _ in spans], list(accumulate((ended for _, ended in spans), max)))


def _when(removal: TopicRemoval) -> int:
    assert removal.at is not None
    return removal.at


def _sort_key(removal: TopicRemoval) -> tuple[int, int, int]:
    """Return the key by which removals are sorted: their time, then log partition and log offset."""
    return (
        _when(removal),
        -1 if removal.log_partition is None else removal.log_partition,
        removal.first_offset,
    )


def _id_of(removed: RemovedOffset) -> UUID | None:
    return removed.commit.topic_id if removed.commit else None

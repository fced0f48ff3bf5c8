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
    """What happened to the offsets of one topic in all groups and log partitions.

    `until` is the time up to which all log partitions are here: what is live was live then. Epoch milliseconds.
    """

    def __init__(
        self, losses: Iterable[TopicRemoval], alive: Iterable[LongestLifetime], until: int | None
    ) -> None:
        self.losses = sorted((each for each in losses if each.at is not None), key=_place)
        """All removals of offsets of the topic at a known time, in the order of time."""
        lives: dict[UUID | None, list[tuple[int, int]]] = {}
        for living in alive:
            if until is not None:
                lives.setdefault(living.topic_id, []).append((living.began_at, until))
        for loss in self.losses:
            for gone, _ in loss.gone:
                if gone.began_at is not None:
                    lives.setdefault(_id_of(gone), []).append((gone.began_at, _when(loss)))
        self._lives = {topic_id: _lives(spans) for topic_id, spans in lives.items()}

    def outlived(self, loss: TopicRemoval) -> bool:
        """Return whether some group had an offset of the topic before this removal and still had it after it."""
        at = loss.at
        if at is None:
            return False
        ids = {_id_of(gone) for gone, _ in loss.gone}
        return any(
            lives.outlived(at)
            for topic_id, lives in self._lives.items()
            if any(may_be_one(topic_id, each) for each in ids)
        )

    def others(self, loss: TopicRemoval) -> Iterator[TopicRemoval]:
        """Yield the removals of the topic in other groups at about the same time."""
        if loss.at is None:
            return
        for number in range(bisect_left(self.losses, loss.at - SPREAD_MS, key=_when), len(self.losses)):
            if _when(self.losses[number]) > loss.at + SPREAD_MS:
                return
            if self.losses[number].group_id != loss.group_id:
                yield self.losses[number]


class _Lives(NamedTuple):
    """Times at which lifetimes began, ascending, and until when the longest of those up to each lasted."""

    began: list[int]
    longest: list[int]

    def outlived(self, at: int) -> bool:
        number = bisect_left(self.began, at - CHECKED_MS)
        return number > 0 and self.longest[number - 1] > at + SPREAD_MS


def _lives(spans: list[tuple[int, int]]) -> _Lives:
    spans.sort()
    return _Lives([began for began, _ in spans], list(accumulate((ended for _, ended in spans), max)))


def _when(loss: TopicRemoval) -> int:
    assert loss.at is not None
    return loss.at


def _place(loss: TopicRemoval) -> tuple[int, int, int]:
    """Return the key by which removals are sorted: their time, then log partition and log offset."""
    return _when(loss), -1 if loss.log_partition is None else loss.log_partition, loss.first_offset


def _id_of(gone: RemovedOffset) -> UUID | None:
    return gone.commit.topic_id if gone.commit else None

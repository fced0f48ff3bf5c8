"""What groups lost of a topic, and when, over all log partitions: when it cannot have been deleted, and who lost it with whom.

Kept are the removals and the lives that ended, and of what lives the longest life of each topic: little, however long the log is.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final, NamedTuple
from uuid import UUID

from offsets_tool.replay.expiry_fit import CHECKED_MS
from offsets_tool.replay.losses import Alive, Gone, Removal, may_be_one

SPREAD_MS: Final = 10_000
"""Within what time the coordinators of all log partitions hear that a topic is gone."""


class Topics:
    """What happened to each topic in all groups and log partitions.

    `until` is the time up to which all log partitions are here: what is alive was alive then. Epoch milliseconds.
    """

    def __init__(self, removals: Iterable[Removal], alive: Iterable[Alive], until: int | None) -> None:
        self._lives: dict[str, dict[UUID | None, _Lives]] = {}
        self._losses: dict[str, list[Removal]] = {}
        lives: dict[tuple[str, UUID | None], list[tuple[int, int]]] = {}
        for each in alive:
            if until is not None:
                lives.setdefault((each.topic, each.topic_id), []).append((each.began_at, until))
        for removal in removals:
            self._add(removal, lives)
        for (topic, topic_id), spans in lives.items():
            self._lives.setdefault(topic, {})[topic_id] = _lives(spans)
        for losses in self._losses.values():
            losses.sort(key=_when)

    def _add(self, removal: Removal, lives: dict[tuple[str, UUID | None], list[tuple[int, int]]]) -> None:
        if removal.at is None:
            return
        for gone in removal.gone:
            if gone.began_at is not None:
                lives.setdefault((gone.topic, _id_of(gone)), []).append((gone.began_at, removal.at))
        for topic in {gone.topic for gone in removal.gone}:
            self._losses.setdefault(topic, []).append(removal)

    def outlived(self, topic: str, removal: Removal) -> bool:
        """Whether some group had an offset of the topic before this removal, and still had it after it."""
        at, known = removal.at, self._lives.get(topic)
        if at is None or known is None:
            return False
        ids = {_id_of(gone) for gone in removal.gone if gone.topic == topic}
        return any(
            lives.outlived(at)
            for topic_id, lives in known.items()
            if any(may_be_one(topic_id, each) for each in ids)
        )

    def losses(self, topic: str) -> list[Removal]:
        """All that took offsets of the topic at a known time, in the order of times."""
        return self._losses.get(topic, [])

    def others(self, topic: str, removal: Removal) -> Iterator[Removal]:
        """What other groups lost of the topic at about the same time."""
        losses = self.losses(topic)
        if removal.at is None:
            return
        for number in range(bisect_left(losses, removal.at - SPREAD_MS, key=_when), len(losses)):
            if _when(losses[number]) > removal.at + SPREAD_MS:
                return
            if losses[number].group_id != removal.group_id:
                yield losses[number]


class _Lives(NamedTuple):
    """Times at which lives began, ascending, and until when the longest of those up to each lasted."""

    began: list[int]
    longest: list[int]

    def outlived(self, at: int) -> bool:
        number = bisect_left(self.began, at - CHECKED_MS)
        return number > 0 and self.longest[number - 1] > at + SPREAD_MS


def _lives(spans: list[tuple[int, int]]) -> _Lives:
    spans.sort()
    return _Lives([began for began, _ in spans], list(accumulate((ended for _, ended in spans), max)))


def _when(removal: Removal) -> int:
    assert removal.at is not None
    return removal.at


def _id_of(gone: Gone) -> UUID | None:
    return gone.commit.topic_id if gone.commit else None

"""What groups lost of a topic, and when, over all log partitions: when it cannot have been deleted, and who lost it with whom.

Kept are the removals and the lives that ended, and of what lives the longest life of each topic: little, however long the log is.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import itemgetter
from typing import Final

from offsets_tool.replay.expiry_fit import CHECKED_MS
from offsets_tool.replay.losses import Alive, Removal

SPREAD_MS: Final = 10_000
"""Within what time the coordinators of all log partitions hear that a topic is gone."""


class Topics:
    """What happened to each topic in all groups and log partitions: when it cannot have been deleted, and who lost it when.

    `until` is the time up to which all log partitions are here: what is alive was alive then. Epoch milliseconds.
    """

    def __init__(self, removals: Iterable[Removal], alive: Iterable[Alive], until: int | None) -> None:
        self._lives: dict[str, list[tuple[int, int]]] = {}
        self._losses: dict[str, list[tuple[int, Removal]]] = {}
        for each in alive:
            if until is not None:
                self._lives.setdefault(each.topic, []).append((each.began_at, until))
        for removal in removals:
            self._add(removal)
        for losses in self._losses.values():
            losses.sort(key=itemgetter(0))

    def _add(self, removal: Removal) -> None:
        if removal.at is None:
            return
        for gone in removal.gone:
            if gone.began_at is not None:
                self._lives.setdefault(gone.topic, []).append((gone.began_at, removal.at))
        for topic in {gone.topic for gone in removal.gone}:
            self._losses.setdefault(topic, []).append((removal.at, removal))

    def outlived(self, topic: str, at: int) -> bool:
        """Whether some group had an offset of the topic before this time, and still had it after it."""
        early, late = at - CHECKED_MS, at + SPREAD_MS
        return any(began_at < early and ended_at > late for began_at, ended_at in self._lives.get(topic, ()))

    def others(self, topic: str, removal: Removal) -> list[Removal]:
        """What other groups lost of the topic at about the same time."""
        if removal.at is None:
            return []
        losses = self._losses.get(topic, [])
        low = bisect_left(losses, removal.at - SPREAD_MS, key=itemgetter(0))
        high = bisect_right(losses, removal.at + SPREAD_MS, key=itemgetter(0))
        return [other for _, other in losses[low:high] if other.group_id != removal.group_id]

"""Which offsets each leader epoch wrote: a log is one branch of a tree, and where it was left, a later epoch began below its end.

An epoch has one leader and therefore one first offset. Records of an earlier epoch from there on are on a branch that was
abandoned. Knows nothing of copies or records. Source: LeaderEpochFileCache, KIP-101, KIP-279.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Final

NO_EPOCH: Final = -1
"""The epoch of batches before magic 2, which is before all others (RecordBatch.NO_PARTITION_LEADER_EPOCH)."""
NO_END: Final = (1 << 63) - 1


class Lineage:
    """The first offset of each leader epoch, as far as the records and checkpoints of any copy tell."""

    def __init__(self, starts: Iterable[tuple[int, int]] = ()) -> None:
        """Take the first offsets of epochs: `starts` are epochs with offsets, in any order; the lowest of each epoch counts."""
        self._starts: dict[int, int] = {}
        for epoch, log_offset in starts:
            self._starts[epoch] = min(log_offset, self._starts.get(epoch, NO_END))

    @property
    def newest(self) -> int:
        """The newest epoch; NO_EPOCH without any."""
        return max(self._starts, default=NO_EPOCH)

    def branch(self, epoch: int | None = None) -> "Branch":
        """Return the log as the leader of an epoch had it, by default the newest."""
        return Branch(self._starts, self.newest if epoch is None else epoch)


class Branch:
    """The log of one leader epoch: of each epoch up to it the offsets before those that a later one of them wrote."""

    def __init__(self, starts: Mapping[int, int], epoch: int) -> None:
        self.epoch = epoch
        self._epochs = sorted(each for each in starts if each <= epoch)
        self._ends: list[int] = []
        """By epoch of `_epochs`, the lowest first offset of that epoch and all later ones."""
        lowest = NO_END
        for each in reversed(self._epochs):
            lowest = min(lowest, starts[each])
            self._ends.append(lowest)
        self._ends.reverse()

    def end_of(self, epoch: int) -> int:
        """Return the offset from which on records of an epoch are not on this branch; NO_END if all of them are."""
        if epoch > self.epoch:
            return 0
        at = bisect_right(self._epochs, epoch)
        return self._ends[at] if at < len(self._ends) else NO_END

    def has(self, epoch: int | None, log_offset: int) -> bool:
        """Return whether a record of an epoch is on this branch; True for a record whose epoch is not known."""
        return epoch is None or log_offset < self.end_of(epoch)

"""Recovered history: records that only one copy still has, though others had them once. Knows no records."""

from collections.abc import Sequence

from offsets_tool.log.copies.copy_facts import CopyFacts
from offsets_tool.log.copies.lineage import Branch


class Recovered:
    """Up to where each copy of a partition had the log of a branch.

    An archive or a damaged copy may never have had the records that it lacks: its lack makes no record recovered.
    """

    def __init__(self, copies: Sequence[CopyFacts], branch: Branch) -> None:
        """Hold, for each copy, how far any other one reaches on the branch."""
        reach = [min(copy.end, copy.shares_to(branch)) if copy.is_whole else 0 for copy in copies]
        self._others = {
            1 << number: max((*reach[:number], *reach[number + 1 :]), default=0)
            for number in range(len(reach))
        }

    def has(self, copies: int, log_offset: int) -> bool:
        """Return whether a record of the branch is recovered, given the copies that have it, a bit for each."""
        return log_offset < self._others.get(copies, 0)

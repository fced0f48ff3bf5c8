"""Did a group stand still for a while, and then catch up with what had come meanwhile?

A partition to which nothing and then much was written looks the same, and so these are ambiguous.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import sub
from statistics import median
from typing import Final, NamedTuple

from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.commit_sums import PartitionSums
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.offsets.stalls import LEAST_COMMITS, NO_RECORDS, STALL_MS, USUAL
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import count, from_time, in_partitions, named, span
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.wire.longs import difference

ENDED: Final = FindingKind(
    "stall_ended",
    Severity.NOTICE,
    "A group that had members stood still for minutes, far longer than usual, and then caught up with a leap.",
    "Look at its consumers' logs of that time for a record that took long, a call that hung, or a long pause.",
)
BACKLOG: Final = 10
"""How many times its usual step a group moves ahead, at least, if records waited for it."""
SOON: Final = 2
"""Within how many commits it must do so: the first may come when it has just begun to read."""


class _Pause(NamedTuple):
    """Two commits that moved a partition, with a long pause between, and how far the second moved it."""

    before: OffsetHistoryRow
    after: OffsetHistoryRow
    step: int

    @property
    def lasted(self) -> int:
        """How long nothing moved, milliseconds."""
        return difference(self.after.from_timestamp, self.before.from_timestamp)


@finder(ENDED)
def find_ended_stalls(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each topic of which partitions stood still and caught up, with the longest pause of each."""
    by_topic = defaultdict[str, list[_Pause]](list)
    has_ever_members = any(row.members for row in rows.groups)
    for at, commits in rows.effective_where(lambda sums: has_ever_members and _may_pause(sums)):
        pauses = [pause for pause in _pauses(commits) if _is_stall(rows, pause)]
        if pauses:
            by_topic[at.topic].append(max(pauses, key=lambda pause: pause.lasted))
    for topic, some in by_topic.items():
        yield _ended(rows, topic, some)


def _may_pause(sums: PartitionSums) -> bool:
    return sums.commits > LEAST_COMMITS and sums.longest_rest >= STALL_MS


def _pauses(commits: Sequence[OffsetHistoryRow]) -> Iterator[_Pause]:
    """Yield pauses that are long for a partition's pace and after which it moved by more than usual."""
    # Most partitions never pause: little is asked of them.
    if len(commits) <= LEAST_COMMITS or commits[-1].from_timestamp - commits[0].from_timestamp < STALL_MS:
        return
    # Numbers of all that moved, not rows: there may be millions.
    places, times, offsets = array("q"), array("q"), array("q")
    for place, row in enumerate(commits):
        if not offsets or row.committed_offset != offsets[-1]:
            places.append(place)
            times.append(row.from_timestamp)
            offsets.append(row.committed_offset)
    lasted = list(map(sub, times[1:], times))
    if len(places) <= LEAST_COMMITS or max(lasted) < STALL_MS or min(times) < 0:
        return
    steps = list(map(sub, offsets[1:], offsets))
    long, far = max(STALL_MS, USUAL * median(lasted)), BACKLOG * median(map(abs, steps))
    for number, (before, after) in enumerate(pairwise(places)):
        step = max(steps[number : number + SOON])
        if lasted[number] >= long and step >= far:
            yield _Pause(commits[before], commits[after], step)


def _is_stall(rows: GroupRows, pause: _Pause) -> bool:
    """Return whether the group had members all the time, and no record of that time can be missing."""
    first, last = pause.before.from_log_offset, pause.after.from_log_offset
    if first < rows.proven_from or not rows.has_members_at(first):
        return False
    return all(row.members for row in rows.groups if first < row.from_log_offset < last)


def _ended(rows: GroupRows, topic: str, pauses: list[_Pause]) -> Finding:
    longest = max(pauses, key=lambda pause: pause.lasted)
    partitions = sorted(pause.before.partition for pause in pauses)
    return found(
        ENDED,
        rows,
        Places(
            (longest.after.commit_log_offset, *(pause.before.commit_log_offset for pause in pauses)),
            longest.before.from_timestamp,
            longest.after.from_timestamp,
        ),
        f"Group {named(rows.group)} did not move in topic {named(topic)} {in_partitions(partitions)} for "
        f"{span(longest.lasted)}{from_time(longest.before.from_timestamp)}, though it had members, and then moved "
        f"{count(longest.step, 'record')} ahead with one commit",
        topic=topic,
        partition=partitions[0] if len(partitions) == 1 else None,
        confidence=Confidence.AMBIGUOUS,
        alternatives=(NO_RECORDS,),
    )

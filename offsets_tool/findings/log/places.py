"""Does a group lie in a partition of the log where no coordinator looks for it?"""

from collections.abc import Iterator
from typing import Final

from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.context import LogContext, Moved
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import listed, named
from offsets_tool.placement import partition_for

MISPLACED: Final = FindingKind(
    "group_misplaced",
    Severity.WARNING,
    "A group lies where no coordinator looks for it: the topic was given more partitions, or files are misnamed.",
    "If __consumer_offsets was given more partitions, its groups began anew: set their offsets from the old partition.",
)


@finder(MISPLACED)
def find_misplaced(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for a group in a log partition where its coordinator does not look.

    That the group lies in two of them proves it, else the partitions of most groups speak for it.
    """
    moved = context.moved.get(rows.group)
    if moved is not None and rows.log_partition is not None:
        yield from _in_several(rows, moved)
        return
    if context.partitions is None or rows.log_partition is None:
        return
    home = partition_for(rows.group, context.partitions)
    if home != rows.log_partition:
        yield found(
            MISPLACED,
            rows,
            Places(_first(rows)),
            f"Group {named(rows.group)} lies in partition {rows.log_partition} of __consumer_offsets; of {context.partitions} "
            f"partitions, which most groups here fit, it belongs in {home}",
            confidence=Confidence.LIKELY,
        )


def _in_several(rows: GroupRows, moved: Moved) -> Iterator[Finding]:
    """Yield a finding where a group lies besides its own log partition; where that is not clear, at the first of them."""
    here, home = rows.log_partition, moved.home
    if here != moved.places[0] if home is None else here == home:
        return
    told = "one of them is" if home is None else f"its coordinator looks in {home}, what is in {here} is"
    yield found(
        MISPLACED,
        rows,
        Places(_first(rows)),
        f"Group {named(rows.group)} lies in several log partitions of __consumer_offsets, {listed(map(str, moved.places))}: {told} "
        "from before",
    )


def _first(rows: GroupRows) -> tuple[int, ...]:
    """Return the log offset of the group's first record, alone in a tuple."""
    began = [row.from_log_offset for some in (rows.groups, rows.offsets, rows.members) for row in some[:1]]
    return (min(began, default=0),)

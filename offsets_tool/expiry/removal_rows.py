"""A row of the table `removals`, declared once: what one batch took of a group's offsets, or what of them a marker dropped.

Told as facts: by which rule and on whose request they went is for whoever knows the policy and all other removals
(topic_removals.py).
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, NamedTuple

from offsets_tool.expiry.removal_codec import pack_losses
from offsets_tool.expiry.removals import Ended, Removal
from offsets_tool.history.rows import Group
from offsets_tool.table_rows import LogPartition
from offsets_tool.wire.schema import Int64, String


class RemovalKind(StrEnum):
    """What took the offsets."""

    REMOVED = "removed"
    """Tombstones."""
    ABORTED = "aborted"
    """A marker, with the transaction that they were pending in."""
    SUPERSEDED = "superseded"
    """A marker, as newer commits stood in their place."""


class RemovalRow(NamedTuple):
    """Offsets that one group lost at once: by tombstones in one batch (before magic 2: in a run), or, while they were pending, by a
    marker; with what the group was then. The table `expiry` says why."""

    group: Group
    log_partition: LogPartition
    from_log_offset: Annotated[Int64, "Offset in the log of the first tombstone, or of the marker."]
    to_log_offset: Annotated[
        Int64 | None,
        "Offset in the log of the last tombstone, or of the marker; null while the next record may be one more.",
    ]
    at: Annotated[
        Int64 | None, "When the first of them was written, epoch milliseconds; null if it has no time."
    ]
    kind: Annotated[String, "removed, or of pending commits aborted or superseded."]
    topics: Annotated[tuple[String, ...], "Topics that it took something of."]
    offsets: Annotated[Int64, "How many it took."]
    offsets_left: Annotated[
        Int64 | None, "How many the group still had after it; null if a marker dropped them."
    ]
    group_gone_at: Annotated[
        Int64 | None, "Offset in the log of the group's own tombstone in the batch; null if there is none."
    ]
    written_new: Annotated[
        bool | None,
        "Whether the new coordinator wrote the tombstones; null if they do not say, or it is a marker.",
    ]
    facts: Annotated[
        String, "JSON: each offset, the group, and what it had left, as the rules of expiry ask."
    ]


def removal_row(removal: Removal, *, is_open: bool) -> RemovalRow:
    """`is_open`: the next record may be one more of it."""
    return RemovalRow(
        removal.group_id,
        removal.log_partition,
        removal.first_offset,
        None if is_open else removal.last_offset,
        removal.at,
        RemovalKind.REMOVED.value,
        tuple(sorted({gone.topic for gone in removal.gone})),
        len(removal.gone),
        removal.left,
        removal.group_gone_at,
        removal.written_new,
        pack_losses([removal]),
    )


def ended_row(ended: Sequence[Ended]) -> RemovalRow:
    """Of pending commits of one group that one marker dropped alike."""
    first = ended[0]
    kind, topics = RemovalKind(first.kind.value).value, {each.pending.topic for each in ended}
    place = (first.pending.group, first.log_partition, first.log_offset, first.log_offset, first.at)
    return RemovalRow(*place, kind, tuple(sorted(topics)), len(ended), None, None, None, pack_losses(ended))

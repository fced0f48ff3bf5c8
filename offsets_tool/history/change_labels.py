"""Short labels of what happened, from the row that ended and the row that began: `rewind`, `generation 3, leader change`, `left`.

Each function takes the rows of one subject before and after; one of them is None at its beginning or end.
"""

from collections.abc import Callable
from typing import Any, Final

from offsets_tool.history.rows import (
    GroupEndCause,
    GroupHistoryRow,
    LastingRow,
    MemberEndCause,
    MemberHistoryRow,
    OffsetBeginCause,
    OffsetEndCause,
    OffsetHistoryRow,
)
from offsets_tool.replay.changes import LEFT_EPOCH

STATIC_LEFT_EPOCH: Final = -2
"""ConsumerGroupHeartbeatRequest.LEAVE_GROUP_STATIC_MEMBER_EPOCH: a static member is away and expected back."""

GOES_ON: Final = (GroupEndCause.CONVERTED, GroupEndCause.CHANGED, MemberEndCause.CHANGED)
"""Causes of an end after which the group or the member continues in another row of the same batch."""

_ABSENT: Final = "absent from another copy"
_LOST: Final[dict[str, str]] = {GroupEndCause.ABSENT: _ABSENT, MemberEndCause.ABSENT: _ABSENT}
"""Labels of ends that only a copy proves."""


def is_new(before: LastingRow | None, after: LastingRow | None) -> bool:
    """Return whether a member appears for the first time; a target assignment alone does not make a member."""
    return _is_member(after) and not _is_member(before)


def _is_member(row: LastingRow | None) -> bool:
    return isinstance(row, MemberHistoryRow) and (row.member_state is not None or row.generation is not None)


def offset_label(before: LastingRow | None, after: LastingRow | None) -> str | None:
    """Return the label of what happened to a committed offset; None where another row says it."""
    if isinstance(after, OffsetHistoryRow):
        if after.begin_cause in _VISIBILITY:
            return _VISIBILITY[after.begin_cause]
        if not after.is_effective:
            return (
                "pending commit"
                if after.noop_tombstone_log_offset is None
                else OffsetEndCause.NOOP_TOMBSTONE.value
            )
        if after.delta is not None and after.delta < 0:
            return "rewind"
        return "commit" if after.begin_cause == OffsetBeginCause.COMMIT else "transaction committed"
    assert isinstance(before, OffsetHistoryRow)
    return _OFFSET_ENDS[before.end_cause or ""]


_VISIBILITY: dict[str, str] = {
    OffsetBeginCause.HIDDEN: "hidden with its group",
    OffsetBeginCause.REVEALED: "back with its group",
}
_OFFSET_ENDS: dict[str, str | None] = {
    OffsetEndCause.DELETED: "tombstone",
    OffsetEndCause.GROUP_DELETED: "deleted with the group",
    OffsetEndCause.ABSENT: _ABSENT,
    OffsetEndCause.ABORTED: "transaction aborted",
    OffsetEndCause.SUPERSEDED: "transaction superseded",
    OffsetEndCause.UNREAD: "replaced by a commit that was not understood",
    # The commit that counts from here on tells it.
    OffsetEndCause.COMMITTED: None,
}


def group_label(before: LastingRow | None, after: LastingRow | None) -> str | None:
    """Return the label of what happened to a group; None where it continues in another row of the batch."""
    if after is None:
        assert before is not None
        return None if before.end_cause in GOES_ON else _LOST.get(before.end_cause or "", "deleted")
    assert isinstance(after, GroupHistoryRow)
    if not isinstance(before, GroupHistoryRow):
        return "created"
    if before.end_cause == GroupEndCause.DELETED:
        return "deleted"
    if before.kind != after.kind:
        return f"conversion from {before.kind} to {after.kind}"
    return _differences(before, after, _GROUP_WORDS)


_GROUP_WORDS: dict[str, Callable[[Any], str]] = {
    "generation": "generation {}".format,
    "epoch": "epoch {}".format,
    "assignment_epoch": "assignment epoch {}".format,
    "state": "state {}".format,
    "leader": lambda leader: "leader change" if leader else "no leader",
    "members": "members {}".format,
}


def member_label(before: LastingRow | None, after: LastingRow | None) -> str | None:
    """Return the label of what happened to a member; None where it continues in another row of the batch."""
    if after is None:
        assert before is not None
        return None if before.end_cause in GOES_ON else _LOST.get(before.end_cause or "", before.end_cause)
    assert isinstance(after, MemberHistoryRow)
    if not isinstance(before, MemberHistoryRow) or is_new(before, after):
        return "joined" if _is_member(after) else "target assignment"
    if before.group_kind != after.group_kind:
        return f"conversion from {before.group_kind} to {after.group_kind}"
    return _differences(before, after, _MEMBER_WORDS)


def _epoch_words(epoch: int | None) -> str:
    return {LEFT_EPOCH: "leaving", STATIC_LEFT_EPOCH: "away"}.get(epoch or 0, f"epoch {epoch}")


_MEMBER_WORDS: dict[str, Callable[[Any], str]] = {
    "member_epoch": _epoch_words,
    "member_state": "state {}".format,
    "subscription": lambda _: "subscription",
    "subscribed_regex": lambda _: "subscription",
    "assignment": lambda _: "assignment",
    "pending_revocation": lambda _: "pending revocation",
    "target_assignment": lambda _: "target assignment",
}


def _differences(before: LastingRow, after: LastingRow, words: dict[str, Callable[[Any], str]]) -> str:
    """Return the labels of the fields that changed; `rewritten` where only fields changed that rows do not have."""
    said = [
        say(getattr(after, name))
        for name, say in words.items()
        if getattr(before, name) != getattr(after, name)
    ]
    return ", ".join(dict.fromkeys(said)) or "rewritten"

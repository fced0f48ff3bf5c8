"""Compute when an offset expires that is set now: retention does not always begin with the commit.

In a classic group without members it counts from when the last member left (KIP-211), whenever offsets were committed: what is
restored into a group that has been empty for long goes again with the next check. The rules are those of expiry.rules.
"""

from typing import Final

from offsets_tool.expiry.rules import Expiry, expiry_of
from offsets_tool.plans.cases import OffsetCase
from offsets_tool.replay.changes import CommittedOffset, Group, GroupKind, GroupState, OffsetOf
from offsets_tool.replay.rules import Rules

SOON_MS: Final = 86_400_000
"""A day: whoever restores offsets needs some time to start the group again."""
_NONE: Final = -1


def restored_expiry(case: OffsetCase) -> Expiry | None:
    """Return when the offset of the moment expires if it is set at the end of the log and nothing more is committed.

    None where that is not known, or where the group has members: it is empty only once they have left.
    """
    of, offset = case.of, case.new_offset
    if of.policy is None or of.newest_at is None or offset is None or (of.group and of.group.members):
        return None
    # Kafka's tool gives the commit no expiry of its own; a group that is gone comes back as one that only has offsets.
    commit = CommittedOffset(offset, _NONE, "", of.newest_at, _NONE, None, of.partition.end)
    group = of.group or Group(case.offset.group, GroupKind.SIMPLE, GroupState.EMPTY, of.partition.end)
    return expiry_of(commit, group, False, _is_pending(case), of.policy)


def _is_pending(case: OffsetCase) -> bool:
    """Return whether an open transaction has a commit of the offset, which keeps the new coordinator from expiring it."""
    at = OffsetOf(*case.offset)
    is_asked = case.of.partition.coordinator.rules is Rules.NEW
    return is_asked and any(at in commits for commits in case.of.partition.state.pending.values())

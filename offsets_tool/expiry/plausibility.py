"""Whether the broker's check for expired offsets can have written a removal: only expired offsets, soon after they expired.

A check removes all expired offsets of a group, and comes every `check_interval_ms`; a broker that was down, or a group that was
rebalancing, makes it late. Tombstones without a time (magic 0) fit whenever their offsets expire at all.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

from offsets_tool.expiry.removals import Removal, RemovedOffset
from offsets_tool.expiry.rules import MINUTE_MS, Expiry, Policy, Rule, expiry_of
from offsets_tool.replay.changes import CommittedOffset

SLACK_MS: Final = 5_000
"""How much later than due a check may come: brokers are busy, and clocks differ."""
CHECKED_MS: Final = 1_000
"""How long before its tombstones' timestamp a check may have looked at the clock."""
_UNSEEN: Final = CommittedOffset(-1, -1, "", 0, -1, None, -1)


class Plausibility(StrEnum):
    """How well a removal fits the rules of its offsets."""

    TIMELY = "timely"
    LATE = "late"
    OTHER_RETENTION = "other_retention"
    """It fits only if retention was another than supposed."""
    UNSEEN = "unseen"
    """It fits as far as can be told: a commit is no longer in the log."""
    NONE = "none"


Expiries = Sequence[tuple[RemovedOffset, Expiry | None]]
"""Removed offsets, each with its expiry; None where nothing tells it."""


def expiries_of(removal: Removal, policy: Policy, *, is_new: bool) -> Expiries:
    """Return the offsets of a removal with their expiries.

    `is_new`: whether the new coordinator wrote the removal; it keeps what an open transaction is about to commit.
    """
    return [(removed, _expiry(removal, removed, policy, is_new=is_new)) for removed in removal.removed]


def _expiry(removal: Removal, removed: RemovedOffset, policy: Policy, *, is_new: bool) -> Expiry | None:
    if removed.producer_id is not None:
        return None
    commit = removed.commit or _UNSEEN
    found = expiry_of(commit, removal.group, removed.reads, is_new and removed.has_pending, policy)
    # Without the commit only a rule that does not ask for it tells.
    tells = removed.commit is not None or found.rule is Rule.RETENTION_SINCE_EMPTY
    keeps = found.at is None and removal.group is not None
    return found if tells or keeps else None


def expiries_of_kept(removal: Removal, policy: Policy, *, is_new: bool) -> Iterator[Expiry]:
    """Yield the expiry of the oldest offset that a removal left, one of each kind that the rules distinguish."""
    for kept in removal.kept:
        commit = _UNSEEN._replace(
            commit_timestamp=kept.commit_timestamp, expire_timestamp=kept.expire_timestamp
        )
        yield expiry_of(commit, removal.group, kept.reads, is_new and kept.has_pending, policy)


def plausibility_of(
    removal: Removal, found: Expiries, policy: Policy, *, is_new: bool, retention_known: bool
) -> Plausibility:
    """Return how well a removal fits expiry; `retention_known`: whether the policy's retention is the broker's own."""
    if any(not may_expire(removed, expiry) for removed, expiry in found):
        return Plausibility.NONE
    expiries = [expiry for _, expiry in found if expiry is not None]
    at, left = removal.at, list(expiries_of_kept(removal, policy, is_new=is_new))
    if at is not None and not _all_over(left, expiries, at):
        fits = not retention_known and _fits_another(left, expiries, at)
        return Plausibility.OTHER_RETENTION if fits else Plausibility.NONE
    if len(expiries) < len(found):
        return Plausibility.UNSEEN
    latest = policy.check_interval_ms + SLACK_MS
    return (
        Plausibility.TIMELY
        if at is None or all(at - _due(removal, *each) <= latest for each in found)
        else Plausibility.LATE
    )


def may_expire(removed: RemovedOffset, expiry: Expiry | None) -> bool:
    """Return whether a check can have removed the offset: not while it is pending, nor while its group's state keeps it."""
    return removed.producer_id is None and (expiry is None or expiry.at is not None)


def _all_over(left: Iterable[Expiry], expiries: Iterable[Expiry], at: int) -> bool:
    """Return whether all removed offsets had expired at `at`, and none of those that the removal left."""
    left_over = any(each.at is not None and each.at <= at - CHECKED_MS for each in left)
    return not left_over and all(each.at is not None and each.at <= at for each in expiries)


def _due(removal: Removal, removed: RemovedOffset, expiry: Expiry | None) -> int:
    """Return the time from which on a check would have removed the offset: before, the group's state may have kept it."""
    assert expiry is not None and expiry.at is not None
    return max(expiry.at, removal.changed_at or 0, removed.committed_at or 0)


def _fits_another(left: Iterable[Expiry], expiries: Iterable[Expiry], at: int) -> bool:
    """Return whether another retention, of whole minutes, would have removed exactly these offsets and left the others."""
    bases = [each.base_timestamp for each in expiries]
    counted = [base for base in bases if base is not None]
    if len(counted) < len(bases):
        return False
    kept = [at - each.base_timestamp - CHECKED_MS for each in left if each.base_timestamp is not None]
    above = max(0, max(kept, default=0)) // MINUTE_MS
    return not counted or above < (at - max(counted)) // MINUTE_MS

"""Whether the broker's check for expired offsets can have written a removal: just those that were over, and soon after they were.

A check takes everything of a group that is over, and comes every `check_interval_ms`; a broker that was down, or a group that was
rebalancing, makes it late. Tombstones without a time (magic 0) fit whenever their offsets expire at all.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from offsets_tool.replay.expiry import Expiry, Policy
from offsets_tool.replay.losses import Gone, Removal

SLACK_MS: Final = 5_000
"""How much later than due a check may come: brokers are busy, and clocks differ."""
CHECKED_MS: Final = 1_000
"""How long before its tombstones' timestamp a check may have looked at the clock."""


class Fit(StrEnum):
    """How well a removal fits the rules of its offsets."""

    TIMELY = "timely"
    LATE = "late"
    OTHER_RETENTION = "other_retention"
    """Only if retention was another than supposed."""
    UNSEEN = "unseen"
    """As far as it can be told: a commit is not in the log any more."""
    NONE = "none"


def fit_of(removal: Removal, policy: Policy, *, retention_known: bool) -> Fit:
    """How well a removal fits expiry; `retention_known`: whether the policy's is the broker's own."""
    if any(not _may_expire(gone) for gone in removal.gone):
        return Fit.NONE
    expiries = [gone.expiry for gone in removal.gone if gone.expiry is not None]
    at = removal.at
    if at is not None and not _all_over(removal, expiries, at):
        fits = not retention_known and _fits_another(removal, expiries)
        return Fit.OTHER_RETENTION if fits else Fit.NONE
    if len(expiries) < len(removal.gone):
        return Fit.UNSEEN
    latest = policy.check_interval_ms + SLACK_MS
    return (
        Fit.TIMELY
        if at is None or all(at - _due(removal, gone) <= latest for gone in removal.gone)
        else Fit.LATE
    )


def _may_expire(gone: Gone) -> bool:
    """Not what is pending, nor what its group's state keeps."""
    return gone.producer_id is None and (gone.expiry is None or gone.expiry.at is not None)


def _all_over(removal: Removal, expiries: Iterable[Expiry], at: int) -> bool:
    """Whether all that went was over, and nothing that was over is left."""
    left_over = removal.next_at is not None and removal.next_at <= at - CHECKED_MS
    return not left_over and all(each.at is not None and each.at <= at for each in expiries)


def _due(removal: Removal, gone: Gone) -> int:
    """From when on a check would have taken it: what kept it until then may have been the group's state."""
    assert gone.expiry is not None and gone.expiry.at is not None
    return max(gone.expiry.at, removal.changed_at or 0, gone.committed_at or 0)


def _fits_another(removal: Removal, expiries: Iterable[Expiry]) -> bool:
    """Whether another retention would have taken just these: all older than what was left."""
    bases = [each.base_timestamp for each in expiries]
    counted = [base for base in bases if base is not None]
    if len(counted) < len(bases):
        return False
    return removal.next_base is None or removal.next_base > max(counted)

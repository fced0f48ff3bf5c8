"""Removals split by topic, each with all facts that its explanation needs, such as how well it fits expiry by a policy.

How well it fits is a fact of the whole removal; all other facts are about one topic.
"""

from collections.abc import Iterator
from typing import NamedTuple

from offsets_tool.expiry.plausibility import Expiries, Plausibility, expiries_of, plausibility_of
from offsets_tool.expiry.policy_search import Ages
from offsets_tool.expiry.removals import Removal
from offsets_tool.expiry.rules import Policy
from offsets_tool.replay.changes import CommittedOffset, Group


class TopicRemoval(NamedTuple):
    """The part of a removal that is about one topic: facts of the offsets removed there. Fields are as in Removal."""

    topic: str
    log_partition: int | None
    first_offset: int
    """Log offset of the first tombstone of the whole removal."""
    at: int | None
    group_id: str
    group: Group | None
    is_new: bool
    """Whether the new coordinator wrote it."""
    group_deleted_at: int | None
    left: int
    is_left: bool
    """Whether the group still had an offset of a topic that the removal took offsets of."""
    is_read: bool
    """Whether a member read the topic."""
    plausibility: Plausibility
    is_proven: bool
    """Whether the log still has every record from before the removal."""
    removed: Expiries
    policy: Policy
    """Of the brokers at that time."""
    is_retention_known: bool
    """Whether the retention of that policy is the brokers' own."""


class LogEnd(NamedTuple):
    """Facts known at the end of a log that hold for its removals.

    `is_new`: the new coordinator wrote them, unless a removal says otherwise; `proven_from`: the offset from which on the log has
    all records.
    """

    is_new: bool
    proven_from: int


def log_end_of(*, is_new: bool, proven_from: int, begins: int, end: int) -> LogEnd:
    """Return the end of a log that has all records from `proven_from` up to `end`.

    Nothing is proven where segments are missing at its beginning: the first that is present `begins` behind offset 0.
    """
    return LogEnd(is_new, proven_from if begins == 0 else end + 1)


def wrote(removal: Removal, log_end: LogEnd) -> bool:
    """Return whether the new coordinator wrote the removal."""
    return log_end.is_new if removal.is_by_new_coordinator is None else removal.is_by_new_coordinator


def age(ages: Ages, removal: Removal, log_end: LogEnd, policy: Policy) -> None:
    """Add how old the removed offsets were to `ages`; only the policy's release matters.

    What was removed before an upgrade says nothing of the retention after it.
    """
    if policy.earlier_at(removal.at, _commits(removal)) is not None:
        return
    is_new = wrote(removal, log_end)
    ages.observe_removal(removal, expiries_of(removal, policy, is_new=is_new), policy, is_new=is_new)


def split_by_topic(
    removal: Removal, log_end: LogEnd, policy: Policy, *, retention_known: bool
) -> Iterator[TopicRemoval]:
    """Yield a removal split by topic, judged by the policy of its time.

    `retention_known`: whether the retention of `policy`, the last one, is the broker's own.
    """
    is_new, earlier = wrote(removal, log_end), policy.earlier_at(removal.at, _commits(removal))
    if earlier is not None:
        policy, retention_known = earlier.policy, earlier.is_retention_known
    found = expiries_of(removal, policy, is_new=is_new)
    plausibility = plausibility_of(removal, found, policy, is_new=is_new, retention_known=retention_known)
    by_topic: dict[str, list[int]] = {}
    for number, removed in enumerate(removal.removed):
        by_topic.setdefault(removed.topic, []).append(number)
    for topic, numbers in by_topic.items():
        yield TopicRemoval(
            topic,
            removal.log_partition,
            removal.first_offset,
            removal.at,
            removal.group_id,
            removal.group,
            is_new,
            removal.group_deleted_at,
            removal.left,
            bool(removal.partly_removed_topics),
            bool(removal.removed[numbers[0]].reads),
            plausibility,
            removal.first_offset >= log_end.proven_from,
            tuple(found[number] for number in numbers),
            policy,
            retention_known,
        )


def _commits(removal: Removal) -> list[CommittedOffset]:
    return [removed.commit for removed in removal.removed if removed.commit is not None]

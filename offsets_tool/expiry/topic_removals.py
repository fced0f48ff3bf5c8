"""A removal weighed by a policy, topic by topic: what its explanation needs of it, and no more, so that topics part ways here.

Whether it fits expiry is told of the removal as a whole; all else that explains it is about a topic.
"""

from collections.abc import Iterator
from typing import NamedTuple

from offsets_tool.expiry.plausibility import Expiries, Fit, expiries_of, fit_of
from offsets_tool.expiry.policy_search import Ages
from offsets_tool.expiry.removals import Removal
from offsets_tool.expiry.rules import Policy
from offsets_tool.replay.changes import Group


class TopicRemoval(NamedTuple):
    """What a removal took of one topic; what is not said here is as Removal has it."""

    topic: str
    log_partition: int | None
    first_offset: int
    """Of the removal."""
    at: int | None
    group_id: str
    group: Group | None
    is_new: bool
    """Whether the new coordinator wrote it."""
    group_gone_at: int | None
    left: int
    is_left: bool
    """Whether the group still had an offset of the topic, or of another that the removal took offsets of."""
    is_read: bool
    """Whether a member read the topic."""
    fit: Fit
    is_proven: bool
    """Whether the log still has every record from before it."""
    gone: Expiries


class LogEnd(NamedTuple):
    """What the end of its log tells of a partition's removals: who wrote those that do not say it, and from where on every record
    is there."""

    is_new: bool
    proven_from: int


def log_end_of(*, is_new: bool, proven_from: int, begins: int, end: int) -> LogEnd:
    """Of a log with all records from `proven_from` up to `end`, as far as they are there; nothing is proven where segments are
    missing at its beginning: the first that is there `begins` behind offset 0."""
    return LogEnd(is_new, proven_from if begins == 0 else end + 1)


def wrote(removal: Removal, ending: LogEnd) -> bool:
    """Whether the new coordinator wrote it."""
    return ending.is_new if removal.written_new is None else removal.written_new


def age(ages: Ages, removal: Removal, ending: LogEnd, policy: Policy) -> None:
    """Adds how old it was what the removal took; of the policy, only the release counts."""
    is_new = wrote(removal, ending)
    ages.observe_removal(removal, expiries_of(removal, policy, is_new=is_new), policy, is_new=is_new)


def weighed(
    removal: Removal, ending: LogEnd, policy: Policy, *, retention_known: bool
) -> Iterator[TopicRemoval]:
    """Of each topic that it took something of; `retention_known`: whether the policy's is the broker's own."""
    is_new = wrote(removal, ending)
    found = expiries_of(removal, policy, is_new=is_new)
    fit = fit_of(removal, found, policy, is_new=is_new, retention_known=retention_known)
    by_topic: dict[str, list[int]] = {}
    for number, gone in enumerate(removal.gone):
        by_topic.setdefault(gone.topic, []).append(number)
    for topic, numbers in by_topic.items():
        yield TopicRemoval(
            topic,
            removal.log_partition,
            removal.first_offset,
            removal.at,
            removal.group_id,
            removal.group,
            is_new,
            removal.group_gone_at,
            removal.left,
            bool(removal.left_topics),
            bool(removal.gone[numbers[0]].reads),
            fit,
            removal.first_offset >= ending.proven_from,
            tuple(found[number] for number in numbers),
        )

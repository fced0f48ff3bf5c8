"""Which requests can have written a removal: deletion of the group, of offsets, of a topic.

Each leaves out what the coordinator's code would have refused or written otherwise, and what the log contradicts: offsets that the
group kept, members that read the topic, other groups that kept the topic. Source: GroupCoordinator.handleDeleteGroups and
handleDeleteOffsets, GroupMetadataManager.cleanupGroupMetadata (classic); GroupCoordinatorShard, OffsetMetadataManager (new).
"""

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import Final, NamedTuple

from offsets_tool.replay.causes import Cause, Known
from offsets_tool.replay.changes import Group, GroupKind
from offsets_tool.replay.expiry import Policy, Release
from offsets_tool.replay.expiry_fit import Fit, fit_of
from offsets_tool.replay.losses import Removal
from offsets_tool.replay.membership import CONSUMER_PROTOCOL
from offsets_tool.replay.topic_losses import SPREAD_MS, Topics

TOPIC_DELETION_FROM: Final[Release] = (0, 10, 2)
"""KAFKA-2000."""
DELETE_GROUPS_FROM: Final[Release] = (1, 1)
"""KIP-229."""
OFFSET_DELETE_FROM: Final[Release] = (2, 4)
"""KIP-496."""


class _Told(NamedTuple):
    """Removals that a topic's deletion may have written, by time; `alone` counts those before each that little else explains."""

    times: list[int]
    groups: list[str]
    alone: list[int]


class Possible(NamedTuple):
    """Requests that can have taken what a removal took of a topic, the most usual first.

    `topic_together`: its deletion is among them, and several groups lost the topic together, one of them neither by expiry nor with
    all it had.
    """

    causes: list[Cause]
    topic_together: bool


class Requests:
    """By the release's code, and by what happened to the topics in all groups."""

    def __init__(self, policy: Policy, topics: Topics, known: Known) -> None:
        self._policy, self._topics, self._known = policy, topics, known
        self._by_topic: dict[str, _Told] = {}

    def possible(self, removal: Removal, topic: str) -> Possible:
        """What can have taken what the removal took of this topic."""
        may_be_topic = self._may_be_topic(removal, topic)
        possible = (
            (Cause.GROUP_DELETED, self._may_be_group(removal)),
            (Cause.OFFSETS_DELETED, self._may_be_offsets(removal, topic)),
            (Cause.TOPIC_DELETED, may_be_topic),
        )
        together = may_be_topic and self._lost_together(removal, topic)
        return Possible([cause for cause, may_be in possible if may_be], together)

    def _lost_together(self, removal: Removal, topic: str) -> bool:
        if removal.at is None:
            return False
        told = self._told(topic)
        low = bisect_left(told.times, removal.at - SPREAD_MS)
        high = bisect_right(told.times, removal.at + SPREAD_MS)
        if told.alone[low] == told.alone[high]:
            return False
        return any(told.groups[number] != removal.group_id for number in range(low, high))

    def _told(self, topic: str) -> _Told:
        if topic not in self._by_topic:
            losses = [each for each in self._topics.losses(topic) if self._may_be_topic(each, topic)]
            alone = (not self._may_be_group(each) and self._fits_no_expiry(each) for each in losses)
            self._by_topic[topic] = _Told(
                [each.at for each in losses if each.at is not None],
                [each.group_id for each in losses],
                list(accumulate(alone, initial=0)),
            )
        return self._by_topic[topic]

    def _fits_no_expiry(self, removal: Removal) -> bool:
        return fit_of(removal, self._policy, retention_known=self._known.retention) is Fit.NONE

    def _has(self, since: Release) -> bool:
        return not self._known.release or self._policy.release >= since

    def _may_be_group(self, removal: Removal) -> bool:
        """DeleteGroups takes all that a group has, with its record if there is one: always, by the new coordinator."""
        if not self._has(DELETE_GROUPS_FROM) or removal.left:
            return False
        return removal.group_gone_at is not None or not (removal.is_new or _has_record(removal.group))

    def _may_be_offsets(self, removal: Removal, topic: str) -> bool:
        """OffsetDelete: of a group without members, or of a topic that its consumers do not read."""
        if not self._has(OFFSET_DELETE_FROM) or (removal.is_new and removal.group_gone_at is not None):
            return False
        if removal.group is None or not removal.group.members:
            return True
        of_consumers = (
            removal.group.kind is not GroupKind.CLASSIC or removal.group.protocol_type == CONSUMER_PROTOCOL
        )
        return of_consumers and topic not in removal.subscribed

    def _may_be_topic(self, removal: Removal, topic: str) -> bool:
        """A topic's deletion leaves no group an offset of it; the new coordinator leaves the groups alone."""
        if not self._has(TOPIC_DELETION_FROM) or topic in removal.left_topics:
            return False
        if removal.is_new and removal.group_gone_at is not None:
            return False
        return not self._topics.outlived(topic, removal)


def _has_record(group: Group | None) -> bool:
    """Whether the classic coordinator deletes a record of its own with the group: one that has had a generation."""
    return group is not None and group.kind is not GroupKind.SIMPLE and group.generation != 0

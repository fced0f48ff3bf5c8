"""Which client requests can have removed a group's offsets of a topic: deletion of the group, of offsets, of the topic.

It leaves out requests that the coordinator's code would have refused or whose records differ, and those that the log contradicts:
offsets that the group kept, members that read the topic, other groups that kept the topic. Source:
GroupCoordinator.handleDeleteGroups and handleDeleteOffsets, GroupMetadataManager.cleanupGroupMetadata (classic);
GroupCoordinatorShard, OffsetMetadataManager (new).
"""

from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate
from typing import Final, NamedTuple

from offsets_tool.expiry.causes import Cause
from offsets_tool.expiry.plausibility import Plausibility
from offsets_tool.expiry.topic_removals import TopicRemoval
from offsets_tool.expiry.topic_timeline import SPREAD_MS, TopicTimeline
from offsets_tool.replay.changes import Group, GroupKind
from offsets_tool.replay.member_records import CONSUMER_PROTOCOL
from offsets_tool.wire.json import Release

TOPIC_DELETION_FROM: Final[Release] = (0, 10, 2)
"""First release that removes the offsets of deleted topics (KAFKA-2000)."""
DELETE_GROUPS_FROM: Final[Release] = (1, 1)
"""First release with DeleteGroups (KIP-229)."""
OFFSET_DELETE_FROM: Final[Release] = (2, 4)
"""First release with OffsetDelete (KIP-496)."""


_AT_ONCE_MS: Final = 1_000
"""The time, in milliseconds, within which all coordinators have usually heard that a topic was deleted."""


class _PossibleRemovals(NamedTuple):
    """Removals that the topic's deletion can have made, by time; `alone` counts those before each with no other good cause."""

    times: list[int]
    groups: list[str]
    alone: list[int]


class Possible(NamedTuple):
    """Requests that can have removed a group's offsets of a topic, the most usual first.

    `topic_together`: the topic's deletion is among them, and several groups lost the topic together, one of them neither by expiry
    nor with all its offsets. `topic_at_once`: so close together that they are one event.
    """

    causes: list[Cause]
    topic_together: bool
    topic_at_once: bool


class Requests:
    """The requests that can have made removals of one topic, by the release's code and by what other groups lost of the topic."""

    def __init__(self, release: Release | None, topic: TopicTimeline) -> None:
        """Judge the removals of one topic by the requests that brokers of a release know; `release` None stands for any."""
        self._release, self._topic = release, topic

    def possible(self, removal: TopicRemoval) -> Possible:
        """Return the requests that can have made this removal."""
        may_be_topic = self._may_be_topic(removal)
        possible = (
            (Cause.GROUP_DELETED, self._may_be_group(removal)),
            (Cause.OFFSETS_DELETED, self._may_be_offsets(removal)),
            (Cause.TOPIC_DELETED, may_be_topic),
        )
        together, at_once = (
            may_be_topic and self._lost_together(removal, spread) for spread in (SPREAD_MS, _AT_ONCE_MS)
        )
        return Possible([cause for cause, may_be in possible if may_be], together, at_once)

    def _lost_together(self, removal: TopicRemoval, spread: int) -> bool:
        if removal.at is None:
            return False
        possible = self._possible_removals
        low = bisect_left(possible.times, removal.at - spread)
        high = bisect_right(possible.times, removal.at + spread)
        if possible.alone[low] == possible.alone[high]:
            return False
        return any(possible.groups[number] != removal.group_id for number in range(low, high))

    @cached_property
    def _possible_removals(self) -> _PossibleRemovals:
        removals = [each for each in self._topic.removals if self._may_be_topic(each)]
        alone = (not self._may_be_group(each) and each.plausibility is Plausibility.NONE for each in removals)
        return _PossibleRemovals(
            [each.at for each in removals if each.at is not None],
            [each.group_id for each in removals],
            list(accumulate(alone, initial=0)),
        )

    def _has(self, since: Release) -> bool:
        return self._release is None or self._release >= since

    def _may_be_group(self, removal: TopicRemoval) -> bool:
        """Return whether a DeleteGroups request can have made a removal: it removes all offsets of a group, and its record."""
        if not self._has(DELETE_GROUPS_FROM) or removal.left:
            return False
        return removal.group_deleted_at is not None or not (removal.is_new or _has_record(removal.group))

    def _may_be_offsets(self, removal: TopicRemoval) -> bool:
        """Return whether an OffsetDelete request can have made a removal: its group had no members that read the topic."""
        if not self._has(OFFSET_DELETE_FROM) or (removal.is_new and removal.group_deleted_at is not None):
            return False
        if removal.group is None or not removal.group.members:
            return True
        of_consumers = (
            removal.group.kind is not GroupKind.CLASSIC or removal.group.protocol_type == CONSUMER_PROTOCOL
        )
        return of_consumers and not removal.is_read

    def _may_be_topic(self, removal: TopicRemoval) -> bool:
        """Return whether the deletion of the topic can have made a removal.

        It leaves no group an offset of the topic, and the new coordinator deletes no group with it.
        """
        if not self._has(TOPIC_DELETION_FROM) or removal.is_left:
            return False
        if removal.is_new and removal.group_deleted_at is not None:
            return False
        return not self._topic.outlived(removal)


def _has_record(group: Group | None) -> bool:
    """Return whether the classic coordinator deletes a record with the group: only one that has had a generation has a record."""
    return group is not None and group.kind is not GroupKind.SIMPLE and group.generation != 0

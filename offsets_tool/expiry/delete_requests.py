"""Which requests can have taken what a group lost of a topic: deletion of the group, of offsets, of a topic.

Each leaves out what the coordinator's code would have refused or written otherwise, and what the log contradicts: offsets that the
group kept, members that read the topic, other groups that kept the topic. Source: GroupCoordinator.handleDeleteGroups and
handleDeleteOffsets, GroupMetadataManager.cleanupGroupMetadata (classic); GroupCoordinatorShard, OffsetMetadataManager (new).
"""

from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate
from typing import Final, NamedTuple

from offsets_tool.expiry.causes import Cause
from offsets_tool.expiry.plausibility import Fit
from offsets_tool.expiry.topic_removals import TopicRemoval
from offsets_tool.expiry.topic_timeline import SPREAD_MS, TopicTimeline
from offsets_tool.replay.changes import Group, GroupKind
from offsets_tool.replay.member_records import CONSUMER_PROTOCOL
from offsets_tool.wire.json import Release

TOPIC_DELETION_FROM: Final[Release] = (0, 10, 2)
"""KAFKA-2000."""
DELETE_GROUPS_FROM: Final[Release] = (1, 1)
"""KIP-229."""
OFFSET_DELETE_FROM: Final[Release] = (2, 4)
"""KIP-496."""


_AT_ONCE_MS: Final = 1_000
"""Within what time all coordinators have usually heard that a topic is gone."""


class _Told(NamedTuple):
    """PartitionRemovals that the topic's deletion may be, by time; `alone` counts those before each that little else explains."""

    times: list[int]
    groups: list[str]
    alone: list[int]


class Possible(NamedTuple):
    """Requests that can have taken what was lost of a topic, the most usual first.

    `topic_together`: its deletion is among them, and several groups lost the topic together, one of them neither by expiry nor with
    all it had. `topic_at_once`: so close to each other that they are one event.
    """

    causes: list[Cause]
    topic_together: bool
    topic_at_once: bool


class Requests:
    """By the release's code, and by what happened to the topic in all groups."""

    def __init__(self, release: Release | None, topic: TopicTimeline) -> None:
        """`release` None: of any."""
        self._release, self._topic = release, topic

    def possible(self, loss: TopicRemoval) -> Possible:
        """What can have taken what was lost of the topic."""
        may_be_topic = self._may_be_topic(loss)
        possible = (
            (Cause.GROUP_DELETED, self._may_be_group(loss)),
            (Cause.OFFSETS_DELETED, self._may_be_offsets(loss)),
            (Cause.TOPIC_DELETED, may_be_topic),
        )
        together, at_once = (
            may_be_topic and self._lost_together(loss, spread) for spread in (SPREAD_MS, _AT_ONCE_MS)
        )
        return Possible([cause for cause, may_be in possible if may_be], together, at_once)

    def _lost_together(self, loss: TopicRemoval, spread: int) -> bool:
        if loss.at is None:
            return False
        told = self._told
        low = bisect_left(told.times, loss.at - spread)
        high = bisect_right(told.times, loss.at + spread)
        if told.alone[low] == told.alone[high]:
            return False
        return any(told.groups[number] != loss.group_id for number in range(low, high))

    @cached_property
    def _told(self) -> _Told:
        losses = [each for each in self._topic.losses if self._may_be_topic(each)]
        alone = (not self._may_be_group(each) and each.fit is Fit.NONE for each in losses)
        return _Told(
            [each.at for each in losses if each.at is not None],
            [each.group_id for each in losses],
            list(accumulate(alone, initial=0)),
        )

    def _has(self, since: Release) -> bool:
        return self._release is None or self._release >= since

    def _may_be_group(self, loss: TopicRemoval) -> bool:
        """DeleteGroups takes all that a group has, with its record if there is one: always, by the new coordinator."""
        if not self._has(DELETE_GROUPS_FROM) or loss.left:
            return False
        return loss.group_gone_at is not None or not (loss.is_new or _has_record(loss.group))

    def _may_be_offsets(self, loss: TopicRemoval) -> bool:
        """OffsetDelete: of a group without members, or of a topic that its consumers do not read."""
        if not self._has(OFFSET_DELETE_FROM) or (loss.is_new and loss.group_gone_at is not None):
            return False
        if loss.group is None or not loss.group.members:
            return True
        of_consumers = (
            loss.group.kind is not GroupKind.CLASSIC or loss.group.protocol_type == CONSUMER_PROTOCOL
        )
        return of_consumers and not loss.is_read

    def _may_be_topic(self, loss: TopicRemoval) -> bool:
        """A topic's deletion leaves no group an offset of it; the new coordinator leaves the groups alone."""
        if not self._has(TOPIC_DELETION_FROM) or loss.is_left:
            return False
        if loss.is_new and loss.group_gone_at is not None:
            return False
        return not self._topic.outlived(loss)


def _has_record(group: Group | None) -> bool:
    """Whether the classic coordinator deletes a record of its own with the group: one that has had a generation."""
    return group is not None and group.kind is not GroupKind.SIMPLE and group.generation != 0

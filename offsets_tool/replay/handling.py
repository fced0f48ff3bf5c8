"""Handlers of record types: each is declared with the function that replays a record and with the state that it reads.

Replay of one event at a time needs only the function. Replay by column also needs the state it reads, to move these commits into
State before it calls the function. Knows no record type.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final, NamedTuple

from offsets_tool.events import Event, Value
from offsets_tool.replay.changes import Group, GroupKind, GroupState, Member, TopicPartition
from offsets_tool.replay.step import Step
from offsets_tool.wire.schema import Message


class Reach(NamedTuple):
    """The state that the replay of an event reads of one group, besides the group itself; and whether it can delete the group.

    `offsets` are the committed offsets that it reads or changes; `asks_for_any` says that it also asks whether there is any,
    `asks_for_all` that it reads every one.
    """

    group: str
    offsets: tuple[TopicPartition, ...] = ()
    asks_for_any: bool = False
    asks_for_all: bool = False
    may_delete: bool = False

    @property
    def reads_offsets(self) -> bool:
        """Whether it depends on the group's committed offsets at all."""
        return bool(self.offsets) or self.asks_for_any or self.asks_for_all


class Replaces(Enum):
    """Which earlier values make no difference to later records once a newer value is replayed."""

    NOTHING = 0
    GROUP = 1
    """All earlier values of its group: it is the whole group."""
    PART = 2
    """The earlier values of its key: the group follows from the newest value of each key, but for the log offset of its last
    change."""
    FACT = 3
    """As PART; and a value that differs from the one before it is such a change."""


ReplayRecord = Callable[[Step, Any, Event], None]
"""What replays a record: given the step, the data of its key and the event."""


StateOf = Callable[[Group, Callable[[], bool]], GroupState]
"""Return the state of a group; the second argument tells whether a member is behind the target assignment, if that is asked."""


_NO_RECORDS: Final = Member()
"""A member of whom there is no record."""


class ValueRules(NamedTuple):
    """How a value is replayed for a group that is of its kind already: what it makes of the group, or of the key's member.

    One of `of_group` and `of_member` is there. After that the group's members and state are found anew by `state_of`.
    """

    kind: GroupKind
    state_of: StateOf
    of_group: Callable[[Group, Any, Value], Group] | None = None
    of_member: Callable[[Member, Value], Member] | None = None

    def replayed(
        self, group: Group, known: Member | None, key: Message, value: Value
    ) -> tuple[Group, Member | None] | None:
        """Return a group, not counted anew yet, and the member that a key names, as a value leaves them; None if both stay.

        `known` is that member as it was; None where nothing is known of it. Of a value about the group no member is returned.
        """
        if self.of_group is not None:
            return self.of_group(group, key, value), None
        assert self.of_member is not None
        before = known or _NO_RECORDS
        after = self.of_member(before, value)
        return None if after == before else (group, after)


class Handling(NamedTuple):
    """The handler of records of one role: how it replays them, what state it reads, and which earlier values a value replaces.

    `value` says how values are replayed, where that is all that they do to a group of their kind.
    """

    replay: ReplayRecord
    reach: Callable[[Event], Reach]
    replaces: Replaces = Replaces.NOTHING
    value: ValueRules | None = None


def reach_of_group(event: Event) -> Reach:
    """Return the reach of a record that reads no committed offsets and deletes no group."""
    assert event.group is not None
    return Reach(event.group)

"""Handlers of record types: each is declared with the function that replays a record, and with what its values replace.

Replay of one event at a time needs only the function. Knows no record type.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final, NamedTuple

from offsets_tool.events import Event, Value
from offsets_tool.replay.changes import Group, GroupKind, GroupState, Member
from offsets_tool.replay.step import Step
from offsets_tool.wire.schema import Message


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
    """The handler of records of one role: how it replays them, and which earlier values a value replaces.

    `value` says how values are replayed, where that is all that they do to a group of their kind.
    """

    replay: ReplayRecord
    replaces: Replaces = Replaces.NOTHING
    value: ValueRules | None = None

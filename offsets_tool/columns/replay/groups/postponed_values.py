"""Replays values of one group to a state, that were put off: what Coordinator.replay makes of them one by one.

Only for a group of their kind that is there. What a value makes of the group is said by its ValueRules; nothing is decided here.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from offsets_tool.columns.replay.groups.counted_members import CountedMembers
from offsets_tool.columns.replay.groups.sole_values import GroupKey
from offsets_tool.events import Value
from offsets_tool.replay.changes import Member
from offsets_tool.replay.handling import ValueRules
from offsets_tool.replay.state import State

_NOBODY: Final[Mapping[str, Member]] = {}


class PostponedValue(NamedTuple):
    """A value of a group, how it is replayed, and the log offset of its record."""

    key: GroupKey
    rules: ValueRules
    value: Value
    log_offset: int


def replay_values(state: State, name: str, values: Iterable[PostponedValue]) -> None:
    """Replay values of a group, all of its kind, in their order."""
    members = state.members.get(name, _NOBODY)
    counted = CountedMembers(members)
    before = state.groups[name]
    for key, rules, value, log_offset in values:
        known = members.get(key.member_id)
        replayed = rules.replayed(before, known, key.data, value)
        if replayed is None:
            continue
        group, member = replayed
        if member is not None:
            state.put_member(name, key.member_id, member)
            members = state.members[name]
            counted.put(members, key.member_id, known, member)
        after = counted.changed_group(before, group, rules, log_offset)
        if after is not None:
            before = state.groups[name] = after

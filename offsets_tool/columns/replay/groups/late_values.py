"""Replays values of one group to a state, long after they came: what Coordinator.replay makes of them one by one.

Only for a group of their kind that is there. What a value makes of the group is said by its ValueRules; nothing is decided here.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from offsets_tool.columns.replay.groups.counted_members import CountedMembers
from offsets_tool.columns.replay.groups.sole_values import GroupKey
from offsets_tool.events import Value
from offsets_tool.replay.changes import Member
from offsets_tool.replay.epoch_groups import NO_RECORDS
from offsets_tool.replay.handling import ValueRules
from offsets_tool.replay.state import State

_NOBODY: Final[Mapping[str, Member]] = {}


class LateValue(NamedTuple):
    """A value of a group, how it is replayed, and the log offset of its record."""

    key: GroupKey
    rules: ValueRules
    value: Value
    log_offset: int


def replay_values(state: State, name: str, values: Iterable[LateValue]) -> None:
    """Replay values of a group, all of its kind, in their order."""
    members = state.members.get(name, _NOBODY)
    counted = CountedMembers(members)
    before = state.groups[name]
    for key, rules, value, log_offset in values:
        group = before
        if rules.of_group is not None:
            group = rules.of_group(group, key.data, value)
        elif rules.of_member is not None:
            known = members.get(key.member_id)
            member = rules.of_member(known or NO_RECORDS, value)
            if member == known:
                continue
            state.put_member(name, key.member_id, member)
            members = state.members[name]
            counted.put(members, key.member_id, known, member)
        after = counted.changed_group(before, group, rules, log_offset)
        if after is not None:
            before = state.groups[name] = after

"""The members of a group whose values are replayed at once, counted as they change: how many there are, and who is behind.

What counts is said by replay.changes and replay.member_state; nothing is decided here.
"""

from collections.abc import Mapping

from offsets_tool.replay.changes import Group, Member
from offsets_tool.replay.epoch_groups import changed_group
from offsets_tool.replay.handling import ValueRules
from offsets_tool.replay.member_state import is_behind


class CountedMembers:
    """Counts of one group's members; `put` follows each change of theirs."""

    __slots__ = ("_behind", "_epoch", "_members", "count")

    def __init__(self, members: Mapping[str, Member]) -> None:
        """Start with all records of members that the group has; `members` is that of a State, which changes."""
        self.count = sum([member.is_member for member in members.values()])
        """How many members the group has."""
        self._members = members
        self._epoch: int | None = None
        self._behind: set[str] = set()
        """Who is behind the target assignment of this epoch."""

    def put(
        self, members: Mapping[str, Member], member_id: str, before: Member | None, after: Member
    ) -> None:
        """Observe a member of the group's `members`, as it was and as it is there now."""
        self._members = members
        self.count += after.is_member - (before is not None and before.is_member)
        if self._epoch is None:
            return
        if is_behind(after, self._epoch):
            self._behind.add(member_id)
        else:
            self._behind.discard(member_id)

    def is_any_behind(self, assignment_epoch: int) -> bool:
        """Return whether a member is behind the target assignment of this epoch."""
        if assignment_epoch != self._epoch:
            self._epoch = assignment_epoch
            of_members = self._members.items()
            self._behind = {name for name, member in of_members if is_behind(member, assignment_epoch)}
        return bool(self._behind)

    def changed_group(
        self, before: Group | None, group: Group, rules: ValueRules, log_offset: int
    ) -> Group | None:
        """Return a group with members and state found anew, as a record at this log offset leaves it; None if it is as before."""
        now = group if self.count == group.members else group._replace(members=self.count)
        state = rules.state_of(now, lambda: self.is_any_behind(now.assignment_epoch or 0))
        return changed_group(before, now, state, log_offset)

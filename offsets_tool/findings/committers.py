"""Who committed an offset, as far as a log tells: a member, somebody from outside, a client that never joins, a transaction.

A coordinator takes a commit without a member only for a group that has none (validateOffsetCommit): so a commit into a group with
members is a member's, and one into an empty group is an admin's or a simple client's. Which member it was, the log does not say.
Where compaction may have taken the group's own records, nobody knows whether it had members.
"""

from enum import StrEnum
from typing import NamedTuple

from offsets_tool.findings.group_rows import GroupRows, is_simple
from offsets_tool.history.rows import OffsetHistoryRow


class Committer(StrEnum):
    """Who made a commit."""

    MEMBER = "member"
    OUTSIDE = "outside"
    """An admin (--reset-offsets, alterConsumerGroupOffsets) or a simple client, while a group that can have members had none."""
    SIMPLE_CLIENT = "simple client"
    """A client that never joins, in a group that only has offsets."""
    TRANSACTION = "transaction"
    UNKNOWN = "unknown"
    """A client that is no member as far as the log tells, which may lack records of the group."""


class CommitOrigin(NamedTuple):
    """The state of the group when a commit was made, which limits who can have made it."""

    is_known: bool
    """Whether the log tells if the group had members."""
    is_outside: bool
    """Whether the group had no members: nobody of it can have committed."""
    is_simple: bool
    """Whether the group was one that only has offsets."""

    def committer(self, row: OffsetHistoryRow) -> Committer:
        """Return who made the commit of this row."""
        if row.producer_id is not None:
            return Committer.TRANSACTION
        if not self.is_known and self.is_outside:
            return Committer.UNKNOWN
        if self.is_simple:
            return Committer.SIMPLE_CLIENT
        return Committer.OUTSIDE if self.is_outside else Committer.MEMBER


def origin_of(rows: GroupRows, row: OffsetHistoryRow) -> CommitOrigin:
    """Return the state of the group when the commit of `row` was made."""
    group = rows.state_at(row.commit_log_offset)
    has_members = group is not None and group.members > 0
    # A log that lacks its beginning lacks the records of groups that have been stable ever since.
    is_known = row.commit_log_offset >= rows.proven_from and not (rows.proven_from and is_simple(group))
    return CommitOrigin(is_known, not has_members, is_simple(group))

"""The state that a coordinator holds after some record of its log, and how a value is put into it. Knows none of Kafka's rules.

Only present values are held: a deleted group leaves nothing behind. `State.subjects` yields the whole state.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from offsets_tool.replay.changes import (
    CommittedOffset,
    Group,
    GroupOf,
    Member,
    MemberOf,
    OffsetOf,
    PendingCommit,
    PendingOf,
    Subject,
    Subjected,
    TopicPartition,
    Transaction,
    TransactionOf,
)
from offsets_tool.wire.schema import Message

_NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})
GroupPart = tuple[str | None, str]
"""A part of a group that has a record of its own: the member that it is about, or None, and which record of it that is."""


@dataclass(slots=True)
class Unread:
    """Subjects whose newest record was not understood, with the log offset of that record: what they have now is unknown.

    A later record of the same subject that reads, or a tombstone, takes it out. Kafka's coordinators load
    nothing of a partition with such a value, but for the new one of 3.7 to 3.9, which does not look at its version (KAFKA-18672).
    """

    offsets: dict[str, dict[TopicPartition, int]] = field(default_factory=dict)
    """By group."""
    pending: dict[int, dict[OffsetOf, int]] = field(default_factory=dict)
    """By producer id."""
    groups: dict[str, dict[GroupPart, int]] = field(default_factory=dict)
    """By group, the parts of it."""
    log: int | None = None
    """The last record whose key was not understood: it may have been about anything."""

    def __bool__(self) -> bool:
        """Return whether any subject is unread, so that records may matter to it."""
        return bool(self.offsets or self.pending or self.groups)

    def add(self, subject: OffsetOf | PendingOf, log_offset: int) -> None:
        """Add an offset or a pending commit; of two records, the later one counts."""
        table, outer, inner = self._place(subject)
        there = table.setdefault(outer, {})
        there[inner] = max(log_offset, there.get(inner, -1))

    def take(self, subject: Subject) -> None:
        """Take out an offset or a pending commit, or a group with all of its parts."""
        if isinstance(subject, OffsetOf | PendingOf):
            _put_in(*self._place(subject), None)
        elif isinstance(subject, GroupOf):
            self.groups.pop(subject.group, None)

    def take_part(self, group: str, part: GroupPart) -> bool:
        """Take out a part of a group, if it is here; return whether all of the group is known by that."""
        if part not in self.groups.get(group, _NOTHING):
            return False
        _put_in(self.groups, group, part, None)
        return group not in self.groups

    def groups_concerned(self) -> set[str]:
        """Return the groups that any of this is about."""
        waiting = {offset.group for commits in self.pending.values() for offset in commits}
        return {*self.offsets, *self.groups, *waiting}

    def _place(self, subject: OffsetOf | PendingOf) -> tuple[dict[Any, dict[Any, Any]], Any, Any]:
        if isinstance(subject, OffsetOf):
            return self.offsets, subject.group, TopicPartition(*subject[1:])
        return self.pending, subject.producer_id, OffsetOf(*subject[1:])


@dataclass(slots=True)
class State:
    """All that a coordinator holds: offsets, groups and members by group; pending commits and transactions by producer id.

    What it would hold and nobody knows, because a record was not understood, is in `unread`.
    """

    offsets: dict[str, dict[TopicPartition, CommittedOffset]] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    members: dict[str, dict[str, Member]] = field(default_factory=dict)
    pending: dict[int, dict[OffsetOf, PendingCommit]] = field(default_factory=dict)
    transactions: dict[int, Transaction] = field(default_factory=dict)
    unread: Unread = field(default_factory=Unread)

    def get(self, subject: Subject) -> Subjected | None:
        """Return the value of a subject; None if it has none."""
        # Patterns of classes would cost twice as much, and this is asked for with each change.
        if isinstance(subject, OffsetOf):
            return self.offsets.get(subject.group, _NOTHING).get(TopicPartition(*subject[1:]))
        if isinstance(subject, MemberOf):
            return self.members.get(subject.group, _NOTHING).get(subject.member_id)
        if isinstance(subject, GroupOf):
            return self.groups.get(subject.group)
        if isinstance(subject, PendingOf):
            return self.pending.get(subject.producer_id, _NOTHING).get(OffsetOf(*subject[1:]))
        if isinstance(subject, TransactionOf):
            return self.transactions.get(subject.producer_id)
        return None

    def put(self, subject: Subject, value: Subjected | None) -> None:
        """Set the value of a subject; None removes its present value."""
        if isinstance(subject, OffsetOf):
            _put_in(self.offsets, subject.group, TopicPartition(*subject[1:]), value)
        elif isinstance(subject, MemberOf):
            _put_in(self.members, subject.group, subject.member_id, value)
        elif isinstance(subject, GroupOf):
            _put(self.groups, subject.group, value)
        elif isinstance(subject, PendingOf):
            _put_in(self.pending, subject.producer_id, OffsetOf(*subject[1:]), value)
        elif isinstance(subject, TransactionOf):
            _put(self.transactions, subject.producer_id, value)

    def put_member(self, group: str, member_id: str, member: Member) -> None:
        """Set one member of a group."""
        members = self.members.get(group)
        if members is None:
            self.members[group] = {member_id: member}
        else:
            members[member_id] = member

    def change_members(self, group: str, gone: Mapping[str, Member], written: Mapping[str, Member]) -> None:
        """Remove members of a group, and set others."""
        members = self.members.get(group, {})
        if gone.keys() == members.keys():
            members = dict(written)
        else:
            for member_id in gone:
                members.pop(member_id, None)
            members.update(written)
        if members:
            self.members[group] = members
        else:
            self.members.pop(group, None)

    def of_groups(self, names: Iterable[str] | None = None) -> "State":
        """Return a state of its own with the groups of these names (None: all) and their members, and nothing else."""
        wanted = list(self.groups) if names is None else [name for name in names if name in self.groups]
        members = {name: dict(self.members[name]) for name in wanted if name in self.members}
        return State(groups={name: self.groups[name] for name in wanted}, members=members)

    def answers(self, group: str) -> bool:
        """Return whether the coordinator answers requests about a group; if not, none of the group's offsets is effective.

        The new coordinator keeps the offsets of a deleted group (OffsetMetadataManager) and answers nobody with them.
        """
        return group in self.groups

    def subjects(self) -> Iterator[tuple[Subject, Subjected]]:
        """Yield every subject that has a value, with the value."""
        for group, offsets in self.offsets.items():
            yield from ((OffsetOf(group, *at), commit) for at, commit in offsets.items())
        yield from ((GroupOf(name), row) for name, row in self.groups.items())
        for group, members in self.members.items():
            yield from ((MemberOf(group, member_id), member) for member_id, member in members.items())
        for producer, pending in self.pending.items():
            yield from ((PendingOf(producer, *offset), waiting) for offset, waiting in pending.items())
        yield from ((TransactionOf(producer), open_) for producer, open_ in self.transactions.items())

    def pending_for(self, group: str) -> Iterator[tuple[int, TopicPartition, PendingCommit]]:
        """Yield a group's pending commits: producer id, partition, commit."""
        for producer_id, commits in self.pending.items():
            for offset, waiting in commits.items():
                if offset.group == group:
                    yield producer_id, TopicPartition(offset.topic, offset.partition), waiting


def _put(table: dict[Any, Any], key: Message, value: Subjected | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _put_in(table: dict[Any, dict[Any, Any]], outer: Any, key: Message, value: Subjected | None) -> None:
    """Set or remove a value in a dictionary of dictionaries; keep no empty inner dictionary."""
    inner = table.get(outer)
    if inner is None:
        if value is not None:
            table[outer] = {key: value}
    elif value is not None:
        inner[key] = value
    else:
        inner.pop(key, None)
        if not inner:
            del table[outer]

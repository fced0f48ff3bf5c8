"""A coordinator's state and rows of history that hold as JSON and back, for checkpoints.

Group records keep their encoded bytes, texts every byte, and what has an order keeps it. Unpacking what is damaged raises
DecodeError, KeyError, TypeError or ValueError, which `checkpoint` explains to the user.
"""

import base64
from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from offsets_tool.events import Value, decode_value, encode_value
from offsets_tool.history.rows import GroupHistoryRow, LastingRow, MemberHistoryRow, OffsetHistoryRow
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.classic import GroupMetadataValue, MemberMetadata
from offsets_tool.replay.changes import (
    CommittedOffset,
    Group,
    GroupKind,
    GroupOf,
    GroupState,
    LogOf,
    Member,
    MemberOf,
    OffsetOf,
    PendingCommit,
    PendingOf,
    Subject,
    TopicPartition,
    Transaction,
    TransactionOf,
    classic_value,
)
from offsets_tool.replay.classic import members_of
from offsets_tool.replay.state import State, Unread

Packed = Any
"""A value of JSON."""

_TYPE_OF: Final = {layout.value: type_.id for type_ in RECORD_TYPES.values() for layout in type_.layouts}
_MEMBER_VERSION: Final = 4
"""The version of GroupMetadata that keeps every field of a member."""
_SUBJECTS: Final = (OffsetOf, PendingOf, GroupOf, MemberOf, TransactionOf, LogOf)
_ROWS: Final = (OffsetHistoryRow, GroupHistoryRow, MemberHistoryRow)


def pack_state(state: State) -> Packed:
    """Return a coordinator's state as JSON."""
    return {
        "offsets": {
            group: [[*at, *pack_commit(commit)] for at, commit in offsets.items()]
            for group, offsets in state.offsets.items()
        },
        "groups": [pack_group(group) for group in state.groups.values()],
        "members": {
            group: [_member(name, member) for name, member in members.items()]
            for group, members in state.members.items()
        },
        "pending": [
            [producer, *offset, waiting.deleted_at, *pack_commit(waiting.commit)]
            for producer, commits in state.pending.items()
            for offset, waiting in commits.items()
        ],
        "transactions": list(state.transactions.values()),
        "unread": _packed_unread(state.unread),
    }


def _packed_unread(unread: Unread) -> Packed:
    return [
        [
            [group, *at, log_offset]
            for group, some in unread.offsets.items()
            for at, log_offset in some.items()
        ],
        [
            [producer, *of, log_offset]
            for producer, some in unread.pending.items()
            for of, log_offset in some.items()
        ],
        [
            [group, *part, log_offset]
            for group, some in unread.groups.items()
            for part, log_offset in some.items()
        ],
        unread.log,
    ]


def _restored_unread(packed: Packed) -> Unread:
    offsets, pending, groups, log = packed
    unread = Unread(log=log)
    for *subject, log_offset in offsets:
        unread.add(OffsetOf(*subject), log_offset)
    for *subject, log_offset in pending:
        unread.add(PendingOf(*subject), log_offset)
    for group, *part, log_offset in groups:
        unread.groups.setdefault(group, {})[part[0], part[1]] = log_offset
    return unread


def unpack_state(body: Packed) -> State:
    """Return the state from which `pack_state` made this JSON."""
    state = State()
    for group, rows in body["offsets"].items():
        state.offsets[group] = {
            TopicPartition(topic, partition): unpack_commit(*commit) for topic, partition, *commit in rows
        }
    for row in body["groups"]:
        restored = unpack_group(row)
        state.groups[restored.group] = restored
    for name, rows in body["members"].items():
        state.members[name] = dict(_restored_members(rows, classic_value(state.groups[name])))
    for producer, group, topic, partition, deleted_at, *commit in body["pending"]:
        waiting = PendingCommit(unpack_commit(*commit), deleted_at)
        state.pending.setdefault(producer, {})[OffsetOf(group, topic, partition)] = waiting
    for row in body["transactions"]:
        state.transactions[row[0]] = _restored_transaction(row)
    if "unread" in body:
        state.unread = _restored_unread(body["unread"])
    return state


def pack_subject(subject: Subject) -> Packed:
    """Return the subject of a change as JSON."""
    return [_SUBJECTS.index(type(subject)), *subject]


def unpack_subject(row: Packed) -> Any:
    """Return the subject from which `pack_subject` made this JSON."""
    return _SUBJECTS[row[0]](*row[1:])


def pack_row(row: LastingRow) -> Packed:
    """Return a row of history as JSON."""
    return [_ROWS.index(type(row)), *row]


def unpack_row(packed: Packed) -> Any:
    """Return the row from which `pack_row` made this JSON."""
    make: Any = _ROWS[packed[0]]
    return make(*(tuple(value) if isinstance(value, list) else value for value in packed[1:]))


def _member(name: str, member: Member) -> Packed:
    """Return a member as JSON; of a classic group's only the id, because the group's value has the rest."""
    return name if isinstance(member.metadata, MemberMetadata) else [name, *map(_packed, member)]


def _restored_members(rows: list[Packed], value: GroupMetadataValue | None) -> Iterator[tuple[str, Member]]:
    classic = members_of(value) if value else {}
    for row in rows:
        if isinstance(row, str):
            yield row, classic[row]
        else:
            name, *parts = row
            yield name, Member(*map(_unpacked, parts))


def pack_commit(commit: CommittedOffset) -> list[Packed]:
    """Return a commit as JSON."""
    topic_id = commit.topic_id.hex if commit.topic_id else None
    return [*commit[:5], topic_id, commit.log_offset]


def unpack_commit(*facts: Packed) -> CommittedOffset:
    """Return the commit from which `pack_commit` made these JSON values."""
    *first, topic_id, log_offset = facts
    return CommittedOffset._make((*first, UUID(topic_id) if topic_id else None, log_offset))


_VALUE_CLASSES: Final = (MemberMetadata, Value)


def pack_group(group: Group) -> list[Packed]:
    """Return a group as JSON, without its members."""
    *facts, expressions = group
    packed = [_packed(value) if isinstance(value, _VALUE_CLASSES) else value for value in facts]
    return [*packed, [[text, _packed(value)] for text, value in expressions]]


def unpack_group(row: list[Packed]) -> Group:
    """Return the group from which `pack_group` made this JSON."""
    *facts, expressions = row
    resolved = tuple((text, _unpacked(value)) for text, value in expressions)
    group = Group._make((*map(_unpacked, facts), resolved))
    return group._replace(kind=GroupKind(group.kind), state=GroupState(group.state))


def _restored_transaction(row: Packed) -> Transaction:
    *facts, groups, commits = row
    return Transaction._make((*facts, tuple(groups), commits))


def _packed(value: Packed) -> Packed:
    """Return a group record's value as its type and bytes, a classic member as such a value; all else unchanged."""
    if isinstance(value, MemberMetadata):
        return [_packed(_group_of(value))]
    if not isinstance(value, Value):
        return value
    return [_TYPE_OF[type(value.data)], base64.b64encode(encode_value(value)).decode("ascii")]


def _group_of(member: MemberMetadata) -> Value:
    alone = GroupMetadataValue(protocol_type="", generation=0, protocol=None, leader=None, members=(member,))
    return Value(_MEMBER_VERSION, "", alone)


def _unpacked(value: Packed) -> Packed:
    if not isinstance(value, list):
        return value
    if len(value) == 1:
        (member,) = _unpacked(value[0]).data.members
        return member
    type_id, text = value
    return decode_value(RECORD_TYPES[type_id], base64.b64decode(text, validate=True))

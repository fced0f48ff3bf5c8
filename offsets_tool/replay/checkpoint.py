"""A coordinator at a position of its log, as bytes and back: replay from there is replay from the start.

JSON in ASCII, compressed by gzip, whose checksum tells damage: nothing that runs when it is read, wherever it lay. Group records
are kept as their encoded bytes, texts with every byte that they had, and what has an order keeps it. Knows nothing about files.
"""

import base64
import gzip
import json
import zlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from uuid import UUID

from offsets_tool.errors import DecodeError, SourceError
from offsets_tool.events import Value, decode_value, encode_value
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.classic import GroupMetadataValue, MemberMetadata
from offsets_tool.replay.changes import (
    CommittedOffset,
    Group,
    GroupKind,
    GroupState,
    Member,
    OffsetOf,
    PendingCommit,
    TopicPartition,
    Transaction,
    classic_value,
)
from offsets_tool.replay.classic import members_of
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.state import State

VERSION: Final = 1

_FORMAT: Final = "offsets-tool checkpoint"
_LEVEL: Final = 1
_TYPE_OF: Final = {layout.value: type_.id for type_ in RECORD_TYPES.values() for layout in type_.layouts}
_REMEDY: Final = "replay the log from its start without it, and save it again"

Json = Any


class Checkpoint(NamedTuple):
    """A coordinator that has replayed all below `position`, an offset of its log partition, and nothing from there on."""

    coordinator: Coordinator
    position: int


def save(coordinator: Coordinator, position: int) -> bytes:
    """The coordinator and where it goes on."""
    state = coordinator.state
    body = {
        "format": _FORMAT,
        "version": VERSION,
        "position": position,
        "log_partition": coordinator.log_partition,
        "rules": coordinator.rules,
        "auto": coordinator.auto,
        "proved_at": coordinator.proved_at,
        "differed_at": coordinator.differed_at,
        "offsets": {
            group: [[*at, *_commit(commit)] for at, commit in offsets.items()]
            for group, offsets in state.offsets.items()
        },
        "groups": [_group(group) for group in state.groups.values()],
        "members": {
            group: [_member(name, member) for name, member in members.items()]
            for group, members in state.members.items()
        },
        "pending": [
            [producer, *offset, waiting.deleted_at, *_commit(waiting.commit)]
            for producer, commits in state.pending.items()
            for offset, waiting in commits.items()
        ],
        "transactions": list(state.transactions.values()),
    }
    text = json.dumps(body, separators=(",", ":")).encode("ascii")
    return gzip.compress(text, _LEVEL, mtime=0)


def restore(data: bytes, source: str = "checkpoint") -> Checkpoint:
    """What `save` was given. SourceError, with `source` as the path, for what this release did not save or what is damaged."""
    body = _body(data, source)
    try:
        return Checkpoint(_coordinator(body), int(body["position"]))
    except (DecodeError, KeyError, TypeError, ValueError) as error:
        reason = f"a checkpoint whose content is not what its version says ({error}); {_REMEDY}"
        raise SourceError(source, reason) from error


def _body(data: bytes, source: str) -> dict[str, Json]:
    try:
        body = json.loads(gzip.decompress(data))
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise SourceError(source, f"not a checkpoint, or a damaged one ({error}); {_REMEDY}") from error
    if not isinstance(body, dict) or body.get("format") != _FORMAT:
        raise SourceError(source, f"JSON, but not a checkpoint; {_REMEDY}")
    if body.get("version") != VERSION:
        told = f"a checkpoint of version {body.get('version')}; this release knows {VERSION}"
        raise SourceError(source, f"{told}: {_REMEDY}")
    return body


def _coordinator(body: dict[str, Json]) -> Coordinator:
    rules = Rules(body["rules"])
    made = Coordinator(body["log_partition"], None if body["auto"] else rules, _state(body))
    made.rules, made.proved_at, made.differed_at = rules, body["proved_at"], body["differed_at"]
    return made


def _state(body: dict[str, Json]) -> State:
    state = State()
    for group, rows in body["offsets"].items():
        state.offsets[group] = {
            TopicPartition(topic, partition): _restored_commit(*commit) for topic, partition, *commit in rows
        }
    for row in body["groups"]:
        restored = _restored_group(row)
        state.groups[restored.group] = restored
    for name, rows in body["members"].items():
        state.members[name] = dict(_restored_members(rows, classic_value(state.groups[name])))
    for producer, group, topic, partition, deleted_at, *commit in body["pending"]:
        waiting = PendingCommit(_restored_commit(*commit), deleted_at)
        state.pending.setdefault(producer, {})[OffsetOf(group, topic, partition)] = waiting
    for *facts, groups, commits in body["transactions"]:
        state.transactions[facts[0]] = Transaction._make((*facts, tuple(groups), commits))
    return state


def _member(name: str, member: Member) -> Json:
    """A classic group's member is in the group's value: its id will do."""
    return name if isinstance(member.metadata, MemberMetadata) else [name, *map(_packed, member)]


def _restored_members(rows: list[Json], value: GroupMetadataValue | None) -> Iterator[tuple[str, Member]]:
    classic = members_of(value) if value else {}
    for row in rows:
        if isinstance(row, str):
            yield row, classic[row]
        else:
            name, *parts = row
            yield name, Member(*map(_unpacked, parts))


def _commit(commit: CommittedOffset) -> list[Json]:
    topic_id = commit.topic_id.hex if commit.topic_id else None
    return [*commit[:5], topic_id, commit.log_offset]


def _restored_commit(*facts: Json) -> CommittedOffset:
    *first, topic_id, log_offset = facts
    return CommittedOffset._make((*first, UUID(topic_id) if topic_id else None, log_offset))


def _group(group: Group) -> list[Json]:
    *facts, expressions = group
    return [*map(_packed, facts), [[text, _packed(value)] for text, value in expressions]]


def _restored_group(row: list[Json]) -> Group:
    *facts, expressions = row
    resolved = tuple((text, _unpacked(value)) for text, value in expressions)
    group = Group._make((*map(_unpacked, facts), resolved))
    return group._replace(kind=GroupKind(group.kind), state=GroupState(group.state))


def _packed(value: Json) -> Json:
    """A group record's value as its type and its bytes; all else as it is."""
    if not isinstance(value, Value):
        return value
    return [_TYPE_OF[type(value.data)], base64.b64encode(encode_value(value)).decode("ascii")]


def _unpacked(value: Json) -> Json:
    if not isinstance(value, list):
        return value
    type_id, text = value
    return decode_value(RECORD_TYPES[type_id], base64.b64decode(text, validate=True))

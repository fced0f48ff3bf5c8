"""Stories: what was written to a log, in Kafka's words, and what its coordinator believes then, under either rules.

Every word becomes bytes by the declarations, a story becomes a segment of v2 batches, and the checks read that segment: nothing
is handed past the readers. Tables of stories are in tests/replay/stories; Kafka's own test is named where a case is Kafka's.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

from offsets_tool.events import Event, Key, Value, decode, encode_key, encode_value
from offsets_tool.log.segment import read_segment
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.classic import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from offsets_tool.records.offsets import LegacyOffsetCommitKey, OffsetCommitKey, OffsetCommitValue
from offsets_tool.replay.changes import Subject
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import BatchRead
from offsets_tool.wire.schema import ZERO_UUID
from tests.log.encoded_batches import record, v2

COMMITTED_AT: Final = 1_700_000_000_000
LOG_PARTITION: Final = 7
BOTH: Final = (Rules.CLASSIC, Rules.NEW)
ONLY_NEW: Final = (Rules.NEW,)

ASKED: Final = {Rules.CLASSIC: "3.9.2", Rules.NEW: "4.2.1"}
"""Whose loader judges a story. 4.3 begins groups at epoch 1 where all before begin at 0, until a record says it (KAFKA-20268)."""
NOT_ASKED: Final[Mapping[Rules, str]] = {}

_NO_PRODUCER: Final = -1
_TRANSACTIONAL, _CONTROL = 0x10, 0x20
_TYPE_OF: Final = {each.key: each for each in RECORD_TYPES.values()}


class StoryRecord(NamedTuple):
    """A record without its log offset; `attributes` are those of its batch."""

    key: bytes | None
    value: bytes | None
    producer_id: int = _NO_PRODUCER
    attributes: int = 0


StoryEvent = StoryRecord | tuple[StoryRecord, ...]
"""A record in a batch of its own, or what one batch holds; nothing: a control batch of one offset without its record."""


class At(NamedTuple):
    """A commit as a story expects it: what was committed, and the log offset of its record."""

    committed_offset: int
    log_offset: int
    leader_epoch: int = -1
    metadata: str = ""
    expire_timestamp: int = -1
    topic_id: UUID | None = None
    commit_timestamp: int = COMMITTED_AT
    deleted_at: int | None = None


class Open(NamedTuple):
    """An open transaction: first and last log offset, groups, number of commits."""

    first: int
    last: int
    groups: tuple[str, ...]
    commits: int


class Anomaly(NamedTuple):
    """An expected anomaly: its log offset, its subject, and words of its note."""

    log_offset: int
    subject: Subject
    why: str


@dataclass(frozen=True, kw_only=True)
class Picture:
    """The state that a story expects, in full; groups and members in the words of tests/replay/picture.py."""

    offsets: dict[tuple[str, str, int], At]
    pending: dict[tuple[int, str, str, int], At]
    transactions: dict[int, Open]
    groups: dict[str, str]
    members: dict[str, dict[str, str]]
    anomalies: tuple[Anomaly, ...]


@dataclass(frozen=True, kw_only=True)
class Story:
    """Records, and the state expected after them; `classic` is given where the classic rules lead to another state.

    `asked` are the releases whose loader has to end there too; where one is left out, the table says why.
    """

    name: str
    events: tuple[StoryEvent, ...]
    new: Picture
    classic: Picture | None = None
    rules: tuple[Rules, ...] = BOTH
    asked: Mapping[Rules, str] = field(default_factory=lambda: ASKED)

    def __str__(self) -> str:
        return self.name

    def expected(self, rules: Rules) -> Picture:
        """Return the state expected under these rules."""
        return self.classic if self.classic is not None and rules is Rules.CLASSIC else self.new


def believed(**parts: Any) -> Picture:
    """Return a Picture with these parts; all others are empty."""
    nothing: dict[str, Any] = {
        "offsets": {},
        "pending": {},
        "transactions": {},
        "groups": {},
        "members": {},
        "anomalies": (),
    }
    return Picture(**(nothing | parts))


def record_of(key: Any, value: Any, version: int = 0, **batch: int) -> StoryRecord:
    """Return a record of a key and a value, given as their declared classes."""
    key_bytes = encode_key(Key(_TYPE_OF[type(key)], key))
    return StoryRecord(key_bytes, encode_value(Value(version, "", value)), **batch)


def tombstone_of(key: Any, **batch: int) -> StoryRecord:
    """Return the tombstone of a key, given as its declared class."""
    return StoryRecord(encode_key(Key(_TYPE_OF[type(key)], key)), None, **batch)


def commit(group: str, topic: str, partition: int, offset: int, **more: Any) -> StoryRecord:
    """Return a commit, of the version that its fields need: 4 with a topic id, 1 with an expiry, else 3.

    Beside fields of OffsetCommitValue, `more` may have `legacy` (a key of type 0), `version`, `producer_id`, `attributes`.
    """
    key_type = LegacyOffsetCommitKey if more.pop("legacy", False) else OffsetCommitKey
    batch = {name: more.pop(name) for name in ("producer_id", "attributes") if name in more}
    version = more.pop("version", 4 if "topic_id" in more else 1 if "expire_timestamp" in more else 3)
    said = {"leader_epoch": -1, "metadata": "", "commit_timestamp": COMMITTED_AT, "topic_id": ZERO_UUID}
    value = OffsetCommitValue(offset=offset, **(said | more))
    return record_of(key_type(group=group, topic=topic, partition=partition), value, version, **batch)


def txn_commit(
    producer_id: int, group: str, topic: str, partition: int, offset: int, **more: Any
) -> StoryRecord:
    """Return a commit in a producer's transaction."""
    return commit(group, topic, partition, offset, producer_id=producer_id, attributes=_TRANSACTIONAL, **more)


def tombstone(group: str, topic: str, partition: int, **batch: int) -> StoryRecord:
    """Return the tombstone of a committed offset."""
    return tombstone_of(OffsetCommitKey(group=group, topic=topic, partition=partition), **batch)


def txn_tombstone(producer_id: int, group: str, topic: str, partition: int) -> StoryRecord:
    """Return the tombstone of a committed offset in a producer's transaction."""
    return tombstone(group, topic, partition, producer_id=producer_id, attributes=_TRANSACTIONAL)


def marker(type_id: int, producer_id: int = _NO_PRODUCER) -> StoryRecord:
    """Return a control record of any type."""
    key = bytes((0, 0, 0, type_id))
    return StoryRecord(key, bytes(6), producer_id, _CONTROL | _TRANSACTIONAL)


def commit_marker(producer_id: int) -> StoryRecord:
    """Return the marker that commits a producer's transaction."""
    return marker(1, producer_id)


def abort_marker(producer_id: int) -> StoryRecord:
    """Return the marker that aborts a producer's transaction."""
    return marker(0, producer_id)


def member(member_id: str, **more: Any) -> MemberMetadata:
    """Return a member of a classic group's record."""
    said: dict[str, Any] = {
        "group_instance_id": None,
        "client_id": "client",
        "client_host": "host",
        "rebalance_timeout": 9000,
        "session_timeout": 4000,
        "subscription": b"",
        "assignment": b"",
    }
    return MemberMetadata(member_id=member_id, **(said | more))


def group_metadata(group: str, generation: int, *members: MemberMetadata, **more: Any) -> StoryRecord:
    """Return a classic group's record, with these members, or Empty."""
    said: dict[str, Any] = {"protocol_type": "consumer", "protocol": None, "leader": None}
    if members:
        said |= {"protocol": "range", "leader": members[0].member_id}
    version = more.pop("version", 3)
    said |= {"current_state_timestamp": COMMITTED_AT if version >= 2 else -1} | more
    value = GroupMetadataValue(generation=generation, members=members, **said)
    return record_of(GroupMetadataKey(group=group), value, version)


def group_tombstone(group: str) -> StoryRecord:
    """Return the tombstone of the GroupMetadata of a group."""
    return tombstone_of(GroupMetadataKey(group=group))


def segment(story: Story) -> bytes:
    """Return a story as a segment of v2 batches; timestamps rise by one with the log offset."""
    batches = [(each,) if isinstance(each, StoryRecord) else each for each in story.events]
    starts = itertools.accumulate((max(len(batch), 1) for batch in batches), initial=0)
    return b"".join(_batch(*each) for each in zip(starts, batches, strict=False))


def _batch(base_offset: int, content: tuple[StoryRecord, ...]) -> bytes:
    if not content:
        return v2(base_offset, [], attributes=_CONTROL | _TRANSACTIONAL)
    first = content[0]
    records = [record(at, each.key, each.value, at) for at, each in enumerate(content)]
    has_producer = first.producer_id != _NO_PRODUCER
    return v2(
        base_offset,
        records,
        attributes=first.attributes,
        base_timestamp=base_offset,
        max_timestamp=base_offset + len(content) - 1,
        producer=(first.producer_id, 0, 0) if has_producer else (-1, -1, -1),
    )


def events_of(story: Story, folder: Path) -> list[Event]:
    """Return the events of a story, written to a segment in `folder` and read again."""
    path = folder / "00000000000000000000.log"
    path.write_bytes(segment(story))
    return list(_events(path))


def _events(path: Path) -> Iterator[Event]:
    for item in read_segment(path, log_partition=LOG_PARTITION):
        assert isinstance(item, BatchRead), item
        assert item.unreadable is None
        yield from map(decode, item.records)

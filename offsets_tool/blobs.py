"""What is inside the blobs of a group's members: bytes -> the client's own protocol, chosen by protocol type and assignor.

A blob that cannot be read never fails its record: it is a Blob with a `problem`, or, where no format is known for it, opaque.
Kafka itself never parses most of these; the readers are those of the clients that wrote them. Brokers read one thing, the topics
in a consumer's subscription, by version 0, which every version begins with: `consumer_subscription` does, and all others ask it.
"""

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

from offsets_tool.errors import DecodeError
from offsets_tool.records import embedded
from offsets_tool.records.classic import GroupMetadataValue, MemberMetadata
from offsets_tool.records.consumer import ConsumerGroupMemberMetadataValue
from offsets_tool.wire import walk
from offsets_tool.wire.cursor import Cursor
from offsets_tool.wire.json import Json, JsonObject, to_json
from offsets_tool.wire.schema import Message, schema_of

M = TypeVar("M")

_KEPT: Final = 1 << 14
"""Distinct blobs whose JSON is remembered: from one rebalance to the next most members keep theirs."""


class Blob(NamedTuple):
    """One decoded blob. `path` names the field it lies in, as in `members[0].subscription.userData`.

    `data` is the message, or plain JSON for Schema Registry, or None when it is opaque or unreadable; `size` is in bytes. `layout`
    is the version whose fields `data` has where it could not be read as the `version` that it says.
    """

    path: str
    format: str
    version: int | None
    data: Message | Json
    size: int
    problem: str | None = None
    layout: int | None = None

    def json(self) -> JsonObject:
        """Return the blob as a JSON object, its message in Kafka's JSON shape, texts as they were decoded."""
        data = self.data
        if data is not None and self.version is not None and hasattr(type(data), "__schema__"):
            data = to_json(data, self.version if self.layout is None else self.layout, texts=str)
        row = {"path": self.path, "format": self.format, "version": self.version, "data": data}
        return row | {"problem": self.problem} if self.problem else row


Reader = Callable[[bytes], tuple[int | None, Message | Json]]


def blobs_of(value: object, member_id: str = "") -> Iterator[Blob]:
    """Yield all blobs in a record's value, each followed by those nested in it; nothing for a value without blobs."""
    if isinstance(value, GroupMetadataValue):
        for index, member in enumerate(value.members):
            yield from _classic_member(value, member, f"members[{index}]")
    elif isinstance(value, ConsumerGroupMemberMetadataValue) and value.classic_member_metadata is not None:
        for index, offered in enumerate(value.classic_member_metadata.supported_protocols):
            path = f"classicMemberMetadata.supportedProtocols[{index}].metadata"
            yield from _consumer(path, offered.name, offered.metadata, embedded.ConsumerProtocolSubscription)


def blobs_json(value: object) -> list[JsonObject]:
    """Return all blobs in a record's value as JSON objects, nested ones after the one they lie in.

    The objects are shared with other calls, so they are to be read and not to be changed.
    """
    if not isinstance(value, GroupMetadataValue):
        return [blob.json() for blob in blobs_of(value)]
    return [
        row | {"path": f"members[{index}].{field}{row['path']}"}
        for index, member in enumerate(value.members)
        for field, data in (("subscription", member.subscription), ("assignment", member.assignment))
        for row in _known_json(value.protocol_type, value.protocol or "", field, data)
    ]


@lru_cache(_KEPT)
def _known_json(protocol_type: str, protocol: str, field: str, data: bytes) -> tuple[JsonObject, ...]:
    """Return a member's blob and those nested in it as JSON; their paths begin after the field."""
    read = _PROTOCOL_TYPES.get(protocol_type, _opaque)
    return tuple(blob.json() for blob in read("", protocol, data, field))


def consumer_assignment(data: bytes) -> embedded.ConsumerProtocolAssignment | None:
    """Decode what a classic consumer was assigned; None for bytes that are not of the consumer protocol."""
    return _consumer_message(data, embedded.ConsumerProtocolAssignment)


def consumer_subscription(data: bytes) -> embedded.ConsumerProtocolSubscription | None:
    """Decode what a classic consumer subscribed to; None for bytes whose topics brokers cannot read either.

    What does not read as the version that it says has the fields of version 0 alone: see `has_cut_subscription`.
    """
    return _consumer_message(data, embedded.ConsumerProtocolSubscription)


def has_cut_subscription(data: bytes) -> bool:
    """Return whether a subscription reads as version 0 alone, though it says another: what the member owned is not known then.

    Old sarama-cluster and segmentio/kafka-go say version 1 and end after the topics' user data.
    """
    blob = _read("", "", data, _CONSUMER_READERS[embedded.ConsumerProtocolSubscription])
    return blob.layout is not None


def subscription_user_data(protocol: str, data: bytes) -> Message | None:
    """Decode the user data that an assignor added to a consumer's subscription; None if there is none, or none that reads.

    `protocol` is the assignor's name, `data` the whole subscription.
    """
    nested = list(_consumer("", protocol, data, embedded.ConsumerProtocolSubscription))[1:]
    found = nested[0].data if nested else None
    return found if hasattr(type(found), "__schema__") else None


def _consumer_message(data: bytes, cls: type[M]) -> M | None:
    blob = _read("", cls.__name__, data, _CONSUMER_READERS[cls]) if data else None
    return blob.data if blob is not None and isinstance(blob.data, cls) else None


def _classic_member(group: GroupMetadataValue, member: MemberMetadata, path: str) -> Iterator[Blob]:
    protocol = group.protocol or ""
    for field, data in (("subscription", member.subscription), ("assignment", member.assignment)):
        read = _PROTOCOL_TYPES.get(group.protocol_type, _opaque)
        yield from read(f"{path}.{field}", protocol, data, field)


def _read(path: str, format_: str, data: bytes, reader: Reader) -> Blob:
    """Return a blob that `reader` has decoded; its `problem` names bytes that are left over or cannot be read."""
    try:
        version, message = reader(data)
    except DecodeError as error:
        return Blob(path, format_, None, None, len(data), str(error))
    if isinstance(message, _Odd):
        return Blob(path, format_, version, message.message, len(data), message.problem, message.layout)
    return Blob(path, format_, version, message, len(data))


class _Odd(NamedTuple):
    """A message that reads, and what is wrong about its bytes; `layout` as in Blob."""

    message: Message
    problem: str
    layout: int | None = None


def _message(cls: type, prefix: Callable[[Cursor], int], *, clamp: bool = False) -> Reader:
    """Return a reader of a message behind a version prefix; with `clamp`, a newer version is read as the newest known one."""
    known = schema_of(cls).versions

    def read(data: bytes) -> tuple[int, Message]:
        cursor = Cursor(data)
        version = prefix(cursor)
        effective = min(version, known.high) if clamp else version
        if effective not in known:
            raise DecodeError(f"unknown version {version} of {cls.__name__}")
        return version, _whole(cls, effective, data, cursor.position)

    return read


def _whole(cls: type, version: int, data: bytes, position: int) -> Message:
    decoded = walk.decode(cls, version, data, position)
    left = len(data) - decoded.end
    return _Odd(decoded.message, f"{left} trailing byte(s)") if left else decoded.message


def _subscription(data: bytes) -> tuple[int | None, Message | Json]:
    """Read a subscription by the version that it says, else as version 0, as brokers do (ClassicGroup.computeSubscribedTopics)."""
    cls = embedded.ConsumerProtocolSubscription
    try:
        return _message(cls, Cursor.int16, clamp=True)(data)
    except DecodeError as error:
        try:
            cursor = Cursor(data)
            version = cursor.int16()
            message = walk.decode(cls, 0, data, cursor.position).message
        except DecodeError:
            raise error from None
        return version, _Odd(message, f"read as version 0, as brokers do: {error}", layout=0)


def _sticky(data: bytes) -> tuple[int, Message]:
    """Read a sticky assignor's user data, which has no version: as version 1 if it reads, else as 0 (StickyAssignor.memberData)."""
    try:
        return 1, _whole(embedded.StickyUserData, 1, data, 0)
    except DecodeError:
        return 0, _whole(embedded.StickyUserData, 0, data, 0)


def _cooperative_sticky(data: bytes) -> tuple[int, Message]:
    return 0, _whole(embedded.CooperativeStickyUserData, 0, data, 0)


def _json_text(data: bytes) -> tuple[None, Json]:
    try:
        return None, json.loads(data)
    except ValueError as error:
        raise DecodeError(f"not JSON: {error}") from None


# What a consumer's user data is, by assignor: for the subscription, for the assignment.
_USER_DATA: dict[str, dict[type, tuple[str, Reader]]] = {
    "sticky": {embedded.ConsumerProtocolSubscription: ("StickyUserData", _sticky)},
    "cooperative-sticky": {
        embedded.ConsumerProtocolSubscription: ("CooperativeStickyUserData", _cooperative_sticky)
    },
    "stream": {
        embedded.ConsumerProtocolSubscription: (
            "SubscriptionInfo",
            _message(embedded.SubscriptionInfo, Cursor.int32),
        ),
        embedded.ConsumerProtocolAssignment: (
            "AssignmentInfo",
            _message(embedded.AssignmentInfo, Cursor.int32),
        ),
    },
}


_CONSUMER_READERS: Final[dict[type, Reader]] = {
    embedded.ConsumerProtocolSubscription: _subscription,
    embedded.ConsumerProtocolAssignment: _message(
        embedded.ConsumerProtocolAssignment, Cursor.int16, clamp=True
    ),
}


def _consumer(path: str, protocol: str, data: bytes, cls: type) -> Iterator[Blob]:
    if not data:
        return
    blob = _read(path, cls.__name__, data, _CONSUMER_READERS[cls])
    yield blob
    user_data = getattr(blob.data, "user_data", None)
    if user_data:
        format_, reader = _USER_DATA.get(protocol, {}).get(cls, ("opaque", _nothing))
        yield _read(f"{path}.userData", format_, user_data, reader)


def _nothing(data: bytes) -> tuple[None, None]:
    """Return no format and no message, for bytes whose format is not known."""
    return None, None


def _consumer_member(path: str, protocol: str, data: bytes, field: str) -> Iterator[Blob]:
    subscription = field == "subscription"
    cls: type = embedded.ConsumerProtocolSubscription if subscription else embedded.ConsumerProtocolAssignment
    yield from _consumer(path, protocol, data, cls)


def _connect(path: str, protocol: str, data: bytes, field: str) -> Iterator[Blob]:
    if not data:
        return
    cls: type = embedded.ConnectWorkerMetadata if field == "subscription" else embedded.ConnectAssignment
    blob = _read(path, cls.__name__, data, _message(cls, Cursor.int16))
    yield blob
    allocation = getattr(blob.data, "allocation", None)
    if allocation:
        reader = _message(embedded.ConnectAssignment, Cursor.int16)
        yield _read(f"{path}.allocation", "ConnectAssignment", allocation, reader)


def _schema_registry(path: str, protocol: str, data: bytes, field: str) -> Iterator[Blob]:
    if data:
        yield _read(path, "SchemaRegistry", data, _json_text)


def _opaque(path: str, protocol: str, data: bytes, field: str) -> Iterator[Blob]:
    if data:
        yield _read(path, "opaque", data, _nothing)


_PROTOCOL_TYPES: dict[str, Callable[[str, str, bytes, str], Iterator[Blob]]] = {
    "consumer": _consumer_member,
    "connect": _connect,
    "sr": _schema_registry,
}

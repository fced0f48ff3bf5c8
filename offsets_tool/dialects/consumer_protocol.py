"""The consumer protocol's blobs (subscription, assignment) as each release's ConsumerProtocol reads them.

A version from the future is read as the newest one the release knows. Knows nothing about members and groups.
"""

from collections.abc import Iterator
from typing import Any, Final

from offsets_tool.dialects import knowledge
from offsets_tool.dialects.versions import Release, Table, newest
from offsets_tool.errors import DecodeError
from offsets_tool.records.embedded import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from offsets_tool.wire import walk

_GENERATED_CLASSES: Final = (2, 7)
_VERSIONS: Final[Table[int]] = (((0, 9), 0), ((2, 4), 1), ((3, 4), 3))
_UNDERFLOW: Final = "null"


class Unparsable(DecodeError):
    """What Kafka raises as SchemaException, and in some places catches."""


def read_subscription(data: bytes, release: Release) -> tuple[int, Any]:
    """A subscription and the version it was read as."""
    return _read(ConsumerProtocolSubscription, "subscription", data, release)


def read_assignment(data: bytes, release: Release) -> tuple[int, Any]:
    """An assignment and the version it was read as."""
    return _read(ConsumerProtocolAssignment, "assignment", data, release)


def _read(cls: type, what: str, data: bytes, release: Release) -> tuple[int, Any]:
    version = _version(data, what)
    version = min(version, newest(_VERSIONS, release))
    return version, _decode(cls, what, version, data)


def _version(data: bytes, what: str) -> int:
    try:
        version = knowledge.prefix(data)
    except DecodeError as error:
        text = "Buffer underflow while parsing consumer protocol's header"
        raise Unparsable(error.reason, kafka=text) from None
    if version < 0:
        text = f"Unsupported {what} version: {version}"
        raise Unparsable(text)
    return version


def _decode(cls: type, what: str, version: int, data: bytes) -> Any:
    try:
        return walk.decode(cls, version, data, 2).message
    except DecodeError as error:
        if error.kafka != _UNDERFLOW:
            raise
        text = f"Buffer underflow while parsing consumer protocol's {what}"
        raise Unparsable(error.reason, error.position, error.path, text) from None


def refused_subscription(data: bytes, release: Release) -> Iterator[str]:
    """What Kafka's GroupMetadata.computeSubscribedTopics throws for a member's subscription, if it does.

    It reads version 0, which every version begins with, and forgives what it calls a SchemaException: until 2.6 any failure.
    """
    if release < _GENERATED_CLASSES or len(data) < 2:
        return
    try:
        _decode(ConsumerProtocolSubscription, "subscription", 0, data)
    except Unparsable:
        return
    except DecodeError as error:
        yield error.kafka

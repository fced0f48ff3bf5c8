"""The consumer protocol's blobs (subscription, assignment) as each release's ConsumerProtocol reads them.

A version from the future is read as the newest one the release knows. Knows nothing about members and groups.
"""

import re
from collections.abc import Iterable
from typing import Final

from offsets_tool.dialects import knowledge
from offsets_tool.dialects.refusals import UNDERFLOW, generated_words, schema_words
from offsets_tool.dialects.versions import ByRelease, newest
from offsets_tool.errors import DecodeError
from offsets_tool.records.embedded import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from offsets_tool.wire import walk
from offsets_tool.wire.json import Release
from offsets_tool.wire.schema import Message

_GENERATED_CLASSES: Final = (2, 7)
_NAMES_ASSIGNMENTS: Final = (2, 4)
_VERSIONS: Final[ByRelease[int]] = (((0, 9), 0), ((2, 4), 1), ((3, 4), 3))
_SLICE: Final = re.compile(r"Error reading byte array of (\d+) byte\(s\): only (\d+) byte\(s\) available")
_OLD_NAMES: Final = {"assigned_partitions": "topic_partitions"}


class Unparsable(DecodeError):
    """Bytes for which Kafka raises a SchemaException, which it forgives in some places."""


def read_assignment(data: bytes, release: Release) -> ConsumerProtocolAssignment:
    """Return an assignment as ConsumerProtocol.deserializeAssignment reads it; DecodeError, in Kafka's words, where it refuses."""
    version = _version(data, release)
    if version < 0:
        what = "assignment" if release >= _NAMES_ASSIGNMENTS else "subscription"
        raise Unparsable(f"Unsupported {what} version: {version}")
    version = min(version, newest(_VERSIONS, release))
    read: ConsumerProtocolAssignment = _decode(
        ConsumerProtocolAssignment, "assignment", version, data, release
    )
    return read


def _version(data: bytes, release: Release) -> int:
    try:
        return knowledge.prefix(data)
    except DecodeError as error:
        text = "Buffer underflow while parsing consumer protocol's header"
        if release < _GENERATED_CLASSES:
            text = "Error reading field 'version': java.nio.BufferUnderflowException"
        raise Unparsable(error.reason, kafka=text) from None


def _decode(cls: type, what: str, version: int, data: bytes, release: Release) -> Message:
    try:
        return walk.decode(cls, version, data, 2).message
    except DecodeError as error:
        if release < _GENERATED_CLASSES:
            text = schema_words(error, cls, data, release, _OLD_NAMES)
        elif sizes := _SLICE.fullmatch(error.kafka if error.path == "user_data" else ""):
            # User data is not copied but sliced, and java.nio refuses a slice in its own words (Java 9 and later).
            text = f"newLimit > capacity: ({sizes[1]} > {sizes[2]})"
            raise DecodeError(error.reason, error.position, error.path, text) from None
        elif (text := generated_words(error, release)) != UNDERFLOW:
            raise
        else:
            text = f"Buffer underflow while parsing consumer protocol's {what}"
        raise Unparsable(error.reason, error.position, error.path, text) from None


def refused_subscription(subscriptions: Iterable[bytes], release: Release) -> str | None:
    """Return what Kafka's GroupMetadata.computeSubscribedTopics throws for the members' subscriptions; None if it does not.

    It reads version 0, which every version begins with. At the first SchemaException (until 2.6: the first failure) it gives
    up without a word, whatever the members after it hold.
    """
    try:
        for data in subscriptions:
            _version(data, release)
            _decode(ConsumerProtocolSubscription, "subscription", 0, data, release)
    except Unparsable:
        return None
    except DecodeError as error:
        return error.kafka
    return None

"""Kafka's CoordinatorRecordSerde: one record, decoded as the group coordinator of a release decodes it.

Every refusal is a DecodeError whose `kafka` is that class's sentence. Knows nothing about formatters and dumps.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from offsets_tool.dialects import knowledge
from offsets_tool.dialects.unknown_versions import read_any_version
from offsets_tool.errors import DecodeError
from offsets_tool.wire.json import Release
from offsets_tool.wire.schema import Message

_CHECKS_VALUE_VERSIONS: Final = (4, 0)
"""KAFKA-18672; before, an unknown version was read as far as its bytes allowed."""


class UnknownRecordType(DecodeError):
    """A record type that the release does not know."""

    def __init__(self, type_id: int) -> None:
        super().__init__(f"unknown record type {type_id}", kafka=f"Found an unknown record type {type_id}")
        self.type_id = type_id


class CoordinatorRecord(NamedTuple):
    """A decoded record; `value` and `version` are None for a tombstone."""

    type_id: int
    key: Message
    version: int | None
    value: Message


def deserialize(key: bytes, value: bytes | None, release: Release) -> CoordinatorRecord:
    """Return a record as a release's serde reads it; UnknownRecordType, or DecodeError for everything else that Kafka refuses."""
    type_id = _prefix(key, "key")
    if not knowledge.knows(type_id, release):
        raise UnknownRecordType(type_id)
    key_data = _read("key", type_id, lambda: knowledge.read_key(type_id, release, key))
    if value is None:
        return CoordinatorRecord(type_id, key_data, None, None)
    version = _prefix(value, "value")
    if release >= _CHECKS_VALUE_VERSIONS and not knowledge.reads_version(type_id, release, version):
        text = f"Found an unknown record version {version} for {type_id} type"
        raise DecodeError(f"unknown value version {version}", kafka=text)
    data = _read(
        "value", version, lambda: read_any_version(knowledge.value_class(type_id, release), version, value)
    )
    return CoordinatorRecord(type_id, key_data, version, data)


def _prefix(data: bytes, name: str) -> int:
    try:
        return knowledge.prefix(data)
    except DecodeError as error:
        raise DecodeError(error.reason, kafka=f"Could not read version from {name}'s buffer.") from None


def _read(name: str, version: int, read: Callable[[], Message]) -> Message:
    try:
        return read()
    except DecodeError as error:
        text = f"Could not read record with version {version} from {name}'s buffer due to: {error.kafka}."
        raise DecodeError(error.reason, error.position, error.path, text) from error

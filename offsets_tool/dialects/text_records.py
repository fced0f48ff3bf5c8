"""How the tools of 0.8.2 to 3.9 read a record for their text: keys of type 0 to 2, offset commits, group metadata.

Up to 2.7 by hand-written schemas, from 2.8 on by generated classes: they accept the same bytes and refuse the rest in other words.
Source: Kafka's OffsetManager (0.8.2) and GroupMetadataManager (readMessageKey, readOffsetMessageValue, readGroupMessageValue).
"""

from typing import Final, NamedTuple

from offsets_tool.dialects import knowledge
from offsets_tool.dialects.output import Output
from offsets_tool.dialects.refusals import generated_words, schema_words, trace_head
from offsets_tool.dialects.versions import ByRelease, newest
from offsets_tool.errors import DecodeError
from offsets_tool.records.kinds import CLASSIC_TYPES, GROUP_METADATA, OFFSET_COMMIT, RECORD_TYPES
from offsets_tool.wire.json import Release
from offsets_tool.wire.schema import Message

_GENERATED_CLASSES: Final = (2, 8)
_NAMES_OF_VERSION_0: Final = {"commit_timestamp": "timestamp"}


class TextKey(NamedTuple):
    """A key of an offset commit or of group metadata."""

    type_id: int
    data: Message


class _Words(NamedTuple):
    """The words of a release about a number that it does not know; None where it says nothing."""

    key: str | None
    offset_commit: str
    group_metadata: str


_SCHEMA: Final = "Unknown offset schema version {}"
_GROUP_SCHEMA: Final = "Unknown group metadata version {}"
_OFFSET_MESSAGE: Final = "Unknown offset message version: {}"
_GROUP_MESSAGE: Final = "Unknown group metadata message version: {}"
_WORDS: Final[ByRelease[_Words]] = (
    ((0, 8), _Words(_SCHEMA, _SCHEMA, _GROUP_SCHEMA)),
    ((2, 4), _Words("Unknown message key schema version {}", _SCHEMA, _GROUP_SCHEMA)),
    ((2, 8), _Words(_GROUP_MESSAGE, _OFFSET_MESSAGE, _GROUP_MESSAGE)),
    # KIP-915: a record type from the future is skipped.
    ((3, 4, 1), _Words(None, _OFFSET_MESSAGE, _GROUP_MESSAGE)),
)


class TextReader:
    """Reads as one release does; every refusal is a DecodeError in its words."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._words = newest(_WORDS, release)

    def key(self, data: bytes) -> TextKey | None:
        """Return a key; None for an unknown record type where the release takes no notice of it."""
        type_id = self._prefix(data)
        if type_id not in CLASSIC_TYPES or not knowledge.knows(type_id, self._release):
            if self._words.key is None:
                return None
            raise _unknown(self._words.key, type_id)
        try:
            return TextKey(type_id, knowledge.read_key(type_id, self._release, data))
        except DecodeError as error:
            raise self._refusal(error, RECORD_TYPES[type_id].key, data) from error

    def offset_commit(self, data: bytes) -> tuple[int, Message]:
        """Return the version and the value of an offset commit, whatever the key's type."""
        return self._value(OFFSET_COMMIT, data, self._words.offset_commit)

    def group_metadata(self, data: bytes) -> tuple[int, Message]:
        """Return the version and the value of a group metadata record."""
        return self._value(GROUP_METADATA, data, self._words.group_metadata)

    def _value(self, type_id: int, data: bytes, unknown: str) -> tuple[int, Message]:
        version = self._prefix(data)
        if not knowledge.reads_version(type_id, self._release, version):
            raise _unknown(unknown, version)
        try:
            return version, knowledge.read_value(type_id, self._release, version, data)
        except DecodeError as error:
            renamed = {} if version else _NAMES_OF_VERSION_0
            cls = RECORD_TYPES[type_id].layouts[0].value
            raise self._refusal(error, cls, data, renamed) from error

    def _prefix(self, data: bytes) -> int:
        try:
            return knowledge.prefix(data)
        except DecodeError as error:
            raise DecodeError(error.reason, kafka=trace_head(error.kafka)) from None

    def _refusal(
        self, error: DecodeError, cls: type, data: bytes, renamed: dict[str, str] | None = None
    ) -> DecodeError:
        if self._release < _GENERATED_CLASSES:
            text = schema_words(error, cls, data, self._release, renamed)
        else:
            text = trace_head(generated_words(error, self._release))
        return DecodeError(error.reason, error.position, error.path, text)


def _unknown(text: str, number: int) -> DecodeError:
    return DecodeError(f"unknown number {number}", kafka=text.format(number))


def line(key: str, value: str) -> Output:
    """Return a line as the text formatters write it."""
    return Output(f"{key}::{value}\n".encode())

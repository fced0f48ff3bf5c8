"""The text formatter of offset commits, 0.8.2 to 3.9: `[group,topic,partition]::value`, one line a record.

Strings are printed raw, whatever they hold. Source: Kafka's OffsetManager (0.8.2), GroupMetadataManager, OffsetAndMetadata.
"""

from collections.abc import Callable
from typing import Final

from offsets_tool.dialects.output import NOTHING, Output
from offsets_tool.dialects.scala import option
from offsets_tool.dialects.text_records import TextReader, line
from offsets_tool.dialects.versions import ByRelease, newest
from offsets_tool.errors import DecodeError
from offsets_tool.records.kinds import COMMITS
from offsets_tool.records.offsets import OffsetCommitValue
from offsets_tool.rows import LogRecord
from offsets_tool.wire.json import Release
from offsets_tool.wire.schema import Message
from offsets_tool.wire.text import java_text

_NO_TIMESTAMP: Final = -1
_PRINTS_NULL_KEYS: Final = (0, 9)
"""Before, a record without a key was printed too."""


class TextOffsetsFormatter:
    """OffsetsMessageFormatter of one release."""

    def __init__(self, release: Release) -> None:
        self._prints_null_keys = release < _PRINTS_NULL_KEYS
        self._reader = TextReader(release)
        self._show = newest(_SHOWN, release)

    def text(self, text: str) -> str:
        return java_text(text)

    def format(self, record: LogRecord) -> Output:
        try:
            return self._format(record)
        except DecodeError as error:
            return Output(error=error.kafka)

    def _format(self, record: LogRecord) -> Output:
        if record.key is None:
            return self._line("NULL", record) if self._prints_null_keys else NOTHING
        key = self._reader.key(record.key)
        if key is None or key.type_id not in COMMITS:
            return NOTHING
        data = key.data
        return self._line(f"[{java_text(data.group)},{java_text(data.topic)},{data.partition}]", record)

    def _line(self, key: str, record: LogRecord) -> Output:
        if record.value is None:
            return line(key, "NULL")
        version, value = self._reader.offset_commit(record.value)
        return line(key, self._show(version, value))


PrintCommit = Callable[[int, Message], str]


def _metadata_082(metadata: str) -> str:
    return java_text(metadata) or "NO_METADATA"


def _show_082(_: int, value: OffsetCommitValue) -> str:
    timestamp = "" if value.commit_timestamp == _NO_TIMESTAMP else f",{value.commit_timestamp}"
    return f"OffsetAndMetadata[{value.offset},{_metadata_082(value.metadata)}{timestamp}]"


def _show_09(_: int, value: OffsetCommitValue) -> str:
    return (
        f"[OffsetMetadata[{value.offset},{_metadata_082(value.metadata)}],"
        f"CommitTime {value.commit_timestamp},ExpirationTime {value.expire_timestamp}]"
    )


def _show_21(version: int, value: OffsetCommitValue) -> str:
    # KAFKA-8069: -1 was not yet read as "no explicit expiry".
    expire_timestamp = value.expire_timestamp if version == 1 else None
    return _show(value, value.leader_epoch >= 0, expire_timestamp)


def _show_22(_: int, value: OffsetCommitValue) -> str:
    return _show(value, value.leader_epoch >= 0, _expiry(value))


def _show_28(_: int, value: OffsetCommitValue) -> str:
    return _show(value, value.leader_epoch != -1, _expiry(value))


def _expiry(value: OffsetCommitValue) -> int | None:
    return None if value.expire_timestamp == _NO_TIMESTAMP else value.expire_timestamp


def _show(value: OffsetCommitValue, has_epoch: bool, expire_timestamp: int | None) -> str:
    leader_epoch = f"Optional[{value.leader_epoch}]" if has_epoch else "Optional.empty"
    return (
        f"OffsetAndMetadata(offset={value.offset}, leaderEpoch={leader_epoch}, metadata={java_text(value.metadata)}, "
        f"commitTimestamp={value.commit_timestamp}, expireTimestamp={option(expire_timestamp)})"
    )


_SHOWN: Final[ByRelease[PrintCommit]] = (
    ((0, 8), _show_082),
    ((0, 9), _show_09),
    ((2, 1), _show_21),
    ((2, 2), _show_22),
    ((2, 8), _show_28),
)

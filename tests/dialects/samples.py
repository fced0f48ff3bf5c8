"""Small records to print: made once from the declarations, labelled in Kafka's words."""

import struct
from typing import Any

from offsets_tool.dialects import Output, formatter
from offsets_tool.records.classic import GroupMetadataValue, MemberMetadata
from offsets_tool.records.embedded import ConsumerProtocolAssignment, TopicPartitionNames
from offsets_tool.records.offsets import OffsetCommitKey, OffsetCommitValue
from offsets_tool.rows import LogRecord
from offsets_tool.wire import walk


def label(number: int, message: Any, version: int = 0) -> bytes:
    return struct.pack(">h", number) + walk.encode(message, version)


COMMIT_KEY = label(1, OffsetCommitKey(group="g", topic="t", partition=5))
LEGACY_KEY = b"\0\0" + COMMIT_KEY[2:]
GROUP_KEY = b"\0\x02\0\x01g"
FUTURE_KEY = b"\0\x63\0\x01g"
"""Record type 99."""


def commit(version: int, **fields: Any) -> bytes:
    value = OffsetCommitValue(**{"offset": 10, "metadata": "m", "commit_timestamp": 1000} | fields)
    return label(version, value, version)


def member(name: str = "m1", **fields: Any) -> MemberMetadata:
    defaults = {
        "member_id": name,
        "client_id": "c",
        "client_host": "/h",
        "rebalance_timeout": 60,
        "session_timeout": 30,
        "subscription": b"",
        "assignment": b"",
    }
    return MemberMetadata(**defaults | fields)


def group(version: int, *members: MemberMetadata, **fields: Any) -> bytes:
    defaults = {"protocol_type": "consumer", "generation": 3, "protocol": "range", "leader": "m1"}
    return label(version, GroupMetadataValue(**defaults | fields, members=members), version)


def assignment(user_data: bytes | None = None) -> bytes:
    topics = (
        TopicPartitionNames(topic="t", partitions=(0, 1)),
        TopicPartitionNames(topic="u", partitions=(7,)),
    )
    return label(0, ConsumerProtocolAssignment(assigned_partitions=topics, user_data=user_data))


def record(key: bytes | None, value: bytes | None, offset: int = 7) -> LogRecord:
    return LogRecord(source="here", log_partition=0, log_offset=offset, timestamp=0, key=key, value=value)


def printed(name: str, version: str, key: bytes | None, value: bytes | None) -> Output:
    return formatter(name, version).format(record(key, value))


def text(release: str, key: bytes | None, value: bytes | None, kind: str = "offsets") -> str:
    """Return what a formatter prints of a record; nothing may be thrown."""
    output = printed(kind, release, key, value)
    assert output.error is None
    return output.text.decode()


def threw(release: str, key: bytes | None, value: bytes | None, kind: str = "offsets") -> str:
    """Return the message of what a formatter throws for a record; nothing may be printed."""
    output = printed(kind, release, key, value)
    assert output.text == b"" and output.error is not None
    return output.error

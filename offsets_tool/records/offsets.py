"""Offset commits: record types 0 (Kafka 0.8.2) and 1 (0.9 and later). Declarations only."""

from offsets_tool.wire.schema import (
    ZERO_UUID,
    Int32,
    Int64,
    String,
    Uuid,
    message,
    since,
)


@message()
class LegacyOffsetCommitKey:
    """A group's position in one partition, as 0.8.2 keyed it."""

    group: String
    topic: String
    partition: Int32


@message()
class OffsetCommitKey:
    """A group's position in one partition."""

    group: String
    topic: String
    partition: Int32


@message(versions="0-4", flexible="4+")
class OffsetCommitValue:
    """The position a group committed in one partition."""

    offset: Int64
    leader_epoch: Int32 = since("3+", default=-1)
    metadata: String
    commit_timestamp: Int64
    expire_timestamp: Int64 = since("1", default=-1)
    topic_id: Uuid = since("4+", tag=0, default=ZERO_UUID, release="4.1")

"""Our own nouns, in the order of the staircase: LogRecord, then Event.

A row is a frozen record of facts with no behaviour beyond naming what it holds, and no dependency on Arrow: the column
forms are derived from these classes. Kafka's millisecond fields stay int64 under Kafka's name; -1 means what Kafka means by it.
None means that the source cannot know (an archive without batch headers), never "zero".
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

Row: TypeAlias = dict[str, Any]
"""A row of a table, by the names of its columns: of an archive, a table of a lake, or an answer that is printed."""

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1


class Codec(StrEnum):
    """Compression of a batch, by Kafka's CompressionType names."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"
    UNKNOWN = "unknown"
    """An id from 5 to 7, which Kafka refuses too."""


class TimestampType(StrEnum):
    """Kafka's TimestampType: who set the record's time. Magic 0 has none."""

    NO_TIMESTAMP = "NoTimestampType"
    CREATE_TIME = "CreateTime"
    LOG_APPEND_TIME = "LogAppendTime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The header of one record batch (magic 2), or of one message with what it wraps (magic 0 and 1).

    Offsets are of `__consumer_offsets`. For magic 0 and 1 `base_offset` is the first inner message's offset and
    `last_offset` the wrapper's own. `count` is the number of records the header (magic 2) or the content (0, 1) has.
    """

    position: int
    size: int
    magic: int
    codec: Codec
    crc: int
    crc_valid: bool
    base_offset: int
    last_offset: int
    timestamp_type: TimestampType
    base_timestamp: int
    max_timestamp: int
    count: int
    partition_leader_epoch: int = -1
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    is_control: bool = False
    delete_horizon_ms: int | None = None


class Header(NamedTuple):
    """A record header (magic 2)."""

    key: bytes
    value: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """One record with its position in the log, key and value undecoded.

    `source` is the file, archive or cluster it was read from. `batch` is None where the source keeps no batch headers
    (archives); then the facts below it that are not known are None.

    >>> record = LogRecord(source="mine", log_partition=7, log_offset=0, timestamp=0, key=None, value=None)
    >>> record.log_partition, record.is_control
    (7, False)
    """

    source: str
    log_partition: int | None
    log_offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    timestamp_type: TimestampType | None = None
    headers: tuple[Header, ...] = ()
    producer_id: int | None = None
    producer_epoch: int | None = None
    sequence: int | None = None
    is_transactional: bool | None = None
    is_control: bool = False
    crc: int | None = None
    """The checksum of a magic 0 or 1 message itself (inside a wrapper too); None for magic 2."""
    crc_valid: bool | None = None
    """Whether `crc` is right; None where there is none."""
    batch: Batch | None = None
    misplaced: str | None = None
    """Why it cannot stand at `log_offset`; None where nothing speaks against it. Where it belongs is not known then."""


class Absence(NamedTuple):
    """A key that a copy no longer has, though it covers the offset at which another copy still has a value of the key.

    The cleaner removes a value only for a newer record of its key. So the key was deleted, or written again and then deleted,
    after that record and before `absent_by`; no copy has the record that did it.
    """

    log_partition: int | None
    key: bytes
    absent_by: int
    """The log offset by which the copy had been compacted, or ended."""
    newest_timestamp: int
    """The newest time of the records before `absent_by`, in epoch milliseconds; -1 without one."""
    copy: str
    """The copy that proves it."""
    producer_id: int | None = None
    """The producer whose transaction the last record is in, if what is gone is a pending commit: the transaction has ended."""


class Misplacement(NamedTuple):
    """Why a batch, or a record of it, cannot have the offset that it says."""

    reason: str
    goes_back: bool
    """Whether the batch does not begin after those before it."""


class UnreadableKind(StrEnum):
    """Why bytes are unreadable, for programs; `Unreadable.reason` says it to a person."""

    TORN_TAIL = "torn tail"
    """The file ends inside its last batch: a live log may still be growing, a crash leaves it so."""
    ZERO_TAIL = "zero tail"
    """Nothing but zeros up to the end of the file: preallocated, or lost by a crash."""
    CRC = "crc"
    """A batch stands between its neighbours, but its checksum is wrong."""
    DAMAGE = "damage"
    """No batch can be proved in these bytes."""
    CONTENT = "content"
    """The checksum is right, and yet the records cannot be decompressed or parsed."""

    @property
    def is_tail(self) -> bool:
        """Whether these bytes are the usual end of a log, after which nothing can depend on what they held."""
        return self in (UnreadableKind.TORN_TAIL, UnreadableKind.ZERO_TAIL)


class Unreadable(NamedTuple):
    """Bytes of a file that hold no batch that can be proved: damage, a torn or zero-filled tail. Nothing is dropped without one."""

    source: str
    position: int
    size: int
    reason: str
    kind: UnreadableKind = UnreadableKind.DAMAGE


class BatchRead(NamedTuple):
    """One batch and all its records; `records` is empty and `unreadable` says why when the content cannot be read.

    `misplaced` says why the batch, or its first such record, cannot have the offset that it says; such records say so too.
    """

    batch: Batch
    records: tuple[LogRecord, ...]
    unreadable: Unreadable | None = None
    misplaced: Misplacement | None = None

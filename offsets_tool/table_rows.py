"""One row of each table that an ingest writes, column by column: type, whether it may be null, and a sentence for the operator.

The only declaration of these columns: Arrow, Parquet, Delta and Spark types and the tables' comments are derived from it
(wire.arrow, offsets_tool.lake.tables). Null means one thing a column, and its sentence says which. No dependency on Arrow.
"""

from datetime import datetime
from typing import Annotated, NamedTuple

from offsets_tool.rows import Header
from offsets_tool.wire.schema import Bytes, Int8, Int16, Int32, Int64, String

Cluster = Annotated[String, "Name of the cluster: --cluster, else the id in meta.properties, else empty."]
Source = Annotated[
    String,
    "What was read: the file's absolute path (tar!/member in a tar); with #2, #3 ... when it was rewritten since.",
]
LogPartition = Annotated[
    Int32 | None,
    "Partition of __consumer_offsets; null where neither directory, archive nor --log-partition says it.",
]
LogOffset = Annotated[Int64, "Offset in that partition of __consumer_offsets."]
Timestamp = Annotated[Int64, "When the record was written, epoch milliseconds; -1 if it has no time."]
TimestampType = Annotated[
    String | None, "CreateTime, LogAppendTime or NoTimestampType; null if an archive does not say."
]
BaseOffset = Annotated[
    Int64 | None, "First offset of the batch that holds the record; null in an archive without batches."
]
PartitionLeaderEpoch = Annotated[
    Int32 | None, "Leader epoch of the broker that wrote the batch; -1 before magic 2, null in an archive."
]
ProducerId = Annotated[
    Int64 | None, "Producer id of the batch; -1 for none, null if an archive does not say."
]
ProducerEpoch = Annotated[
    Int16 | None, "Epoch of that producer id; -1 for none, null if an archive does not say."
]
Sequence = Annotated[
    Int32 | None, "Sequence number of the record; -1 for none, null if an archive does not say."
]
IsTransactional = Annotated[
    bool | None, "Whether the batch belongs to a transaction; null if an archive does not say."
]
IsControl = Annotated[bool, "Whether this is a control record: a transaction's marker, no data."]
Misplaced = Annotated[
    String | None,
    "Why the record cannot stand at log_offset, by its neighbours or the segment's name: replays leave it out; else null.",
]
Run = Annotated[Int64, "The ingest that brought the row; it counts once sources has that run."]


class LogRow(NamedTuple):
    """A record of __consumer_offsets as it lay in the log: its place, its batch, its raw key and value."""

    cluster: Cluster
    source: Source
    log_partition: LogPartition
    log_offset: LogOffset
    timestamp: Timestamp
    timestamp_type: TimestampType
    batch_position: Annotated[
        Int64 | None, "Byte of the (decompressed) file at which the batch begins; null in an archive."
    ]
    base_offset: BaseOffset
    last_offset: Annotated[
        Int64 | None, "Last offset of the batch, also after compaction; null in an archive."
    ]
    magic: Annotated[Int8 | None, "Format of the batch: 0, 1 or 2; null in an archive."]
    codec: Annotated[
        String | None, "Compression of the batch: none, gzip, snappy, lz4, zstd; null in an archive."
    ]
    partition_leader_epoch: PartitionLeaderEpoch
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    base_sequence: Annotated[
        Int32 | None, "First sequence number of the batch; -1 for none, null in an archive."
    ]
    sequence: Sequence
    is_transactional: IsTransactional
    is_control: IsControl
    delete_horizon_ms: Annotated[
        Int64 | None, "When the cleaner may drop the batch's tombstones, epoch milliseconds; null if not set."
    ]
    misplaced: Misplaced
    headers: Annotated[tuple[Header, ...], "The record's headers, in order; empty if it has none."]
    key: Annotated[Bytes | None, "The raw key; null if the record has none."]
    value: Annotated[Bytes | None, "The raw value; null in a tombstone."]
    run: Run


class EventRow(NamedTuple):
    """A record of __consumer_offsets decoded: what was committed, or which group's record was written or deleted."""

    cluster: Cluster
    source: Source
    log_partition: LogPartition
    log_offset: LogOffset
    timestamp: Timestamp
    timestamp_type: TimestampType
    base_offset: BaseOffset
    partition_leader_epoch: PartitionLeaderEpoch
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    sequence: Sequence
    is_transactional: IsTransactional
    is_control: IsControl
    misplaced: Misplaced
    control: Annotated[
        String | None,
        "COMMIT, ABORT or another control record's type; null in data and if it cannot be read.",
    ]
    coordinator_epoch: Annotated[
        Int32 | None, "Epoch of the transaction coordinator that wrote a COMMIT or ABORT; else null."
    ]
    record_type: Annotated[
        Int16 | None, "Number the key begins with: 0 and 1 offset commits, 2 groups ...; null without one."
    ]
    record_name: Annotated[
        String | None, "Kafka's name of that record type, as OffsetCommit; null if the key cannot be read."
    ]
    is_tombstone: Annotated[bool, "Whether the record deletes its key (a null value)."]
    group: Annotated[String | None, "The group; null in control records and if the key cannot be read."]
    topic: Annotated[String | None, "Topic of an offset commit or its tombstone; null in other records."]
    partition: Annotated[Int32 | None, "Partition of that topic; null in other records."]
    member_id: Annotated[
        String | None, "Member that a group's record is about; null in records about no member."
    ]
    regular_expression: Annotated[
        String | None, "Subscription pattern that a type 16 record is about; else null."
    ]
    value_version: Annotated[
        Int16 | None, "Version the value begins with; null in a tombstone and without one."
    ]
    layout: Annotated[
        String | None, "First Kafka release with the layout the value was read with; null if not read."
    ]
    committed_offset: Annotated[Int64 | None, "The committed position; null in all but readable commits."]
    leader_epoch: Annotated[
        Int32 | None, "Leader epoch given with the commit; -1 if none was; null as committed_offset."
    ]
    metadata: Annotated[
        String | None, "Text the client added to the commit; empty if none; null as committed_offset."
    ]
    commit_timestamp: Annotated[
        Int64 | None, "Time in the commit, epoch milliseconds; null as committed_offset."
    ]
    expire_timestamp: Annotated[
        Int64 | None, "Explicit expiry, epoch milliseconds; -1 if none; null as committed_offset."
    ]
    topic_id: Annotated[
        String | None, "Id of the topic; AAAAAAAAAAAAAAAAAAAAAA if not given; null as committed_offset."
    ]
    value_json: Annotated[
        String | None,
        "The value in Kafka's JSON, for all but commits (and commits with unknown tags); null if there is none.",
    ]
    problem: Annotated[String | None, "What is wrong with the bytes, though some may be readable; else null."]
    kept_raw: Annotated[
        String | None, "Why key or value stay undecoded, in a few words to count by; null if decoded."
    ]
    run: Run


class ReasonCount(NamedTuple):
    """Records that stayed undecoded for one reason."""

    reason: String
    records: Int64


class UnreadableRange(NamedTuple):
    """Bytes of the file that hold no record that can be read."""

    position: Int64
    size: Int64
    kind: String
    reason: String


class EpochRun(NamedTuple):
    """Batches of one leader epoch that follow each other: the offset of the first, and their number."""

    leader_epoch: Int32
    start_offset: Int64
    batches: Int64


class ArchivedRange(NamedTuple):
    """A log partition of which an archive has records, with the lowest and the highest offset of these."""

    log_partition: Int32 | None
    first_offset: Int64
    last_offset: Int64


class SourceRow(NamedTuple):
    """A file, or a range of its bytes, that an ingest read, and where every byte and record of it went. The rows of a run
    are written last: they make the run's rows in the other tables count."""

    cluster: Cluster
    source: Source
    log_partition: LogPartition
    base_offset: Annotated[Int64 | None, "Offset in the file's name; null if its name is not one of Kafka's."]
    path: Annotated[String, "The file's absolute path; a tar's for what lies in one."]
    member: Annotated[String, "The file's name in its tar; empty outside of one."]
    generation: Annotated[Int32, "1, and one more each time that the file was found rewritten."]
    kind: Annotated[String, "log, deleted, cleaned or swap, by the file's suffix; archive for an archive."]
    directory: Annotated[
        String, "The copy it belongs to: the data directory around the partition's; empty in an archive."
    ]
    same_as: Annotated[
        String | None,
        "The source that has the range's rows in log and events, as these bytes were known from it; null if this one has them.",
    ]
    fate: Annotated[
        String, "delete, future or stray if Kafka had renamed the partition's directory so; else empty."
    ]
    broker_id: Annotated[Int32 | None, "From meta.properties; null without one."]
    file_size: Annotated[Int64, "Bytes of the file on disk when it was read."]
    file_modified_at: Annotated[datetime, "When the file had last been modified."]
    edges_sha256: Annotated[
        String,
        "SHA-256 of the first and the last 64 KiB of the file on disk: size and time may say that nothing changed.",
    ]
    range_start: Annotated[Int64, "First byte of the (decompressed) file that this row is about."]
    range_end: Annotated[Int64, "The byte after the last one; the next ingest goes on here."]
    bytes: Annotated[Int64, "Bytes between the two: in batches or unreadable."]
    bytes_in_batches: Annotated[Int64, "Bytes of the batches that were read; of an archive, of its rows."]
    bytes_unreadable: Annotated[Int64, "Bytes that hold no record that can be read, named in unreadable."]
    tail_bytes: Annotated[
        Int64, "Bytes after range_end that hold no complete batch yet; the next ingest looks again."
    ]
    tail_kind: Annotated[
        String | None, "torn tail, zero tail or damage: what these bytes are; null if there are none."
    ]
    batches: Annotated[Int64, "Batches, readable or not; 0 in an archive."]
    empty_batches: Annotated[Int64, "Batches that compaction left without records."]
    out_of_order_batches: Annotated[Int64, "Misplaced batches that do not begin after those before them."]
    misplaced_batches: Annotated[
        Int64, "Batches that cannot stand where they say, or with such records: log.misplaced says why."
    ]
    misplaced_records: Annotated[Int64, "Records in them that are misplaced."]
    first_misplaced_offset: Annotated[
        Int64 | None, "Lowest offset that a misplaced batch says it has; null without one."
    ]
    records: Annotated[
        Int64, "Records of the range, all of them in log and events (under same_as, if it is set)."
    ]
    decoded_records: Annotated[Int64, "Records with key and value decoded, tombstones too."]
    raw_records: Annotated[
        Int64, "Records whose key or value could not be decoded; the raw bytes are in log."
    ]
    control_records: Annotated[Int64, "Control records."]
    foreign_rows: Annotated[Int64, "Rows of an archive that belong to other topics or partitions."]
    records_unreadable: Annotated[Int64, "Records that unreadable batches said they had."]
    kept_raw_reasons: Annotated[tuple[ReasonCount, ...], "Why records were kept raw, counted by reason."]
    unreadable: Annotated[tuple[UnreadableRange, ...], "The unreadable ranges, in order."]
    first_offset: Annotated[
        Int64 | None, "Lowest offset of the batches, or of an archive's records; null without any."
    ]
    last_offset: Annotated[
        Int64 | None, "Highest offset of the batches, or of an archive's records; null without any."
    ]
    min_timestamp: Annotated[Int64 | None, "Earliest record time, epoch milliseconds; null without records."]
    max_timestamp: Annotated[Int64 | None, "Latest record time, epoch milliseconds; null without records."]
    magics: Annotated[tuple[Int8, ...], "Formats of the batches: 0, 1, 2."]
    codecs: Annotated[tuple[String, ...], "Compressions of the batches."]
    leader_epochs: Annotated[
        tuple[EpochRun, ...], "Leader epochs of batches with records, in their order; empty in an archive."
    ]
    archived: Annotated[
        tuple[ArchivedRange, ...], "Partitions of which an archive has records; empty for a segment."
    ]
    sha256: Annotated[
        String,
        "SHA-256 of bytes range_start to range_end; of the file on disk if it is compressed or an archive.",
    ]
    file_sha256: Annotated[
        String | None, "SHA-256 of the whole file on disk; null if it was read in more than one piece."
    ]
    run: Run
    ingested_at: Annotated[datetime, "When the ingest began."]
    dropped_records: Annotated[
        Int64 | None, "Records of the range that retain has since taken out of log and events; null if none."
    ] = None

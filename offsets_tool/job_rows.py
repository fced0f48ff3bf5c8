"""The rows of the lake's small tables: copies, topic names, replays, end samples, and the input of derived rows.

They are declared as rows of records and files are (table_rows); rows of histories, lag and expiry are declared beside their rules.
"""

from datetime import datetime
from typing import Annotated, Final, NamedTuple

from offsets_tool.table_rows import Cluster, LogPartition, Run
from offsets_tool.wire.schema import Int32, Int64, String
from offsets_tool.wire.times import UtcTime

ReplayRun = Annotated[Int64, "The replay that wrote the row."]


class EpochStartRow(NamedTuple):
    """The first offset of a leader epoch."""

    leader_epoch: Int32
    start_offset: Int64


class CopyRow(NamedTuple):
    """A copy of a log partition as an ingest found it: its files, and what Kafka's checkpoint files beside them said. A copy
    whose files were rewritten or joined by others since has a row for each time."""

    cluster: Cluster
    copy: Annotated[String, "The data directory around the partition's; of an archive its path."]
    log_partition: LogPartition
    sources: Annotated[
        tuple[String, ...], "The files of the log that were there then, by their names in sources."
    ]
    log_start_offset: Annotated[Int64 | None, "From log-start-offset-checkpoint; null if it does not say."]
    cleaned_to_offset: Annotated[
        Int64 | None,
        "First offset that the cleaner had not reached, by cleaner-offset-checkpoint; null if it does not say.",
    ]
    leader_epochs: Annotated[
        tuple[EpochStartRow, ...], "Lines of leader-epoch-checkpoint; empty without one."
    ]
    cluster_id: Annotated[String | None, "The cluster's id, from meta.properties; null without one."]
    topic_id: Annotated[String | None, "Id of __consumer_offsets, from partition.metadata; null without one."]
    run: Run


SUBSCRIPTIONS: Final = "subscriptions"
"""The method of a TopicNameRow whose name no record or file says: it can be no other topic that members subscribe to."""


class TopicNameRow(NamedTuple):
    """The name of a topic's id in a cluster, and how it is known. An id never changes its name."""

    cluster: Cluster
    topic_id: Annotated[String, "The id as Kafka writes it."]
    topic: Annotated[String, "The topic's name."]
    method: Annotated[
        String,
        "record, directory (partition.metadata) or option (--topic-id) says it; subscriptions: it can be no other topic.",
    ]
    run: ReplayRun


class ReplayRow(NamedTuple):
    """How far a replay has got in one log partition. The latest row of a partition counts; it is written last."""

    cluster: Cluster
    log_partition: LogPartition
    next_log_offset: Annotated[Int64, "The offset after the last record that was replayed."]
    settled_log_offset: Annotated[
        Int64, "What ended before this offset stays as it is; later ends may still be told otherwise."
    ]
    ingest_run: Annotated[Int64, "The last ingest whose rows are in."]
    records: Annotated[Int64, "Records that this replay replayed."]
    is_from_start: Annotated[bool, "Whether it began with the partition's first record, not at a checkpoint."]
    coordinator: Annotated[String, "Whose rules were asked for: auto, classic or new."]
    rules: Annotated[String, "Whose rules hold there: classic or new."]
    proving_log_offset: Annotated[
        Int64 | None, "Offset of the first record that proves the new coordinator; null if none does."
    ]
    differing_log_offset: Annotated[
        Int64 | None, "First offset where both rules differ while nothing proved which hold; null if none."
    ]
    unnamed_topic_ids: Annotated[tuple[String, ...], "Ids of topics that had no name."]
    proven_from_log_offset: Annotated[Int64, "Every record from this offset on is there."]
    copies: Annotated[
        tuple[String, ...], "The copies that were joined; empty where the partition is one log."
    ]
    absences: Annotated[
        Int64, "Keys that were deleted, as copies that were compacted later do not have them."
    ]
    abandoned: Annotated[Int64, "Records that a later leader epoch left behind; they are in no history."]
    first_abandoned_log_offset: Annotated[Int64 | None, "Offset of the first of them; null without one."]
    contradictions: Annotated[
        Int64, "Records left out because another copy has another of their leader epoch at their offset."
    ]
    first_contradicting_log_offset: Annotated[Int64 | None, "Offset of the first of them; null without one."]
    problem: Annotated[
        String | None,
        "Why the partition could not be replayed: its histories are those of before; null if it was.",
    ]
    checkpoint: Annotated[
        String, "File in the lake's folder _checkpoints to go on from; empty if it was never replayed."
    ]
    replayed_at: Annotated[datetime, "When the replay began."]
    run: ReplayRun


DerivedRun = Annotated[Int64, "The job that wrote the row."]


class EndRow(NamedTuple):
    """A sample of a partition's log start and end offset at a time. A sample that is given again is not added again."""

    cluster: Cluster
    topic: Annotated[String, "The topic."]
    partition: Annotated[Int32, "Partition of that topic."]
    observed_at: Annotated[UtcTime | None, "When that was so; null if timestamp is no time of the calendar."]
    timestamp: Annotated[Int64, "When that was so as the source says it, epoch milliseconds."]
    log_start_offset: Annotated[Int64 | None, "Log start offset; null if it was not asked."]
    last_stable_offset: Annotated[
        Int64 | None, "First offset of the oldest open transaction, else the end; null if it was not asked."
    ]
    end_offset: Annotated[Int64 | None, "Offset that the next record gets; null if it was not asked."]
    method: Annotated[String, "sampled: a broker said it; index: the topic's own log does."]
    source: Annotated[String, "The file or the partition's directory that says it."]
    topic_id: Annotated[String | None, "Id of the topic; null if the source does not say it."]
    run: DerivedRun


class DerivationRow(NamedTuple):
    """The input of a cluster's rows in a derived table. The latest row of a cluster and table counts; it is written last."""

    cluster: Cluster
    derived: Annotated[String, "The table: lag, expiry or findings."]
    basis: Annotated[
        String, "JSON: the replay and the other runs whose rows they were made of, and what was asked for."
    ]
    rows: Annotated[Int64, "How many rows the cluster has there."]
    derived_at: Annotated[datetime, "When the job began."]
    run: DerivedRun

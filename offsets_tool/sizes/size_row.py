"""One row of the sizes of a log: whose bytes they are, and what compaction would leave of them."""

from typing import Annotated, NamedTuple

from offsets_tool.table_rows import LogPartition
from offsets_tool.wire.schema import Int64, String


class SizeRow(NamedTuple):
    """The records of a group in one copy of a log partition, or what no group has; what is not of groups is null for these."""

    group: Annotated[String | None, "The group; null for what no group has."]
    part: Annotated[String, "group, markers, empty batches, other records or unreadable."]
    log_partition: LogPartition
    copy: Annotated[String | None, "The copy of the log; null where there is no folder that tells it."]
    records: Annotated[Int64, "Records."]
    bytes: Annotated[Int64, "Their share of the bytes of the segments."]
    share: Annotated[float, "That share of all bytes here, from 0 to 1."]
    keys: Annotated[Int64 | None, "Distinct keys."]
    commit_keys: Annotated[Int64 | None, "Those of them that are of committed offsets."]
    commits: Annotated[Int64 | None, "Commits and their tombstones."]
    commit_tombstones: Annotated[Int64 | None, "Those of them that are tombstones."]
    commit_bytes: Annotated[Int64 | None, "Bytes of commits and their tombstones."]
    group_records: Annotated[Int64 | None, "Records of the group itself."]
    group_record_bytes: Annotated[Int64 | None, "Bytes of these."]
    tombstones: Annotated[Int64 | None, "Records that delete their key."]
    first_timestamp: Annotated[Int64 | None, "Earliest time of a record, epoch milliseconds."]
    last_timestamp: Annotated[Int64 | None, "Latest time of a record, epoch milliseconds."]
    left_now_records: Annotated[
        Int64 | None, "Records that one run of the cleaner would leave; null without segments."
    ]
    left_now_bytes: Annotated[Int64 | None, "Bytes of these."]
    left_records: Annotated[Int64, "Records that stay when everything has been cleaned."]
    left_bytes: Annotated[Int64, "Bytes of these."]
    gone_at_least: Annotated[Int64 | None, "Records that another copy has more; null without another."]
    gone_at_most: Annotated[Int64 | None, "Offsets of this copy that have no record any more."]

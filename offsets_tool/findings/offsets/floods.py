"""Does a group fill the topic: by the number of its commits, by keys that it left, or by the text that it commits with them?"""

from collections.abc import Iterator, Sequence
from typing import Final

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import at_time, count, from_time, named, of_topics, span
from offsets_tool.history.rows import OffsetEndCause, OffsetHistoryRow
from offsets_tool.wire.longs import difference
from offsets_tool.wire.text import encode_text

FLOOD: Final = FindingKind(
    "commit_flood",
    Severity.NOTICE,
    "A group commits each partition more than once a second: it fills the topic and keeps the cleaner busy.",
    "Commit by time, not by record: auto.commit.interval.ms, one commitAsync for many records, or commit.interval.ms of Streams.",
)
METADATA: Final = FindingKind(
    "large_metadata",
    Severity.NOTICE,
    "The text that clients commit with an offset is near the broker's limit, beyond which commits are refused.",
    "Keep state elsewhere, or raise offset.metadata.max.bytes before commits fail.",
)
DEAD: Final = FindingKind(
    "dead_keys",
    Severity.NOTICE,
    "Most keys of a group are dead, their latest records tombstones: brokers still read all of it when they load the partition.",
    "Make sure that the log cleaner runs; look for what commits to so many partitions, or topics, only for a time.",
)
LEAST_COMMITS: Final = 1_000
"""The fewest commits that are a flood: a start or a shutdown makes some quick ones."""
PAUSE_MS: Final = 1_000
"""The usual pause between two commits of a partition below which they are a flood; clients' default is five seconds."""
LEAST_DEAD: Final = 1_000
"""The fewest keys that are many: a topic that is deleted leaves as many as it had partitions."""
METADATA_MAX_BYTES: Final = 4_096
"""Broker's default of offset.metadata.max.bytes."""
NEAR: Final = 0.75
"""The share of that limit from which on it is near."""
_REMOVED: Final = (OffsetEndCause.DELETED, OffsetEndCause.GROUP_DELETED)
_RECORD_BYTES: Final = 100
"""What a commit takes in the log beside its names and its metadata, about: batch, key and value."""


@finder(FLOOD, DEAD, METADATA)
def find_floods(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for a group that commits too often, one for keys that it left, and one for metadata near the limit."""
    offsets, end_causes = rows.offsets, rows.offsets.by_partition.end_causes
    dead = [at for at, end_cause in end_causes.items() if end_cause in _REMOVED]
    commits = offsets.commits
    if len(commits) >= LEAST_COMMITS and (pause := offsets.by_partition.usual_pause()) < PAUSE_MS:
        yield _flood(rows, context, commits, pause, _keys(len(end_causes), len(dead)))
    if len(dead) >= LEAST_DEAD and 2 * len(dead) > len(end_causes):
        yield _dead(rows, offsets.by_partition.last_rows(dead))
    large = offsets.where(offsets.text_bytes("metadata") >= NEAR * METADATA_MAX_BYTES)
    largest = max(large, key=_metadata_bytes, default=None)
    if largest is not None and _metadata_bytes(largest) >= NEAR * METADATA_MAX_BYTES:
        yield _metadata(rows, largest)


def _metadata_bytes(row: OffsetHistoryRow) -> int:
    return len(encode_text(row.metadata))


def _keys(keys: int, dead: int) -> str:
    return count(keys, "key") + (f", {dead:,} of them dead" if dead else "")


def _flood(
    rows: GroupRows, context: LogContext, commits: Sequence[OffsetHistoryRow], pause: float, keys: str
) -> Finding:
    first, last = commits[0], commits[-1]
    took = max(difference(last.from_timestamp, first.from_timestamp), 1)
    texts = rows.offsets.fields("topic", "metadata", where=rows.offsets.is_commit)
    size = len(commits) * (_RECORD_BYTES + len(rows.group))
    size += sum(len(topic) + len(encode_text(metadata)) for topic, metadata in texts)
    share = len(rows.offsets) / max(context.commits, 1)
    return found(
        FLOOD,
        rows,
        Places((first.commit_log_offset, last.commit_log_offset), first.from_timestamp, last.from_timestamp),
        f"Group {named(rows.group)} made {count(len(commits), 'commit')} within {span(took)}, "
        f"{len(commits) * 1000 / took:,.1f} a second, a partition every {span(round(pause))}: {share:.0%} of all commits "
        f"here, about {size / 2**20:,.1f} MiB for {keys}",
    )


def _dead(rows: GroupRows, dead: list[OffsetHistoryRow]) -> Finding:
    first = min(dead, key=lambda row: row.to_log_offset or 0)
    last = max(dead, key=lambda row: row.to_log_offset or 0)
    keys = count(len(rows.offsets.by_partition.end_causes), "key")
    return found(
        DEAD,
        rows,
        Places((last.to_log_offset or 0, first.to_log_offset or 0), first.to_timestamp, last.to_timestamp),
        f"Of {keys} of group {named(rows.group)} {len(dead):,} are dead: their offsets "
        f"{of_topics([row.topic for row in dead])} were removed{from_time(first.to_timestamp)}, "
        "and the records are in the log yet",
    )


def _metadata(rows: GroupRows, row: OffsetHistoryRow) -> Finding:
    size = _metadata_bytes(row)
    return found(
        METADATA,
        rows,
        Places((row.commit_log_offset,), row.from_timestamp, row.from_timestamp),
        f"Group {named(rows.group)} committed topic {named(row.topic)} partition {row.partition} with {size:,} bytes of metadata"
        f"{at_time(row.from_timestamp)}; brokers refuse more than {METADATA_MAX_BYTES:,} by default",
        topic=row.topic,
        partition=row.partition,
    )

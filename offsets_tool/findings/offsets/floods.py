"""Does a group fill the topic: by the number of its commits, or by the text that it commits with them?"""

from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import Final

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import at_time, count, named, span
from offsets_tool.history.rows import OffsetHistoryRow
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
LEAST_COMMITS: Final = 1_000
"""The fewest commits that are a flood: a start or a shutdown makes some quick ones."""
PAUSE_MS: Final = 1_000
"""The usual pause between two commits of a partition below which they are a flood; clients' default is five seconds."""
METADATA_MAX_BYTES: Final = 4_096
"""Broker's default of offset.metadata.max.bytes."""
NEAR: Final = 0.75
"""The share of that limit from which on it is near."""
_RECORD_BYTES: Final = 100
"""What a commit takes in the log beside its names and its metadata, about: batch, key and value."""


@finder(FLOOD, METADATA)
def find_floods(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for a group that commits too often, and one for metadata that is near the limit."""
    if len(rows.commits) >= LEAST_COMMITS and (pause := _usual_pause(rows)) < PAUSE_MS:
        yield _flood(rows, context, pause)
    largest = max(rows.offsets, key=_metadata_bytes, default=None)
    if largest is not None and _metadata_bytes(largest) >= NEAR * METADATA_MAX_BYTES:
        yield _metadata(rows, largest)


def _usual_pause(rows: GroupRows) -> float:
    """Return the usual time between two commits of the busiest partition, milliseconds."""
    commits = max(rows.effective.values(), key=len, default=[])
    pairs = pairwise(row for row in commits if row.from_timestamp >= 0)
    pauses = [difference(after.from_timestamp, before.from_timestamp) for before, after in pairs]
    return median(pauses) if pauses else float(PAUSE_MS)


def _metadata_bytes(row: OffsetHistoryRow) -> int:
    return len(encode_text(row.metadata))


def _flood(rows: GroupRows, context: LogContext, pause: float) -> Finding:
    commits = rows.commits
    first, last = commits[0], commits[-1]
    took = max(difference(last.from_timestamp, first.from_timestamp), 1)
    size = sum(_RECORD_BYTES + len(row.group) + len(row.topic) + _metadata_bytes(row) for row in commits)
    share = len(rows.offsets) / max(context.commits, 1)
    return found(
        FLOOD,
        rows,
        Places((first.commit_log_offset, last.commit_log_offset), first.from_timestamp, last.from_timestamp),
        f"Group {named(rows.group)} made {count(len(commits), 'commit')} within {span(took)}, "
        f"{len(commits) * 1000 / took:,.1f} a second, a partition every {span(round(pause))}: {share:.0%} of all commits "
        f"here, about {size / 2**20:,.1f} MiB",
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

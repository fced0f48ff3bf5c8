"""Does a group fill the topic: by the number of its commits, by keys that it left, or by the text that it commits with them?"""

from array import array
from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

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


class _Commit(NamedTuple):
    """What a flood says of each of its commits: fields of OffsetHistoryRow."""

    commit_log_offset: int
    from_timestamp: int
    topic: str
    metadata: str


_NONE: Final = _Commit(-1, -1, "", "")


class _Commits(NamedTuple):
    """What commits come to, of which there are many."""

    number: int
    first: _Commit
    last: _Commit
    text_bytes: int
    """Bytes of their topics' names and of their metadata, about."""


@finder(FLOOD, DEAD, METADATA)
def find_floods(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for a group that commits too often, one for keys that it left, and one for metadata near the limit."""
    sums = rows.offsets.sums
    keys = rows.last_end_causes
    dead = [at for at, end_cause in keys.items() if end_cause in _REMOVED]
    is_fast = sums.commits >= LEAST_COMMITS and sums.usual_pause < PAUSE_MS
    if is_fast and len(rows.offsets) >= LEAST_COMMITS and (pause := _usual_pause(rows)) < PAUSE_MS:
        commits = _summed(rows)
        if commits.number >= LEAST_COMMITS:
            yield _flood(rows, context, commits, pause, _keys(len(keys), len(dead)))
    if len(dead) >= LEAST_DEAD and 2 * len(dead) > len(keys):
        yield _dead(rows, list(_removed(rows)))
    has_large = sums.metadata_bytes >= NEAR * METADATA_MAX_BYTES
    largest = max(rows.offsets if has_large else (), key=_metadata_bytes, default=None)
    if largest is not None and _metadata_bytes(largest) >= NEAR * METADATA_MAX_BYTES:
        yield _metadata(rows, largest)


def _usual_pause(rows: GroupRows) -> float:
    """Return the usual time between two commits of the busiest partition, milliseconds."""
    pairs = pairwise(row for row in rows.busiest() if row.from_timestamp >= 0)
    pauses = array("q", (difference(after.from_timestamp, before.from_timestamp) for before, after in pairs))
    return median(pauses) if pauses else float(PAUSE_MS)


def _metadata_bytes(row: OffsetHistoryRow) -> int:
    return _text_bytes(row.metadata)


def _text_bytes(text: str) -> int:
    """Return how many bytes a text has in the log."""
    return len(text) if text.isascii() else len(encode_text(text))


def _removed(rows: GroupRows) -> Iterator[OffsetHistoryRow]:
    """Yield the last effective commit of each partition whose offset was removed in the end."""
    for _, commits in rows.effective_where(lambda sums: sums.end_cause in _REMOVED):
        if commits[-1].end_cause in _REMOVED:
            yield commits[-1]


def _keys(keys: int, dead: int) -> str:
    return count(keys, "key") + (f", {dead:,} of them dead" if dead else "")


def _summed(rows: GroupRows) -> _Commits:
    number, size, first, last = 0, 0, _NONE, _NONE
    for last in map(_Commit._make, rows.offsets.commit_fields(*_Commit._fields)):
        first = first if number else last
        number += 1
        size += len(last.topic) + _text_bytes(last.metadata)
    return _Commits(number, first, last, size)


def _flood(rows: GroupRows, context: LogContext, commits: _Commits, pause: float, keys: str) -> Finding:
    first, last = commits.first, commits.last
    took = max(difference(last.from_timestamp, first.from_timestamp), 1)
    size = commits.number * (_RECORD_BYTES + len(rows.group)) + commits.text_bytes
    share = len(rows.offsets) / max(context.commits, 1)
    return found(
        FLOOD,
        rows,
        Places((first.commit_log_offset, last.commit_log_offset), first.from_timestamp, last.from_timestamp),
        f"Group {named(rows.group)} made {count(commits.number, 'commit')} within {span(took)}, "
        f"{commits.number * 1000 / took:,.1f} a second, a partition every {span(round(pause))}: {share:.0%} of all commits "
        f"here, about {size / 2**20:,.1f} MiB for {keys}",
    )


def _dead(rows: GroupRows, dead: list[OffsetHistoryRow]) -> Finding:
    first = min(dead, key=lambda row: row.to_log_offset or 0)
    last = max(dead, key=lambda row: row.to_log_offset or 0)
    return found(
        DEAD,
        rows,
        Places((last.to_log_offset or 0, first.to_log_offset or 0), first.to_timestamp, last.to_timestamp),
        f"Of {count(len(rows.last_end_causes), 'key')} of group {named(rows.group)} {len(dead):,} are dead: their offsets "
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

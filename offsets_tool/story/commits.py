"""Commits in sentences: all commits of one topic between two other events are one sentence.

A commit of a transaction counts from its marker on. Who committed is in no log, so nobody is named.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.sentences import count, in_partitions, named, offsets_text
from offsets_tool.history.rows import OffsetBeginCause, OffsetHistoryRow
from offsets_tool.story.sentence import Sentence, SentenceKind, when

_TOPICS: Final = 3
"""Up to how many topics have a sentence of their own in one stretch of the log."""
_COMMITS: Final = (OffsetBeginCause.COMMIT, OffsetBeginCause.TRANSACTION)


def commit_rows(rows: GroupRows) -> list[OffsetHistoryRow]:
    """Return the commits that the group would have been answered with, in the order in which they began to count."""
    return [row for row in rows.offsets if row.is_effective and row.begin_cause in _COMMITS]


def commit_sentences(
    rows: GroupRows, commits: Iterable[OffsetHistoryRow], boundaries: Sequence[int]
) -> Iterator[Sentence]:
    """Yield sentences on the commits in each stretch between two of `boundaries`, log offsets in ascending order."""
    for _, some in groupby(commits, key=lambda row: bisect_right(boundaries, row.from_log_offset)):
        stretch = list(some)
        by_topic: dict[str, list[OffsetHistoryRow]] = {}
        for row in stretch:
            by_topic.setdefault(row.topic, []).append(row)
        runs = by_topic.values() if len(by_topic) <= _TOPICS else [stretch]
        for run in runs:
            yield commit_sentence(rows, run)


def commit_sentence(rows: GroupRows, run: Sequence[OffsetHistoryRow]) -> Sentence:
    """Return one sentence on some commits, of one topic or of several."""
    first, last = run[0], run[-1]
    topics = {row.topic for row in run}
    partitions = {(row.topic, row.partition) for row in run}
    return Sentence(
        SentenceKind.OFFSETS,
        f"{_how_often(rows, run)} {_where(run, topics)}{_until(run)}{_moved(run, partitions)}"
        f"{_in_transactions(run)}{_begun(rows, run, partitions)}.",
        rows.group,
        rows.log_partition,
        first.from_log_offset,
        last.from_log_offset,
        first.from_timestamp,
        last.from_timestamp if last.from_timestamp > first.from_timestamp else None,
        first.topic if len(topics) == 1 else None,
        first.partition if len(partitions) == 1 else None,
    )


def _is_first(rows: GroupRows, row: OffsetHistoryRow) -> bool:
    """Return whether a commit is the first of its partition; others may have no difference to the one before either."""
    return row.delta is None and row.commit_log_offset not in rows.not_first


def _how_often(rows: GroupRows, run: Sequence[OffsetHistoryRow]) -> str:
    """Return how many commits there are, and call them the first of their partitions where no earlier record is missing."""
    is_first = all(_is_first(rows, row) for row in run) and run[0].from_log_offset >= rows.proven_from
    if len(run) == 1:
        return "First commit" if is_first else "One commit"
    return count(len(run), "first commit" if is_first else "commit")


def _where(run: Sequence[OffsetHistoryRow], topics: Collection[str]) -> str:
    if len(topics) > 1:
        return f"for {len(topics):,} topics"
    return f"for topic {named(run[0].topic)} {in_partitions([row.partition for row in run])}"


def _until(run: Sequence[OffsetHistoryRow]) -> str:
    first, last = run[0].from_timestamp, run[-1].from_timestamp
    return f" until {when(last)}" if first // 1000 != last // 1000 else ""


def _moved(run: Sequence[OffsetHistoryRow], partitions: Collection[tuple[str, int]]) -> str:
    """Return which offsets were the first, from where to where that of one partition moved, or how far several moved in all."""
    if all(row.delta is None for row in run):
        return f": {offsets_text([row.committed_offset for row in run])}"
    if len(partitions) == 1:
        first, last = run[0], run[-1]
        start = first.committed_offset - (first.delta or 0)
        if all(row.committed_offset == start for row in run):
            return f": offset {start:,} again"
        return f": offset {start:,} to {last.committed_offset:,}"
    ahead = [row.delta for row in run if row.delta is not None and row.delta > 0]
    back = [row.delta for row in run if row.delta is not None and row.delta < 0]
    texts = [f"{abs(sum(some)):,} {word}" for some, word in ((ahead, "ahead"), (back, "back")) if some]
    return f": {' and '.join(texts)} in all" if texts else ": nothing moved"


def _begun(rows: GroupRows, run: Sequence[OffsetHistoryRow], partitions: Collection[tuple[str, int]]) -> str:
    """Return at which offsets partitions began, of several that a sentence is about: a sum of steps has no part of that."""
    firsts = [row for row in run if _is_first(rows, row)]
    if len(partitions) == 1 or len(firsts) in (0, len(run)) or run[0].from_log_offset < rows.proven_from:
        return ""
    begun = {(row.topic, row.partition) for row in firsts}
    is_all = len(begun) == len(partitions) or len({topic for topic, _ in partitions}) > 1
    where = "" if is_all else f" {in_partitions([partition for _, partition in begun])}"
    return f"; first commit{'' if len(begun) == 1 else 's'}{where} at {offsets_text([row.committed_offset for row in firsts])}"


def _in_transactions(run: Sequence[OffsetHistoryRow]) -> str:
    markers = {row.from_log_offset for row in run if row.begin_cause == OffsetBeginCause.TRANSACTION}
    if not markers:
        return ""
    return f", in {count(len(markers), 'transaction')}" if len(markers) > 1 else ", in a transaction"

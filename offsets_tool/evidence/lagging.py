"""Lag of committed offsets at a moment: replays what is needed to know the ends, and puts lag beside each offset.

Rules of lag are in offsets_tool.lag; which files and directories tell ends is known by `EndSources`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import Snapshot, Watch
from offsets_tool.as_of.views_describe import described_offsets
from offsets_tool.evidence.ends import EndSources
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.findings.sentences import named
from offsets_tool.lag.bounds import Bounds
from offsets_tool.lag.lag import LagMethod
from offsets_tool.lag.rows import LagRow, lag_row
from offsets_tool.lag.samples import CommitAt
from offsets_tool.log_clock import LogClock, age_at
from offsets_tool.replay.changes import OffsetOf, TopicPartition
from offsets_tool.rows import Row

if TYPE_CHECKING:
    from offsets_tool.relations.moments import WatchRows

LogPlace = tuple[int | None, int]
"""A log partition and an offset in it."""
_KEPT: Final = (
    "group",
    "topic",
    "partition",
    "moment_at",
    "timestamp",
    "committed_offset",
    "log_start_offset",
    "end_offset",
    "is_topic_recreated",
)
"""What is left of a row where compaction took the committed offset."""

SEEN: Final = frozenset({LagMethod.SAMPLED, LagMethod.INDEX, LagMethod.INTERPOLATED})
"""The methods by which an end is known, and not only bounded."""


def replay_for_lag(replay: EvidenceReplay, ends: EndSources, wanted: Wanted) -> Snapshot:
    """Run the replay, add what commits imply of ends to `ends`, and return the snapshot.

    These are all commits of the log where nothing else tells of an end, else the commits that are live at the moment.
    """

    if replay.rows_pay:
        return _replay_rows(replay, ends, wanted)
    bounds = ends.bounds = Bounds()

    def watch(log_partition: int | None) -> Watch:
        bounds.forget(log_partition)
        return lambda _event, changes: bounds.observe(log_partition, changes)

    snapshot = replay.run(None if ends.has_any else watch)
    bounds.is_whole = not (ends.has_any and _knows_all(snapshot, ends, wanted))
    if ends.has_any and bounds.is_whole:
        for p, events in replay.once_more():
            for _, changes in events:
                bounds.observe(p.log_partition, changes)
    return snapshot


def _replay_rows(replay: EvidenceReplay, ends: EndSources, wanted: Wanted) -> Snapshot:
    """Run the replay by rows, and take the ends that commits imply from rows; from changes where rows do not say enough."""
    from offsets_tool.columns.lag.log_commits import LogCommits  # noqa: PLC0415 - with Arrow, where it pays

    log_commits, unsaid = LogCommits(), set[int | None]()

    def watch(log_partition: int | None) -> "WatchRows":
        log_commits.forget(log_partition)
        unsaid.discard(log_partition)
        return lambda rows: None if log_commits.take(log_partition, rows) else unsaid.add(log_partition)

    snapshot = replay.run(watch_rows_of=watch)
    is_needed = not (ends.has_any and _knows_all(snapshot, ends, wanted))
    for p, events in replay.once_more() if is_needed else ():
        if p.log_partition in unsaid:
            log_commits.observe_instead(p.log_partition, (changes for _, changes in events))
    ends.bounds = log_commits if is_needed else LogCommits()
    ends.bounds.is_whole = is_needed
    return snapshot


def _knows_all(snapshot: Snapshot, ends: EndSources, wanted: Wanted) -> bool:
    return all(ends.knows(_topic_partition(row)) for row in described_offsets(snapshot, wanted))


def lag_rows(snapshot: Snapshot, ends: EndSources, wanted: Wanted) -> list[Row]:
    """Return a LagRow, as a dict, of each committed offset and of each partition that is owned without one.

    `is_proven` is False where the log does not prove the committed offset.
    """
    rows = described_offsets(snapshot, wanted)
    find_ends(snapshot, ends, rows)
    return [_row(row, found) for row, found in zip(rows, _lags(rows, ends), strict=True)]


def _lags(rows: list[Row], ends: EndSources) -> Iterator[Row]:
    """Yield the lag of each row: by column what can be, one at a time what cannot."""
    found: list[Row | None] = [None] * len(rows)
    if not isinstance(ends.bounds, Bounds):
        from offsets_tool.columns.lag.at_moment import StandingCommit, lags_at  # noqa: PLC0415 - as LogCommits

        asked = [
            at
            for at, row in enumerate(rows)
            if row["committed_offset"] is not None and not ends.has_log(_topic_partition(row))
        ]
        commits = [
            StandingCommit(rows[at]["group"], _topic_partition(rows[at]), rows[at]["committed_offset"])
            for at in asked
        ]
        samples = {each.partition: ends.samples(each.partition) for each in commits}
        made = lags_at(ends.at, commits, ends.bounds, samples, is_last_stable=ends.is_last_stable)
        for at, lag in zip(asked, made, strict=True):
            found[at] = lag
    for row, lag in zip(rows, found, strict=True):
        yield lag_of(row, ends)._asdict() if lag is None else lag


def add_lag(snapshot: Snapshot, ends: EndSources, rows: list[Row]) -> list[LagRow]:
    """Fill in `log_end_offset`, `lag` and `beyond_end` of described offsets whose partition's end is known.

    Return the lag of each row; nothing where no end is known.
    """
    if not ends.has_any:
        return []
    find_ends(snapshot, ends, rows)
    lags = [lag_of(row, ends) for row in rows]
    for row, found in zip(rows, lags, strict=True):
        if found.method in SEEN:
            row["log_end_offset"] = found.end_offset
            if row["committed_offset"] is not None:
                row["lag"], row["beyond_end"] = found.lag, found.beyond_end
    return lags


def odd_offsets(rows: Iterable[Row]) -> Iterator[str]:
    """Yield notes on committed offsets that stand for no record: beyond the end of their partition, or below 0."""
    of_rows = list(rows)
    beyond = [row for row in of_rows if row["beyond_end"] and row["lag"] is None]
    if beyond:
        farthest = max(beyond, key=lambda row: row["beyond_end"])
        yield (
            f"{len(beyond)} offset(s) are beyond the end of their partition, {_partition_text(farthest)} by "
            f"{farthest['beyond_end']:,}: who fetches there begins elsewhere, by auto.offset.reset, so that no lag is known; look "
            "whether the topic was made again, or the log lost its tail"
        )
    below = [row for row in of_rows if row["committed_offset"] is not None and row["committed_offset"] < 0]
    if below:
        yield (
            f"{len(below)} committed offset(s) are below 0, which is none ({_partition_text(below[0])}): Kafka shows - for them, "
            "and their readers begin by auto.offset.reset; look at the client that commits them"
        )


def _partition_text(row: Row) -> str:
    return f"that of group {named(row['group'])} in {row['topic']}-{row['partition']}"


def find_ends(snapshot: Snapshot, ends: EndSources, rows: list[Row]) -> None:
    """Make `ends` read the ends of the partitions in the rows, at the moment of the snapshot."""
    committed = [row for row in described_offsets(snapshot, Wanted()) if row["committed_offset"] is not None]
    times = ends.commit_times = commit_times(snapshot, [*committed, *rows])
    if not ends.bounds.is_whole:
        # Of several log partitions together, in the order of time: apart from what one partition's log says.
        for row in sorted(committed, key=lambda row: times[log_place(row)]):
            ends.bounds.add(None, _topic_partition(row), commit_at(row, times))
    ends.find(snapshot, {_topic_partition(row) for row in rows})


def lag_of(row: Row, ends: EndSources) -> LagRow:
    """Return the lag of a row of offsets, after `find_ends`."""
    partition = _topic_partition(row)
    commit = None if row["committed_offset"] is None else commit_at(row, ends.commit_times)
    of = OffsetOf(row["group"], *partition)
    return lag_row(of, commit, ends.of(partition), ends.at, partial(ends.written, partition))


def _row(row: Row, found: Row) -> Row:
    if not row["is_proven"]:
        found |= {name: None for name in found if name not in _KEPT}
    return found | {"is_proven": row["is_proven"]}


def _topic_partition(row: Row) -> TopicPartition:
    return TopicPartition(row["topic"], row["partition"])


def commit_times(snapshot: Snapshot, rows: Iterable[Row]) -> dict[LogPlace, int]:
    """Return when the committed offsets of rows were committed, by place in the log, as their order in the log allows.

    The time in a commit is its client's word: one that the commits around it contradict, or the log's end, does not count.
    """
    newest_of = {p.log_partition: p.cut.newest_timestamp for p in snapshot}
    clocks = defaultdict[int | None, LogClock](LogClock)
    times = dict[LogPlace, int]()
    committed = [row for row in rows if row["committed_offset"] is not None]
    for row in sorted(committed, key=itemgetter("log_offset")):
        log_partition, log_offset = place = log_place(row)
        at, newest = (
            clocks[log_partition].dated(log_offset, row["commit_timestamp"]),
            newest_of.get(log_partition),
        )
        # Its record is there: it was not committed later than the log ends.
        is_odd = newest is not None and (at > newest or age_at(newest, at) is None)
        times[place] = newest if newest is not None and is_odd else at
    return times


def log_place(row: Row) -> LogPlace:
    """Return the place in the log of a row's commit."""
    return row["log_partition"], row["log_offset"]


def commit_at(row: Row, times: Mapping[LogPlace, int]) -> CommitAt:
    """Return the commit of a row of offsets, given the times of commits by place in the log."""
    return CommitAt(times[log_place(row)], row["committed_offset"], row["topic_id"])

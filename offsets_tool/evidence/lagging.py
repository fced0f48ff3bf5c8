"""Lag of committed offsets at a moment: replays what is needed to know the ends, and puts lag beside each offset.

Rules of lag are in offsets_tool.lag; which files and directories tell ends is known by `EndSources`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Final

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.as_of.views_describe import described_offsets
from offsets_tool.evidence.ends import EndSources
from offsets_tool.evidence.partition_histories import PartitionHistories
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.findings.sentences import named
from offsets_tool.lag.rows import LagMethod, LagRow
from offsets_tool.log_clock import LogClock, age_at
from offsets_tool.replay.changes import OffsetOf, TopicPartition
from offsets_tool.rows import Row

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
    if replay.take_states(is_of_groups=not ends.has_any):
        return _take_commits(replay, ends, wanted)
    from offsets_tool.lag.commits import LogCommits  # noqa: PLC0415 - NumPy, for this alone

    commits = ends.commits = LogCommits()

    def observe(histories: PartitionHistories) -> None:
        number = histories.partition.log_partition
        commits.forget(number)
        histories.observe_records(partial(commits.observe, number), partial(commits.take, number))

    replay.ask(observe)
    snapshot = replay.snapshot
    commits.is_whole = not (ends.has_any and _knows_all(snapshot, ends, wanted))
    return snapshot


def _take_commits(replay: EvidenceReplay, ends: EndSources, wanted: Wanted) -> Snapshot:
    """Run a replay whose states are kept, and take the commits for what is described from where they are kept."""
    snapshot = replay.run()
    is_whole = not (ends.has_any and _knows_all(snapshot, ends, wanted))
    topics = {row["topic"] for row in described_offsets(snapshot, wanted)} if is_whole else set()
    ends.commits = replay.evidence.kept_commits(topics)
    ends.commits.is_whole = is_whole
    return snapshot


def _knows_all(snapshot: Snapshot, ends: EndSources, wanted: Wanted) -> bool:
    described = set(map(_topic_partition, described_offsets(snapshot, wanted)))
    return ends.known(described) == described


def lag_rows(snapshot: Snapshot, ends: EndSources, wanted: Wanted) -> list[Row]:
    """Return a LagRow, as a dict, of each committed offset and of each partition that is owned without one.

    `is_proven` is False where the log does not prove the committed offset.
    """
    rows = described_offsets(snapshot, wanted)
    find_ends(snapshot, ends, rows)
    return [_row(row, lag) for row, lag in zip(rows, lags_of_rows(rows, ends), strict=True)]


def add_lag(snapshot: Snapshot, ends: EndSources, rows: list[Row]) -> list[LagRow]:
    """Fill in `log_end_offset`, `lag` and `beyond_end` of described offsets whose partition's end is known.

    Return the lag of each row; nothing where no end is known.
    """
    if not ends.has_any:
        return []
    find_ends(snapshot, ends, rows)
    lags = lags_of_rows(rows, ends)
    for row, lag in zip(rows, lags, strict=True):
        if lag.method in SEEN:
            row["log_end_offset"] = lag.end_offset
            if row["committed_offset"] is not None:
                row["lag"], row["beyond_end"] = lag.lag, lag.beyond_end
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
    from offsets_tool.lag.commits import LogCommits  # noqa: PLC0415 - NumPy, for this alone

    committed = [row for row in described_offsets(snapshot, Wanted()) if row["committed_offset"] is not None]
    times = ends.commit_times = commit_times(snapshot, [*committed, *rows])
    if ends.commits is None or not ends.commits.is_whole:
        ends.commits = LogCommits()
        # Of several log partitions together, in the order of time: apart from what one partition's log says.
        for row in sorted(committed, key=lambda row: times[log_place(row)]):
            at, offset = times[log_place(row)], row["committed_offset"]
            ends.commits.add(None, _topic_partition(row), at, offset, row["topic_id"])
    ends.find(snapshot, {_topic_partition(row) for row in rows})


def lags_of_rows(rows: Sequence[Row], ends: EndSources, *, reads_records: bool = True) -> list[LagRow]:
    """Return the lag of each row of offsets, after `find_ends`; `reads_records` asks logs when the next record was written."""
    from offsets_tool.lag.lags import Position, lags_of  # noqa: PLC0415 - NumPy, for this alone

    positions = [
        Position(
            OffsetOf(row["group"], *_topic_partition(row)),
            ends.at,
            row["committed_offset"],
            0 if row["committed_offset"] is None else ends.commit_times[log_place(row)],
            row["topic_id"],
        )
        for row in rows
    ]
    return lags_of(
        positions,
        {position.partition: ends.samples(position.partition) for position in positions},
        ends.commits,
        ends.written if reads_records else None,
        is_last_stable=ends.is_last_stable,
    )


def _row(row: Row, lag: LagRow) -> Row:
    shown: Row = lag._asdict()
    if not row["is_proven"]:
        shown |= {name: None for name in shown if name not in _KEPT}
    return shown | {"is_proven": row["is_proven"]}


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

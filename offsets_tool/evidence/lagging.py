"""Lag of committed offsets at a moment: replays what is needed to know the ends, and puts lag beside each offset.

Rules of lag are in offsets_tool.lag; which files and directories tell ends is known by `KnownEnds`.
"""

from functools import partial
from operator import itemgetter
from typing import Final

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import Snapshot, Watch
from offsets_tool.as_of.views_describe import described_offsets
from offsets_tool.evidence.ends import KnownEnds
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.lag.lag import LagMethod
from offsets_tool.lag.rows import LagRow, lag_row
from offsets_tool.lag.samples import CommitAt
from offsets_tool.replay.changes import OffsetOf, TopicPartition
from offsets_tool.rows import Row

_KEPT: Final = (
    "group",
    "topic",
    "partition",
    "moment_at",
    "timestamp",
    "committed_offset",
    "log_start",
    "end_offset",
    "is_topic_recreated",
)
"""What is left of a row where compaction took the committed offset."""

_SEEN: Final = frozenset({LagMethod.SAMPLED, LagMethod.INDEX, LagMethod.INTERPOLATED})


def replay_for_lag(replay: EvidenceReplay, ends: KnownEnds, wanted: Wanted) -> Snapshot:
    """Run the replay, and learn from commits what they tell of ends; return the moment.

    All commits of the log where nothing else tells of an end, else those that stand at the moment.
    """

    def watch(log_partition: int | None) -> Watch:
        return lambda _event, changes: ends.bounds.observe(log_partition, changes)

    moment = replay.run(None if ends.has_any else watch)
    if ends.has_any and not all(ends.knows(_place(row)) for row in described_offsets(moment, wanted)):
        for p, events in replay.once_more():
            for _, changes in events:
                ends.bounds.observe(p.log_partition, changes)
    return moment


def lag_rows(moment: Snapshot, ends: KnownEnds, wanted: Wanted) -> list[Row]:
    """Return a LagRow, as a dict, of each committed offset and of each partition that is owned without one.

    `is_proven` is False where the log does not prove the committed offset.
    """
    rows = described_offsets(moment, wanted)
    find_ends(moment, ends, rows)
    return [_row(row, ends) for row in rows]


def add_lag(moment: Snapshot, ends: KnownEnds, rows: list[Row]) -> None:
    """Fill in `log_end_offset` and `lag` of described offsets where the end is known, and not only bounds of it."""
    if not ends.has_any:
        return
    find_ends(moment, ends, rows)
    for row in rows:
        found = lag_of(row, ends)
        if found.method in _SEEN:
            row["log_end_offset"] = found.end_offset
            row["lag"] = None if row["committed_offset"] is None else found.lag


def find_ends(moment: Snapshot, ends: KnownEnds, rows: list[Row]) -> None:
    """Read what tells of the ends of the rows' partitions at the moment."""
    # Of several log partitions together, in the order of time: apart from what one partition's log says.
    committed = [row for row in described_offsets(moment, Wanted()) if row["committed_offset"] is not None]
    for row in sorted(committed, key=itemgetter("commit_timestamp")):
        ends.bounds.add(None, _place(row), _commit(row))
    ends.find(moment, {_place(row) for row in rows})


def lag_of(row: Row, ends: KnownEnds) -> LagRow:
    """Return the lag of a row of offsets, after `find_ends`."""
    place = _place(row)
    commit = None if row["committed_offset"] is None else _commit(row)
    of = OffsetOf(row["group"], *place)
    return lag_row(of, commit, ends.of(place), ends.at, partial(ends.written, place))


def _row(row: Row, ends: KnownEnds) -> Row:
    found: Row = lag_of(row, ends)._asdict()
    if not row["is_proven"]:
        found |= {name: None for name in found if name not in _KEPT}
    return found | {"is_proven": row["is_proven"]}


def _place(row: Row) -> TopicPartition:
    return TopicPartition(row["topic"], row["partition"])


def _commit(row: Row) -> CommitAt:
    return CommitAt(row["commit_timestamp"], row["committed_offset"], row["topic_id"])

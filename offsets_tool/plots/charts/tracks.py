"""Where a partition's committed offset stood over time: its commits in a window, steps back and losses among them.

Between two commits far apart there is a silence, in which the offset held: it is no slope. Knows no chart.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from offsets_tool.history.rows import OffsetEndCause, OffsetHistoryRow
from offsets_tool.plots.sampling import silence_of
from offsets_tool.plots.scene import GroupScene
from offsets_tool.replay.changes import TopicPartition

LOSSES: Final = (
    OffsetEndCause.DELETED,
    OffsetEndCause.GROUP_DELETED,
    OffsetEndCause.ABSENT,
    OffsetEndCause.HIDDEN,
)
"""How an offset ends without a newer one."""


class TrackPoint(NamedTuple):
    """A committed offset, and from when on it held; the offset is None where it was removed."""

    at: int
    offset: int | None
    before: int | None = None
    """The offset that it went back from, or that was lost; None for a step ahead."""
    cause: str = ""
    is_carried: bool = False
    """Whether it was committed before the window."""

    @property
    def back(self) -> int:
        """How many offsets this commit went back; 0 if it did not."""
        return 0 if self.before is None or self.offset is None else self.before - self.offset


@dataclass(frozen=True)
class Track:
    """The committed offset of one partition over time."""

    partition: TopicPartition
    label: str
    points: tuple[TrackPoint, ...]
    end: int
    """Until when it is followed, epoch milliseconds."""

    @property
    def commits(self) -> list[TrackPoint]:
        """The commits in the window."""
        return [point for point in self.points if point.offset is not None and not point.is_carried]

    @property
    def backs(self) -> list[TrackPoint]:
        """The commits in the window that went back."""
        return [point for point in self.points if point.back]

    @property
    def removals(self) -> list[TrackPoint]:
        """The times in the window at which the offset was removed."""
        return [point for point in self.points if point.offset is None]

    @property
    def worst_back(self) -> int:
        """The largest step back, in offsets; 0 if there was none."""
        return max((point.back for point in self.points), default=0)

    def segments(self) -> Iterator[list[TrackPoint]]:
        """Yield the points in runs that silences and removals separate; a silence is much longer than the usual pause."""
        silence = self._silence()
        run: list[TrackPoint] = []
        for point in self.points:
            if run and (point.offset is None or point.at - run[-1].at > silence or run[-1].is_carried):
                yield run
                run = []
            if point.offset is not None:
                run.append(point)
        if run:
            yield run

    def holds(self) -> Iterator[tuple[int, int, int]]:
        """Yield begin, end and offset of each silence: a long time in which the offset held without a commit."""
        silence = self._silence()
        for point, after in pairwise((*self.points, TrackPoint(self.end, None))):
            if point.offset is not None and after.at > point.at:
                is_silent = point.is_carried or after.offset is None or after.at - point.at > silence
                if is_silent:
                    yield point.at, after.at, point.offset

    def _silence(self) -> float:
        whole = self.end - self.points[0].at if self.points else 0
        return silence_of([point.at for point in self.commits], whole)


def tracks_of(scene: GroupScene) -> list[Track]:
    """Return the tracks of the wanted partitions in the window, sorted by topic and partition."""
    by_partition: dict[TopicPartition, list[OffsetHistoryRow]] = {}
    for row in scene.offsets:
        by_partition.setdefault(TopicPartition(row.topic, row.partition), []).append(row)
    axis = scene.axis
    if axis is None:
        return []
    end = axis.end if scene.rows.newest_at is None else axis.clip(scene.rows.newest_at)
    return [
        Track(partition, scene.partition_label(*partition), tuple(_points(scene, rows)), end)
        for partition, rows in sorted(by_partition.items())
    ]


def _points(scene: GroupScene, rows: Sequence[OffsetHistoryRow]) -> Iterable[TrackPoint]:
    axis = scene.axis
    assert axis is not None
    for row in rows:
        is_carried = not scene.has(row.from_timestamp, row.from_timestamp)
        went_back = row.delta is not None and row.delta < 0 and not is_carried
        before = row.committed_offset - (row.delta or 0) if went_back else None
        yield TrackPoint(
            axis.clip(row.from_timestamp), row.committed_offset, before, row.begin_cause, is_carried
        )
        if (
            row.end_cause in LOSSES
            and row.to_timestamp is not None
            and scene.has(row.to_timestamp, row.to_timestamp)
        ):
            yield TrackPoint(axis.clip(row.to_timestamp), None, row.committed_offset, row.end_cause)

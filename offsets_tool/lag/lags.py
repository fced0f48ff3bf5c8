"""How far behind positions of groups were at moments, in offsets and in time: the columns of LagRow, from ends over time.

The time lag is how long ago the record at the committed offset was written, which is the oldest that the group has not read. It is
interpolated between samples of the end, or read from the record itself where its log is present. Outside of the samples it has
bounds and, where the end grew, an estimate of low confidence; it is never infinite. Nothing fails: what cannot be known is null.
Source: LAG of kafka-consumer-groups, ListOffsets for both isolation levels.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array, differences
from offsets_tool.lag.commits import LogCommits
from offsets_tool.lag.lifetimes import INDEX, EndsAt, TopicLifetimes
from offsets_tool.lag.numbers import NullableNumbers, clipped, picked, time_before
from offsets_tool.lag.rows import CountedFrom, LagConfidence, LagMethod, LagRow, TimeMethod
from offsets_tool.lag.samples import EndSample, Written
from offsets_tool.replay.changes import OffsetOf, TopicPartition

WrittenOf = Callable[[TopicPartition, int], Written | None]
"""When the record at an offset of a partition was written, where its log is there; None where that does not say it."""
_COLUMNS: Final = LagRow._fields[LagRow._fields.index("moment_at") + 1 :]
_TIME_CONFIDENCE: Final = {
    TimeMethod.RECORD: LagConfidence.HIGH,
    TimeMethod.INTERPOLATED: LagConfidence.MEDIUM,
    TimeMethod.EXTRAPOLATED: LagConfidence.LOW,
    TimeMethod.BOUND: LagConfidence.LOW,
    TimeMethod.CAUGHT_UP: LagConfidence.EXACT,
    TimeMethod.NONE: LagConfidence.NONE,
}


class Positions(NamedTuple):
    """Positions of groups in partitions, each at a moment. Times are epoch milliseconds."""

    partitions: Array
    at: Array
    offsets: Array
    """The committed offsets; 0 where there is none. Below 0 the number is none, as a broker answers for what was never committed
    (KAFKA-12926)."""
    has_commit: Array
    committed_at: Array
    topic_ids: Array
    """The places of the commits' topic ids in those of the lifetimes; 0 is none."""


class _Moments(NamedTuple):
    """What is known of positions at their moments."""

    lifetimes: TopicLifetimes
    numbers: Array
    """The lifetime that has the partition's name at each moment."""
    ends: EndsAt
    is_recreated: Array
    """Which commits were for an earlier topic than the one that has its name at the moment."""

    @classmethod
    def of(cls, lifetimes: TopicLifetimes, positions: Positions) -> "_Moments":
        numbers = lifetimes.at(positions.partitions, positions.at)
        ids = lifetimes.topic_ids[numbers]
        is_named = (ids != 0) & (positions.topic_ids != 0)
        had = lifetimes.at(positions.partitions, positions.committed_at)
        is_recreated = np.where(is_named, ids != positions.topic_ids, had != numbers)
        ends = EndsAt.of(lifetimes, numbers, positions.at)
        return cls(lifetimes, numbers, ends, positions.has_commit & is_recreated)


def lag_columns(
    lifetimes: TopicLifetimes, positions: Positions, written: Sequence[Written | None] | None = None
) -> dict[str, pa.Array]:
    """Return the lag of positions: all columns of LagRow but whose it is and `moment_at`.

    `written` has, of each position, when the record at its offset was written, where the log of the partition says so.
    """
    moments = _Moments.of(lifetimes, positions)
    return {
        "timestamp": pa.array(positions.at),
        "committed_offset": NullableNumbers(positions.offsets, positions.has_commit).column(),
        "end_offset": moments.ends.estimate.column(),
        **_offset_lag(moments, positions),
        **_time_lag(moments, positions, written),
        "is_topic_recreated": pa.array(moments.is_recreated),
    }


def _offset_lag(moments: _Moments, positions: Positions) -> dict[str, pa.Array]:
    """Return the columns of lag in offsets. Who has committed nothing begins at the log start: where that is, nobody may know."""
    lifetimes, numbers, ends, is_recreated = moments
    starts = lifetimes.starts
    start_at = starts.by_time.up_to(numbers, positions.at)
    start = start_at.last_of(starts.offsets)
    has_any = start_at.end > start_at.first
    earliest = start.where(
        start.there, NullableNumbers(picked(starts.offsets, start_at.first, has_any), has_any)
    )
    committed = NullableNumbers(positions.offsets, positions.offsets >= 0)
    base, has_base = committed.where(positions.has_commit, earliest)
    base = np.where(has_base, base, 0)
    beyond_end = NullableNumbers(base, ends.high.there).above(ends.high.numbers).numbers
    # Behind the last stable offset records of open transactions may be, which others read.
    is_inside = (beyond_end == 0) | lifetimes.is_last_stable
    lag_min = ends.low.above(base).only(has_base).numbers
    lag_max = ends.high.above(base).only(is_inside)
    is_settled = lag_min == lag_max.numbers
    left, right = ends.left_method, ends.right_method
    has_index = (left == INDEX) | (right == INDEX)
    is_index_alone = (left <= INDEX) & (right <= INDEX) & ~ends.is_implied
    method = _chosen(
        (~ends.low.there & ~ends.high.there, LagMethod.NONE),
        (~ends.low.there, LagMethod.UPPER_BOUND),
        (~ends.high.there, LagMethod.LOWER_BOUND),
        (ends.low.numbers < ends.high.numbers, LagMethod.INTERPOLATED),
        (has_index, LagMethod.INDEX),
        default=LagMethod.SAMPLED,
    )
    confidence = _chosen(
        (~has_base | ~is_inside | ~ends.low.there, LagConfidence.NONE),
        (is_recreated | ~ends.high.there, LagConfidence.LOW),
        (has_index & (is_settled | is_index_alone), LagConfidence.HIGH),
        (is_settled, LagConfidence.EXACT),
        default=LagConfidence.MEDIUM,
    )
    return {
        "lag": ends.estimate.above(base).only(has_base & is_inside).column(),
        "lag_min": pa.array(lag_min),
        "lag_max": lag_max.column(),
        "method": _texts(LagMethod, method),
        "confidence": _texts(LagConfidence, confidence),
        "counted_from": _texts(CountedFrom, ~positions.has_commit),
        "log_start_offset": start.column(),
        "data_lost": start.above(base).only(positions.has_commit & has_base & ~is_recreated).column(),
        "beyond_end": pa.array(beyond_end),
    }


class _Times(NamedTuple):
    """When records were written: an estimate, where there is one, with bounds, and how it is made."""

    at: Array
    earliest: NullableNumbers
    latest: NullableNumbers
    method: Array


def _time_lag(
    moments: _Moments, positions: Positions, written: Sequence[Written | None] | None
) -> dict[str, pa.Array]:
    """Return the columns of lag in time. A record that may have come after the moment, or did, is not behind at all."""
    lifetimes, numbers, (low, high, *_), is_recreated = moments
    at, offsets = positions.at, positions.offsets
    is_caught_up = high.there & (offsets >= high.numbers)
    is_unknown = ~positions.has_commit | (offsets < 0) | is_recreated
    is_unknown |= is_caught_up & (offsets > high.numbers) & (not lifetimes.is_last_stable)
    may_be_caught_up = ~high.there & low.there & (offsets >= low.numbers)
    times = _estimated(lifetimes, numbers, offsets)
    if written is not None:
        times, following = _read(times, written)
        # Markers are all that lies between the offset and the end.
        is_caught_up = is_caught_up | (high.there & following.there & (high.numbers <= following.numbers))
    is_bound = may_be_caught_up & (times.method != _RECORD) & (times.method != _NONE)
    method = np.where(is_bound, _BOUND, times.method)
    method = np.where(is_unknown, _NONE, np.where(is_caught_up, _CAUGHT_UP, method))
    is_open = (method != _NONE) & (method != _CAUGHT_UP)
    least = times.latest.before(at).only(is_open).numbers
    most = times.earliest.before(at).only(is_open)
    most = most._replace(there=most.there | (method == _CAUGHT_UP))
    lag = clipped(np.maximum(differences(at, times.at), 0), NullableNumbers(least, is_open), most)
    is_exact = times.earliest.there & times.latest.there & (times.earliest.numbers == times.latest.numbers)
    confidence = np.where((method == _RECORD) & is_exact, _EXACT, _CONFIDENCE_OF[method])
    return {
        "time_lag_ms": NullableNumbers(np.where(method == _BOUND, least, lag), method != _NONE).column(),
        "time_lag_min_ms": pa.array(least),
        "time_lag_max_ms": most.column(),
        "time_method": _texts(TimeMethod, method),
        "time_confidence": _texts(LagConfidence, confidence),
    }


def _read(times: _Times, written: Sequence[Written | None]) -> tuple[_Times, NullableNumbers]:
    """Return the times with those that records themselves say in their place; and the offset of the next one behind markers."""
    there = np.array([record is not None for record in written], bool)
    at, earliest, latest, following = (
        NullableNumbers.of([getattr(record, name, None) for record in written])
        for name in ("at", "earliest", "latest", "next_offset")
    )
    read = _Times(
        np.where(there, at.numbers, times.at),
        earliest.where(there, times.earliest),
        latest.where(there, times.latest),
        np.where(there, np.where(at.there, _RECORD, _NONE), times.method),
    )
    return read, following


def _estimated(lifetimes: TopicLifetimes, numbers: Array, offsets: Array) -> _Times:
    """Return when records were written, as the ends of their partitions imply: on the straight line between the last end before a
    record and the first one after it, or outside of the samples as if the end had always grown as between the first and the last.
    """
    samples, bounds = lifetimes.samples, lifetimes.bounds
    sample = samples.by_offset.up_to(numbers, offsets)
    earliest, latest = sample.last_of(samples.times), sample.next_of(samples.times)
    implied = bounds.by_offset.up_to(numbers, offsets).next_of(bounds.times)
    latest = implied.where(implied.there & (~latest.there | (implied.numbers < latest.numbers)), latest)
    between, has_line = earliest.there & sample.has_next, sample.end - sample.first > 1
    lowest, highest = (picked(samples.offsets, place, has_line) for place in (sample.first, sample.end - 1))
    outside = has_line & ~between & (lowest < highest) & (highest != offsets)
    at = np.zeros(len(offsets), np.int64)
    for chosen, first, last in ((between, sample.at - 1, sample.at), (outside, sample.first, sample.end - 1)):
        rows = np.flatnonzero(chosen)
        begin, end = first[rows], last[rows]
        grown = samples.offsets[end] - samples.offsets[begin]
        ahead = samples.offsets[end] - offsets[rows]
        at[rows] = time_before(samples.times[end], samples.times[begin], ahead, grown)
    method = _chosen(
        (between, TimeMethod.INTERPOLATED),
        (outside, TimeMethod.EXTRAPOLATED),
        (earliest.there | latest.there, TimeMethod.BOUND),
        default=TimeMethod.NONE,
    )
    return _Times(clipped(at, earliest, latest), earliest, latest, method)


_Word = LagMethod | LagConfidence | TimeMethod


def _number(word: _Word) -> int:
    return list(type(word)).index(word)


def _chosen(*cases: tuple[Array, _Word], default: _Word) -> Array:
    """Return for each row the number of the word of the first case that is true."""
    chosen = [is_case for is_case, _ in cases]
    return np.select(chosen, [np.int8(_number(word)) for _, word in cases], np.int8(_number(default)))


def _texts(words: type[_Word | CountedFrom], numbers: Array) -> pa.Array:
    return pa.array([str(word) for word in words], pa.string()).take(pa.array(numbers.astype(np.int8)))


_EXACT: Final = _number(LagConfidence.EXACT)
_RECORD, _BOUND, _CAUGHT_UP, _NONE = map(
    _number, (TimeMethod.RECORD, TimeMethod.BOUND, TimeMethod.CAUGHT_UP, TimeMethod.NONE)
)
_CONFIDENCE_OF: Final = np.array([_number(_TIME_CONFIDENCE[method]) for method in TimeMethod], np.int8)


class Position(NamedTuple):
    """What a group had committed in a partition at a moment, and when; None without a commit. Times are epoch milliseconds."""

    of: OffsetOf
    at: int
    committed_offset: int | None
    committed_at: int
    topic_id: str | None

    @property
    def partition(self) -> TopicPartition:
        """The partition of a topic."""
        return TopicPartition(self.of.topic, self.of.partition)


def lags_of(
    positions: Sequence[Position],
    samples: Mapping[TopicPartition, Sequence[EndSample]],
    commits: LogCommits | None = None,
    written_of: WrittenOf | None = None,
    *,
    is_last_stable: bool = False,
) -> list[LagRow]:
    """Return the lag of each position, given samples of the partitions' ends, and commits of all groups, which imply ends too.

    With `is_last_stable`, lag counts to the last stable offset.
    """
    asked = [(position.partition, position.topic_id) for position in positions]
    of_partitions, partitions, topic_ids = (commits or LogCommits()).of(asked)
    numbered = {partition: number for (partition, _), number in zip(asked, partitions.tolist(), strict=True)}
    by_number = {
        number: samples[partition] for partition, number in numbered.items() if samples.get(partition)
    }
    lifetimes = TopicLifetimes.of(len(numbered), by_number, of_partitions, is_last_stable=is_last_stable)
    offsets = NullableNumbers.of([position.committed_offset for position in positions])
    at, committed_at = (
        np.array([getattr(position, name) for position in positions], np.int64)
        for name in ("at", "committed_at")
    )
    columns = lag_columns(
        lifetimes,
        Positions(partitions, at, *offsets, committed_at, topic_ids),
        written_of and [_written(position, written_of) for position in positions],
    )
    values = zip(*(columns[name].to_pylist() for name in _COLUMNS), strict=True)
    return [LagRow(*position.of, position.at, *row) for position, row in zip(positions, values, strict=True)]


def _written(position: Position, written_of: WrittenOf) -> Written | None:
    offset = position.committed_offset
    return None if offset is None or offset < 0 else written_of(position.partition, offset)

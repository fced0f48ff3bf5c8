"""Time lag: how long ago the record at the committed offset was written, which is the oldest that the group has not read.

It is interpolated between samples of the end, or read from the record itself where its log is present. Outside of the samples it
has bounds and, where the end grew, an estimate of low confidence; it is never infinite or NaN. It is 0 when nothing is left to
read.
"""

from bisect import bisect_right
from enum import StrEnum
from typing import NamedTuple

from offsets_tool.lag.ends import EndAt, TopicLifetime
from offsets_tool.lag.lag import EndsAtMoment, LagConfidence
from offsets_tool.lag.samples import CommitAt
from offsets_tool.wire.longs import difference


class TimeMethod(StrEnum):
    """How the time at which a record was written is known."""

    RECORD = "record"
    """The record or its batch says it."""
    INTERPOLATED = "interpolated"
    """Estimated on a straight line between the last end before the record and the first one after it."""
    EXTRAPOLATED = "extrapolated"
    """Estimated as if the end had always grown as it did between the first sample and the last."""
    BOUND = "bound"
    """Only bounds are known: not before `earliest`, not after `latest`."""
    CAUGHT_UP = "caught up"
    """There is nothing left to read."""
    NONE = "none"


class Written(NamedTuple):
    """The time at which a record was written, with bounds, in epoch milliseconds; a bound that is None is open."""

    at: int | None
    earliest: int | None
    latest: int | None
    method: TimeMethod
    next_offset: int | None = None
    """Where only markers of transactions, which nobody reads, are at the offset: that of the next record, or the log's end."""


class TimeLag(NamedTuple):
    """A time lag with its bounds in milliseconds; `time_lag_max_ms` None means open, `time_lag_ms` None unknown."""

    time_lag_ms: int | None
    time_lag_min_ms: int
    time_lag_max_ms: int | None
    method: TimeMethod
    confidence: LagConfidence


_NOTHING_LEFT = TimeLag(0, 0, 0, TimeMethod.CAUGHT_UP, LagConfidence.EXACT)
_UNKNOWN = TimeLag(None, 0, None, TimeMethod.NONE, LagConfidence.NONE)


def written_at(offset: int, lifetime: TopicLifetime) -> Written:
    """Return when the record at an offset was written, as the ends of its partition imply.

    If the offset is the last end that was seen, no record there is known: the result is a bound.
    """
    i = bisect_right(lifetime.ends, offset)
    earliest = lifetime.times[i - 1] if i else None
    b = bisect_right(lifetime.bounds, offset)
    implied = lifetime.bound_times[b] if b < len(lifetime.bounds) else None
    latest = lifetime.times[i] if i < len(lifetime.ends) else None
    if implied is not None and (latest is None or implied < latest):
        latest = implied
    if earliest is not None and i < len(lifetime.ends):
        method, at = TimeMethod.INTERPOLATED, _between(offset, lifetime, i - 1, i)
    elif len(lifetime.ends) > 1 and lifetime.ends[0] < lifetime.ends[-1] and lifetime.ends[-1] != offset:
        method, at = TimeMethod.EXTRAPOLATED, _between(offset, lifetime, 0, -1)
    else:
        return Written(
            None, earliest, latest, TimeMethod.NONE if earliest is latest is None else TimeMethod.BOUND
        )
    return Written(_clipped(at, earliest, latest), earliest, latest, method)


def _between(offset: int, lifetime: TopicLifetime, first: int, last: int) -> int:
    """Return the time of an offset on the straight line through two samples of the end."""
    grown = lifetime.ends[last] - lifetime.ends[first]
    took = lifetime.times[last] - lifetime.times[first]
    return difference(lifetime.times[last], round((lifetime.ends[last] - offset) * took / grown))


def _clipped(at: int, low: int | None, high: int | None) -> int:
    if high is not None and at > high:
        return high
    return low if low is not None and at < low else at


def time_lag_of(
    committed: CommitAt | None, there: EndsAtMoment, at: int, written: Written | None = None
) -> TimeLag:
    """Return the time lag of a commit at a moment (epoch milliseconds), given `ends_at_moment` of that moment.

    `written` is when the record at the committed offset was written, where its log says so; else that is estimated from the ends.
    """
    if committed is None or not committed.is_offset or there.is_topic_recreated:
        return _UNKNOWN
    end, offset = there.end, committed.committed_offset
    if end.high is not None and offset >= end.high:
        return _NOTHING_LEFT if offset == end.high or there.is_last_stable else _UNKNOWN
    if written is not None and _reads_nothing(written, end):
        return _NOTHING_LEFT
    known = written_at(offset, there.lifetime) if written is None else written
    low = 0 if known.latest is None else max(0, difference(at, known.latest))
    high = None if known.earliest is None else max(0, difference(at, known.earliest))
    if known.method is TimeMethod.NONE:
        return _UNKNOWN
    may_be_caught_up = end.high is None and end.low is not None and offset >= end.low
    if known.at is None or (may_be_caught_up and known.method is not TimeMethod.RECORD):
        return TimeLag(low, low, high, TimeMethod.BOUND, LagConfidence.LOW)
    # A record that may have come after the moment, or did, is not behind at all.
    lag = _clipped(max(0, difference(at, known.at)), low, high)
    return TimeLag(lag, low, high, known.method, _confidence(known))


def _reads_nothing(written: Written, end: EndAt) -> bool:
    """Return whether markers are all that lies between the offset and the end."""
    return written.next_offset is not None and end.high is not None and end.high <= written.next_offset


def _confidence(known: Written) -> LagConfidence:
    if known.method is TimeMethod.RECORD:
        return LagConfidence.EXACT if known.earliest == known.latest else LagConfidence.HIGH
    return LagConfidence.MEDIUM if known.method is TimeMethod.INTERPOLATED else LagConfidence.LOW

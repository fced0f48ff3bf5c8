"""Lag of a committed offset at a moment: how many offsets were between it and the end, at least and at most.

Offsets, not records: transaction markers and compacted records count too, as in Kafka's own tools. Never negative: how far a commit
is beyond the end is a number of its own. Source: LAG of kafka-consumer-groups, ListOffsets for both isolation levels.
"""

from enum import StrEnum
from typing import NamedTuple

from offsets_tool.lag.ends import EndAt, Ends, TopicLifetime
from offsets_tool.lag.samples import CommitAt, EndMethod
from offsets_tool.wire.longs import difference


class LagMethod(StrEnum):
    """How the end of a partition is known at a moment."""

    SAMPLED = "sampled"
    """A broker said so at that time, or the same before and after it."""
    INDEX = "index"
    """The topic's own log gives the end at that time, or the same end before and after it."""
    INTERPOLATED = "interpolated"
    """The end was estimated on a straight line between those known before and after the moment."""
    LOWER_BOUND = "lower bound"
    """Only an earlier end is known, and it may have grown since: lag is at least this."""
    UPPER_BOUND = "upper bound"
    """Only a later end is known: lag is at most `lag_max`."""
    NONE = "none"
    """No end is known."""


class LagConfidence(StrEnum):
    """How far a lag can be relied on."""

    EXACT = "exact"
    HIGH = "high"
    """The end follows from times of records, close together; they are as right as the clocks of clients."""
    MEDIUM = "medium"
    """The end was estimated between two known ones."""
    LOW = "low"
    """Only a bound is known, or the topic has been created anew since the commit."""
    NONE = "none"


class CountedFrom(StrEnum):
    """The offset from which lag is counted to the end."""

    COMMITTED = "committed offset"
    LOG_START = "log start"
    """Nothing is committed: a group that begins at the earliest offset has all of the log before it."""


class Lag(NamedTuple):
    """Offsets between `counted_from` and `end_offset`; None is what cannot be known.

    `data_lost` offsets below the log start were deleted before the group had read them (compaction is not counted). `beyond_end`
    is how far, at least, the commit is beyond the end: a wrong commit, a log that lost its tail, a topic created anew. Who
    fetches there is refused (OFFSET_OUT_OF_RANGE) and begins elsewhere, so that nobody knows what is left to read.
    """

    lag: int | None
    end_offset: int | None
    lag_min: int
    lag_max: int | None
    method: LagMethod
    confidence: LagConfidence
    counted_from: CountedFrom
    log_start_offset: int | None
    data_lost: int | None
    beyond_end: int
    is_topic_recreated: bool


class EndsAtMoment(NamedTuple):
    """The end of a partition at a moment, and whether a commit was for an earlier topic of the same name."""

    lifetime: TopicLifetime
    end: EndAt
    is_topic_recreated: bool
    is_last_stable: bool = False
    """Whether the end is the last stable offset."""


def ends_at_moment(committed: CommitAt | None, ends: Ends, at: int) -> EndsAtMoment:
    """Return the end of a partition at a moment (epoch ms), and whether its topic was created anew since the commit.

    `committed` is the effective commit at that moment; None for a group that has committed nothing.
    """
    lifetime = ends.lifetime_at(at)
    recreated = committed is not None and _is_of_another(committed, ends, lifetime, at)
    return EndsAtMoment(lifetime, lifetime.end_at(at), recreated, ends.is_last_stable)


def lag_of(committed: CommitAt | None, known: EndsAtMoment, at: int) -> Lag:
    """Return the lag of a commit at a moment (epoch milliseconds), given `ends_at_moment` of that moment.

    `committed` is None for a group without a commit. Nothing fails: what cannot be known is None, and `method` says why.
    """
    lifetime, end, recreated, _ = known
    log_start_offset = lifetime.log_start_at(at)
    base = _base(committed, lifetime, log_start_offset)
    beyond_end = _above(base, end.high) or 0
    # Behind the last stable offset records of open transactions may be, which others read.
    is_outside = beyond_end > 0 and not known.is_last_stable
    lag_min, lag_max = _above(end.low, base) or 0, None if is_outside else _above(end.high, base or 0)
    settled = base is not None and lag_min == lag_max
    return Lag(
        None if is_outside else _above(end.estimate, base),
        end.estimate,
        lag_min,
        lag_max,
        _method(end),
        LagConfidence.NONE
        if base is None or is_outside
        else _confidence(end, settled=settled, doubtful=recreated),
        CountedFrom.LOG_START if committed is None else CountedFrom.COMMITTED,
        log_start_offset,
        data_lost=None if committed is None or recreated else _above(log_start_offset, base),
        beyond_end=beyond_end,
        is_topic_recreated=recreated,
    )


def _is_of_another(committed: CommitAt, ends: Ends, lifetime: TopicLifetime, at: int) -> bool:
    """Return whether a commit was for an earlier topic than the one that has its name at the moment."""
    if committed.topic_id and lifetime.topic_id:
        return committed.topic_id != lifetime.topic_id
    return len(ends.lifetimes) > 1 and ends.number_at(committed.at) != ends.number_at(at)


def _base(committed: CommitAt | None, lifetime: TopicLifetime, log_start_offset: int | None) -> int | None:
    """Return the offset that lag is counted from; None where nobody knows where the group would begin."""
    if committed is None:
        return _earliest(lifetime, log_start_offset)
    return committed.committed_offset if committed.is_offset else None


def _earliest(lifetime: TopicLifetime, log_start_offset: int | None) -> int | None:
    return lifetime.first_log_start() if log_start_offset is None else log_start_offset


def _above(end: int | None, base: int | None) -> int | None:
    if end is None or base is None:
        return None
    return difference(end, base) if end > base else 0


def _method(end: EndAt) -> LagMethod:
    if end.low is None:
        return LagMethod.NONE if end.high is None else LagMethod.UPPER_BOUND
    if end.high is None:
        return LagMethod.LOWER_BOUND
    if end.low < end.high:
        return LagMethod.INTERPOLATED
    return LagMethod.INDEX if EndMethod.INDEX in end.methods else LagMethod.SAMPLED


def _confidence(end: EndAt, *, settled: bool, doubtful: bool) -> LagConfidence:
    if end.estimate is None:
        return LagConfidence.NONE
    if doubtful or end.high is None:
        return LagConfidence.LOW
    if EndMethod.INDEX in end.methods and (settled or set(end.methods) == {EndMethod.INDEX}):
        return LagConfidence.HIGH
    if settled:
        return LagConfidence.EXACT
    return LagConfidence.MEDIUM

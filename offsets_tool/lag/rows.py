"""A row of the table `lag`, declared once, with the words in it: how far behind a group was, and how that is known.

Offsets, not records: transaction markers and compacted records count too, as in Kafka's own tools. Lag is never negative: how far a
commit is beyond the end is a number of its own. Null means what the column's sentence says. lag.lags fills the columns.
"""

from enum import StrEnum
from typing import Annotated, NamedTuple

from offsets_tool.wire.schema import Int32, Int64, String
from offsets_tool.wire.times import UtcTime


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


class LagRow(NamedTuple):
    """How far behind a group was in one partition at a moment, in offsets and in time, and how that is known."""

    group: Annotated[String, "The group."]
    topic: Annotated[String, "Topic of the committed offset."]
    partition: Annotated[Int32, "Partition of that topic."]
    moment_at: Annotated[
        UtcTime | None,
        "The moment: a commit's, or a time of the grid; null if timestamp is no time of the calendar.",
    ]
    timestamp: Annotated[Int64, "The moment as the commit's record has it, epoch milliseconds."]
    committed_offset: Annotated[
        Int64 | None,
        "The committed position at that moment; null if nothing was committed. Below 0 it is none.",
    ]
    end_offset: Annotated[Int64 | None, "End of the partition, as method says; null if it is not known."]
    lag: Annotated[
        Int64 | None,
        "Offsets left to read, never negative; null if it cannot be told, as of a commit beyond the end.",
    ]
    lag_min: Annotated[Int64, "What lag was at least."]
    lag_max: Annotated[Int64 | None, "What lag was at most; null if that is open."]
    time_lag_ms: Annotated[
        Int64 | None,
        "How long ago the record at the committed offset was written, milliseconds; 0 if none is left; null if unknown.",
    ]
    time_lag_min_ms: Annotated[Int64, "What that was at least."]
    time_lag_max_ms: Annotated[Int64 | None, "What that was at most; null if that is open."]
    method: Annotated[
        String, "How the end is known: sampled, index, interpolated, lower bound, upper bound or none."
    ]
    confidence: Annotated[String, "How sure lag is: exact, high, medium, low or none."]
    time_method: Annotated[
        String,
        "How the time is known: record, interpolated, extrapolated, bound, caught up or none.",
    ]
    time_confidence: Annotated[String, "How sure time_lag_ms is: exact, high, medium, low or none."]
    counted_from: Annotated[String, "committed offset, or log start where nothing was committed."]
    log_start_offset: Annotated[
        Int64 | None, "Latest log start seen up to that moment; null if none was. It may have been higher."
    ]
    data_lost: Annotated[
        Int64 | None,
        "Offsets that retention deleted before the group had read them, at least; null if log_start_offset is.",
    ]
    beyond_end: Annotated[
        Int64,
        "Offsets that the commit is beyond the end: a wrong commit, or a log that lost its tail; else 0.",
    ]
    is_topic_recreated: Annotated[
        bool, "Whether the topic was created anew between the commit and that moment."
    ]

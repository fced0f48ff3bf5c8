"""Samples of end offsets; and when records were written, as their log says it.

An end that was not observed is None, never a guess. Times are epoch milliseconds. Knows no files.
"""

from enum import StrEnum
from typing import NamedTuple

from offsets_tool.lag.rows import TimeMethod


class EndMethod(StrEnum):
    """Where a sample of an end offset comes from."""

    SAMPLED = "sampled"
    """A broker, asked at that time."""
    INDEX = "index"
    """The topic's own log: its time index, the headers of its batches."""
    COMMITTED = "committed"
    """A group that committed it: the end was not lower."""


class EndSample(NamedTuple):
    """A sample of a partition's log start and end at a time (epoch milliseconds); None is an offset that was not asked for.

    `end_offset` is the offset that the next record gets (the high watermark, from a broker), `last_stable_offset` the first
    offset of the oldest open transaction. `source` names the broker or file that was asked: the ends that one source gives
    never fall while the topic is the same. `topic_id` is in Kafka's base64.
    """

    topic: str
    partition: int
    at: int
    log_start_offset: int | None = None
    last_stable_offset: int | None = None
    end_offset: int | None = None
    method: EndMethod = EndMethod.SAMPLED
    source: str = ""
    topic_id: str | None = None


class Written(NamedTuple):
    """The time at which a record was written, with bounds, in epoch milliseconds; a bound that is None is open."""

    at: int | None
    earliest: int | None
    latest: int | None
    method: TimeMethod
    next_offset: int | None = None
    """Where only markers of transactions, which nobody reads, are at the offset: that of the next record, or the log's end."""

"""Samples of end offsets, with the names of their fields in tables; and when records were written, as their log says it.

An end that was not observed is None, never a guess. Times are epoch milliseconds. Knows no files.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, NamedTuple

from offsets_tool.lag.rows import TimeMethod
from offsets_tool.wire.json import Json, JsonObject
from offsets_tool.wire.longs import MAX_LONG


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


OFFSETS: Final[Mapping[str, str]] = {
    "end": "end_offset",
    "offset": "end_offset",
    "end_offset": "end_offset",
    "log_end_offset": "end_offset",
    "log_start": "log_start_offset",
    "log_start_offset": "log_start_offset",
    "last_stable": "last_stable_offset",
    "last_stable_offset": "last_stable_offset",
}
"""Names under which tables have these offsets, and EndSample's own."""


_LONGEST_NUMBER: Final = 40
HIGHEST_PARTITION: Final = (1 << 31) - 1


def sample_of(fields: JsonObject, source: str = "", at: int | None = None) -> EndSample:
    """Return the sample of a row: topic, partition, at (epoch ms or ISO 8601), and any of OFFSETS; empty and negative are unknown.

    `at` is for a row that has none. Raises ValueError, with a sentence, for a row that lacks something.
    """
    if not fields.get("topic") or fields.get("partition") in (None, ""):
        raise ValueError("a row needs `topic` and `partition`")
    when = fields.get("at", fields.get("timestamp"))
    moment = at if when in (None, "") else _time(when)
    if moment is None:
        raise ValueError("a row needs `at`: epoch milliseconds or ISO 8601")
    known = {OFFSETS[name]: _offset(fields[name]) for name in fields if name in OFFSETS}
    if all(offset is None for offset in known.values()):
        raise ValueError(f"a row needs one of {', '.join(sorted(OFFSETS))}")
    return EndSample(
        str(fields["topic"]),
        number(fields["partition"], HIGHEST_PARTITION),
        moment,
        known.get("log_start_offset"),
        known.get("last_stable_offset"),
        known.get("end_offset"),
        source=source,
        topic_id=str(fields["topic_id"]) if fields.get("topic_id") else None,
    )


def _offset(value: Json) -> int | None:
    if value is None or value == "":
        return None
    offset = number(value, MAX_LONG)
    return offset if offset >= 0 else None


def number(value: Json, highest: int) -> int:
    """Return the integer in a cell of a table or a metric, between minus `highest` and `highest`.

    ValueError, with a sentence, for any other value.
    """
    if isinstance(value, str) and len(value) > _LONGEST_NUMBER:
        raise ValueError(f"{value[:_LONGEST_NUMBER]}... is too long for a number")
    found = int(value)
    if not -highest <= found <= highest:
        raise ValueError(f"{value} is more than {highest}")
    return found


def _time(value: Json) -> int:
    if isinstance(value, int) or str(value).lstrip("-").isdecimal():
        return number(value, MAX_LONG)
    at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return round(at.timestamp() * 1000)

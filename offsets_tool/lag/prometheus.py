"""End offsets in Prometheus' forms: the text that an exporter shows, and the JSON that the query API answers.

By the metrics of kafka_exporter, kminion (and kafka-minion before it) and kafka-lag-exporter. All other metrics are passed over.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from offsets_tool.errors import SourceError
from offsets_tool.lag.samples import HIGHEST_PARTITION, EndSample, number
from offsets_tool.wire.json import JsonObject
from offsets_tool.wire.longs import MAX_LONG

_ENDS: Final = frozenset(
    {
        "kafka_topic_partition_current_offset",
        "kminion_kafka_topic_partition_high_water_mark",
        "kafka_minion_topic_partition_high_water_mark",
        "kafka_partition_latest_offset",
    }
)
_STARTS: Final = frozenset(
    {
        "kafka_topic_partition_oldest_offset",
        "kminion_kafka_topic_partition_low_water_mark",
        "kafka_minion_topic_partition_low_water_mark",
        "kafka_partition_earliest_offset",
    }
)
_LINE: Final = re.compile(
    r"(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)\s*\{(?P<labels>.*)\}\s*(?P<value>\S+)(?:\s+(?P<at>-?\d+))?"
)
_LONGEST: Final = 1 << 16
"""The longest line, in characters, that is searched for labels: an exporter's metrics are far shorter."""
_LABEL: Final = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?')
_TOO_FAR: Final = 2.0**63
_ESCAPED: Final = {r"\n": "\n", r"\"": '"', r"\\": "\\"}


class _Sample(NamedTuple):
    name: str
    labels: Mapping[str, str]
    at: int
    value: str


def samples_of_text(text: str, source: str, at: int) -> Iterator[EndSample]:
    """Yield samples from metrics in the text format; `at` (epoch milliseconds) is the time of lines that have none of their own."""
    try:
        yield from _samples(_lines(text, at), source)
    except ValueError as error:
        raise SourceError(source, f"a metric has no number ({error}); fetch it again") from error


def samples_of_answer(answer: JsonObject, source: str) -> Iterator[EndSample]:
    """Yield samples from an answer, as JSON, of Prometheus' `/api/v1/query` or `query_range`: a vector or a matrix."""
    try:
        yield from _samples(_series(answer), source)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise SourceError(
            source,
            f"is not an answer of Prometheus' query API ({error!r}); save /api/v1/query_range?query=...",
        ) from error


def _lines(text: str, at: int) -> Iterator[_Sample]:
    for line in text.splitlines():
        match = _LINE.fullmatch(line.strip()) if len(line) <= _LONGEST else None
        if match is not None:
            labels = {name: _unescaped(value) for name, value in _LABEL.findall(match["labels"])}
            yield _Sample(match["name"], labels, number(match["at"] or at, MAX_LONG), match["value"])


def _unescaped(value: str) -> str:
    return re.sub(r"\\[n\"\\]", lambda found: _ESCAPED[found[0]], value)


def _series(answer: JsonObject) -> Iterator[_Sample]:
    if answer.get("status", "success") != "success":
        raise ValueError(answer.get("error", "status is not success"))
    for series in answer["data"]["result"]:
        labels = series["metric"]
        for at, value in series.get("values") or [series["value"]]:
            yield _Sample(labels.get("__name__", ""), labels, round(float(at) * 1000), value)


def _samples(seen: Iterable[_Sample], source: str) -> Iterator[EndSample]:
    """Yield samples; the log start and the end that one exporter gave at one time are one sample."""
    found: dict[tuple[str, str, int, int], EndSample] = {}
    for one in seen:
        offset = _offset(one.value) if one.name in _ENDS or one.name in _STARTS else None
        if offset is None:
            continue
        topic = one.labels.get("topic", one.labels.get("topic_name", ""))
        partition = number(
            one.labels.get("partition", one.labels.get("partition_id", "-1")), HIGHEST_PARTITION
        )
        instance = one.labels.get("instance")
        asked = f"{source}#{instance}" if instance else source
        if topic and partition >= 0:
            key = (asked, topic, partition, one.at)
            sample = found.get(key) or EndSample(topic, partition, one.at, source=asked)
            is_end = one.name in _ENDS
            found[key] = (
                sample._replace(end_offset=offset) if is_end else sample._replace(log_start_offset=offset)
            )
    yield from found.values()


def _offset(value: str) -> int | None:
    """Return an offset from Prometheus' floating-point number; None for NaN, a negative or an endless one: it is not known."""
    number = float(value)
    return int(number) if 0 <= number < _TOO_FAR else None

"""End offsets from files: what kafka-get-offsets printed, our own small table, or what Prometheus has of an exporter.

The form is told from the content: `topic:partition:offset` lines; CSV with names in its first line, or three columns without;
JSON lines or a JSON array; Prometheus' text format or the answer of its query API, with the metrics of kafka_exporter, kminion (and
kafka-minion before it) and kafka-lag-exporter. What cannot be read is a SourceError.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.errors import SourceError
from offsets_tool.lag.samples import EndSample
from offsets_tool.log.files.open_file import read_given_text, why
from offsets_tool.wire.json import Json, JsonObject
from offsets_tool.wire.longs import MAX_LONG

_GET_OFFSETS: Final = re.compile(r"(?P<topic>[^:,\s]+):(?P<partition>\d+):(?P<offset>-?\d*)")
_EXPOSITION: Final = re.compile(r"#|[A-Za-z_:][A-Za-z0-9_:]*(\{.*\})?\s+\S")
_NO_NAMES: Final = ["topic", "partition", "offset"]
_OFFSETS: Final[Mapping[str, str]] = {
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
_HIGHEST_PARTITION: Final = (1 << 31) - 1
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


def read_ends(path: str | Path, at: int | None = None, *, log_starts: bool = False) -> list[EndSample]:
    """Return the samples of end offsets in a file.

    `at` (epoch ms) is when they were taken if the file does not say it; None stands for the time at which the file was written.

    `log_starts`: its offsets are those of `kafka-get-offsets --time earliest`.
    """
    source = Path(path).as_posix()
    text = read_given_text(path)
    when = _written_at(Path(path)) if at is None else at
    samples = list(_samples(text, source, when))
    if not samples:
        raise SourceError(
            source,
            "has no end offsets; expected kafka-get-offsets lines (topic:partition:offset), CSV or JSON with topic, partition, "
            "at and end, or Prometheus metrics of kafka_exporter, kminion or kafka-lag-exporter",
        )
    if log_starts:
        return [
            s._replace(log_start_offset=s.end_offset, end_offset=None) if s.log_start_offset is None else s
            for s in samples
        ]
    return samples


def _written_at(path: Path) -> int:
    try:
        return int(path.stat().st_mtime * 1000)
    except OSError as error:
        raise SourceError(path.as_posix(), f"cannot be opened ({why(error)}); check the path") from error


def _samples(text: str, source: str, at: int) -> Iterator[EndSample]:
    lines = text.splitlines()
    first = next((line.strip() for line in lines if line.strip()), "")
    if first[:1] in ("{", "["):
        yield from _json(text, source, at)
    elif _GET_OFFSETS.fullmatch(first):
        yield from _get_offsets(lines, source, at)
    elif _EXPOSITION.match(first):
        yield from _samples_of_text(text, source, at)
    elif first:
        yield from _csv(lines, source, at)


def _get_offsets(lines: list[str], source: str, at: int) -> Iterator[EndSample]:
    for number, line in enumerate(lines, 1):
        match = _GET_OFFSETS.fullmatch(line.strip())
        if match is None and line.strip():
            raise SourceError(source, f"line {number} is not topic:partition:offset: {line.strip()[:80]!r}")
        # A partition without a leader is printed without its offset.
        if match is not None and match["offset"]:
            yield _row(match.groupdict(), source, number, at)


def _json(text: str, source: str, at: int) -> Iterator[EndSample]:
    try:
        whole = _parsed(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict) and "data" in whole:
        yield from _samples_of_answer(whole, source)
        return
    rows = _json_lines(text, source) if whole is None else [whole] if isinstance(whole, dict) else whole
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise SourceError(source, f"row {number} is not a JSON object")
        yield _row(row, source, number, at)


def _parsed(text: str) -> Json:
    """Return the JSON value of a text; ValueError, with a sentence for the user, for a text that is not JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(error.msg) from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError as error:
        # Python's own limit for the digits of a number, which it would have the reader raise.
        raise ValueError("a number in it is thousands of digits long") from error


def _json_lines(text: str, source: str) -> list[Json]:
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                rows.append(_parsed(line))
            except ValueError as error:
                raise SourceError(
                    source, f"line {number} is not JSON ({error}); correct or remove it"
                ) from error
    return rows


def _csv(lines: list[str], source: str, at: int) -> Iterator[EndSample]:
    rows = csv.reader(line for line in lines if line.strip())
    names = [name.strip().lower() for name in next(_each(rows, source), [])]
    start = 2
    if len(names) == len(_NO_NAMES) and names[1].isdecimal():
        rows, names, start = csv.reader(line for line in lines if line.strip()), _NO_NAMES, 1
    for number, row in enumerate(_each(rows, source), start):
        if len(row) != len(names):
            raise SourceError(source, f"row {number} has {len(row)} columns, not {len(names)}")
        yield _row(dict(zip(names, row, strict=True)), source, number, at)


def _each(rows: Iterator[list[str]], source: str) -> Iterator[list[str]]:
    try:
        yield from rows
    except csv.Error as error:
        raise SourceError(source, f"is not CSV that can be read ({error}); correct it") from error


def _row(fields: JsonObject, source: str, number: int, at: int) -> EndSample:
    try:
        return _sample_of(fields, source, at)
    except (ValueError, TypeError, OverflowError) as error:
        raise SourceError(source, f"row {number}: {error}; correct or remove it") from error


def _sample_of(fields: JsonObject, source: str = "", at: int | None = None) -> EndSample:
    """Return the sample of a row: topic, partition, at (epoch ms or ISO 8601), and any of _OFFSETS; empty and negative are unknown.

    `at` is for a row that has none. Raises ValueError, with a sentence, for a row that lacks something.
    """
    if not fields.get("topic") or fields.get("partition") in (None, ""):
        raise ValueError("a row needs `topic` and `partition`")
    when = fields.get("at", fields.get("timestamp"))
    moment = at if when in (None, "") else _time(when)
    if moment is None:
        raise ValueError("a row needs `at`: epoch milliseconds or ISO 8601")
    known = {_OFFSETS[name]: _offset(fields[name]) for name in fields if name in _OFFSETS}
    if all(offset is None for offset in known.values()):
        raise ValueError(f"a row needs one of {', '.join(sorted(_OFFSETS))}")
    return EndSample(
        str(fields["topic"]),
        _number(fields["partition"], _HIGHEST_PARTITION),
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
    offset = _number(value, MAX_LONG)
    return offset if offset >= 0 else None


def _number(value: Json, highest: int) -> int:
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
        return _number(value, MAX_LONG)
    at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return round(at.timestamp() * 1000)


class _Metric(NamedTuple):
    name: str
    labels: Mapping[str, str]
    at: int
    value: str


def _samples_of_text(text: str, source: str, at: int) -> Iterator[EndSample]:
    """Yield samples from metrics in the text format; `at` (epoch milliseconds) is the time of lines that have none of their own."""
    try:
        yield from _of_metrics(_metric_lines(text, at), source)
    except ValueError as error:
        raise SourceError(source, f"a metric has no number ({error}); fetch it again") from error


def _samples_of_answer(answer: JsonObject, source: str) -> Iterator[EndSample]:
    """Yield samples from an answer, as JSON, of Prometheus' `/api/v1/query` or `query_range`: a vector or a matrix."""
    try:
        yield from _of_metrics(_series(answer), source)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise SourceError(
            source,
            f"is not an answer of Prometheus' query API ({error!r}); save /api/v1/query_range?query=...",
        ) from error


def _metric_lines(text: str, at: int) -> Iterator[_Metric]:
    for line in text.splitlines():
        match = _LINE.fullmatch(line.strip()) if len(line) <= _LONGEST else None
        if match is not None:
            labels = {name: _unescaped(value) for name, value in _LABEL.findall(match["labels"])}
            yield _Metric(match["name"], labels, _number(match["at"] or at, MAX_LONG), match["value"])


def _unescaped(value: str) -> str:
    return re.sub(r"\\[n\"\\]", lambda found: _ESCAPED[found[0]], value)


def _series(answer: JsonObject) -> Iterator[_Metric]:
    if answer.get("status", "success") != "success":
        raise ValueError(answer.get("error", "status is not success"))
    for series in answer["data"]["result"]:
        labels = series["metric"]
        for at, value in series.get("values") or [series["value"]]:
            yield _Metric(labels.get("__name__", ""), labels, round(float(at) * 1000), value)


def _of_metrics(seen: Iterable[_Metric], source: str) -> Iterator[EndSample]:
    """Yield samples; the log start and the end that one exporter gave at one time are one sample."""
    found: dict[tuple[str, str, int, int], EndSample] = {}
    for one in seen:
        offset = _metric_offset(one.value) if one.name in _ENDS or one.name in _STARTS else None
        if offset is None:
            continue
        topic = one.labels.get("topic", one.labels.get("topic_name", ""))
        partition = _number(
            one.labels.get("partition", one.labels.get("partition_id", "-1")), _HIGHEST_PARTITION
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


def _metric_offset(value: str) -> int | None:
    """Return an offset from Prometheus' floating-point number; None for NaN, a negative or an endless one: it is not known."""
    number = float(value)
    return int(number) if 0 <= number < _TOO_FAR else None

"""End offsets from files: what kafka-get-offsets printed, our own small table, or what Prometheus has of an exporter.

The form is told from the content: `topic:partition:offset` lines; CSV with names in its first line, or three columns without;
JSON lines or a JSON array; Prometheus' text format or the answer of its query API. What cannot be read is a SourceError.
"""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from offsets_tool.errors import SourceError
from offsets_tool.lag.prometheus import samples_of_answer, samples_of_text
from offsets_tool.lag.samples import EndSample, sample_of
from offsets_tool.log.files.open_file import read_given_text, why
from offsets_tool.wire.json import Json, JsonObject

_GET_OFFSETS: Final = re.compile(r"(?P<topic>[^:,\s]+):(?P<partition>\d+):(?P<offset>-?\d*)")
_EXPOSITION: Final = re.compile(r"#|[A-Za-z_:][A-Za-z0-9_:]*(\{.*\})?\s+\S")
_NO_NAMES: Final = ["topic", "partition", "offset"]


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
        yield from samples_of_text(text, source, at)
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
        yield from samples_of_answer(whole, source)
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
        return sample_of(fields, source, at)
    except (ValueError, TypeError, OverflowError) as error:
        raise SourceError(source, f"row {number}: {error}; correct or remove it") from error

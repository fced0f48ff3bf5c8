"""Parse a broker's log file into entries, and count the lines understood. Compares nothing with records: `join` does.

Of a line it finds when it was written, by which coordinator, and its message, whatever stands around it: it takes log4j's own
layout, ISO times with and without zone, what containers and syslog put before it, JSON that holds it, and gzip.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from typing import Any, Final, NamedTuple

from offsets_tool.errors import SourceError
from offsets_tool.server_log.forms import NUMBERS
from offsets_tool.server_log.line_forms import FORMS
from offsets_tool.server_log.server_line import LineKind, ServerLine

_COORDINATOR: Final = re.compile(
    r"\[(?:Group ?Coordinator|GroupMetadataManager|Group Metadata Manager on Broker|Transaction ?Coordinator)"
    r" (?:id=|brokerId=)?-?\d+(?: topic=__consumer_offsets partition=(?P<log_partition>\d+))?\]:? (?P<message>.*)",
    re.DOTALL,
)
_LOGGER: Final = re.compile(r" \((?:[\w$]+\.)+[\w$]+\)$")
"""The class that wrote it, at the end of Kafka's layout."""
_STAMP: Final = re.compile(
    r"(?P<day>\d{4}[-/]\d\d[-/]\d\d)[T ](?P<time>\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
    r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d))?"
)
_TEXTS: Final = ("log", "message", "msg")
"""Fields of a JSON line that hold the broker's line."""
_GZIP: Final = b"\x1f\x8b"
_LONGEST: Final = 16_384
"""Bytes of a line that are looked at: beyond stand assignments, which no one asks for here."""
_MINUTE_MS: Final = 60_000


class RawLine(NamedTuple):
    """One line that a coordinator wrote; `at` is in epoch milliseconds by the file's own clock, None if it does not say."""

    number: int
    at: int | None
    is_zoned: bool
    log_partition: int | None
    message: str


class LogLines:
    """The lines of coordinators in a file, and how many lines it has in all."""

    def __init__(self, path: str) -> None:
        """Read this file once it is iterated over."""
        self._path = path
        self.count = 0
        """How many lines were read so far."""

    def __iter__(self) -> Iterator[RawLine]:
        """Yield the lines; SourceError if the file cannot be opened, EOFError if it is compressed and ends in the middle."""
        try:
            with _opened(self._path) as handle:
                yield from self._lines(handle)
        except (OSError, zlib.error) as error:
            if isinstance(error, gzip.BadGzipFile | zlib.error):
                raise EOFError(str(error)) from error
            raise SourceError(self._path, f"cannot be read ({error.strerror}); check the path") from error

    def _lines(self, handle: gzip.GzipFile | BufferedReader) -> Iterator[RawLine]:
        is_begin = True
        while raw := handle.readline(_LONGEST):
            self.count += is_begin
            # Most of a broker's log is about other things: it is not even decoded.
            if is_begin and (b"oordinator" in raw or b"Manager" in raw):
                line = _line(self.count, raw)
                if line is not None:
                    yield line
            is_begin = raw.endswith(b"\n")


def _opened(path: str) -> gzip.GzipFile | BufferedReader:
    with Path(path).open("rb") as handle:
        is_compressed = handle.read(len(_GZIP)) == _GZIP
    return gzip.open(path) if is_compressed else Path(path).open("rb")


def _line(number: int, raw: bytes) -> RawLine | None:
    text = raw.decode("utf-8", "backslashreplace").rstrip("\r\n")
    if text.startswith("{"):
        text = _in_json(text)
    found = _COORDINATOR.search(text)
    if found is None:
        return None
    at, is_zoned = _time(text[: found.start()])
    log_partition = found["log_partition"]
    return RawLine(
        number,
        at,
        is_zoned,
        None if log_partition is None else int(log_partition),
        _LOGGER.sub("", found["message"]),
    )


def _in_json(text: str) -> str:
    """Return the broker's line within a JSON object, with the object's time before it; a text that is no JSON as it is."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return text
    inner = next((fields[name] for name in _TEXTS if isinstance(fields.get(name), str)), text)
    at = next(
        (value for name, value in fields.items() if "time" in name.lower() and isinstance(value, str)), ""
    )
    return f"{at} {inner.rstrip()}"


def _time(prefix: str) -> tuple[int | None, bool]:
    """Return the last time before the message, which is the broker's own, and whether it says its zone."""
    stamps = list(_STAMP.finditer(prefix))
    if not stamps:
        return None, False
    found = stamps[-1]
    try:
        moment = datetime.fromisoformat(f"{found['day'].replace('/', '-')}T{found['time']}").replace(
            tzinfo=UTC
        )
    except ValueError:
        return None, False
    fraction = int(((found["fraction"] or "") + "000")[:3])
    return int(moment.timestamp()) * 1000 + fraction - _zone_ms(found["zone"] or "Z"), found[
        "zone"
    ] is not None


def _zone_ms(zone: str) -> int:
    """Return how far a zone is ahead of UTC: +0130 by 90 minutes."""
    if not zone.startswith(("+", "-")):
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    return (-1 if zone.startswith("-") else 1) * (hours * 60 + minutes) * _MINUTE_MS


_PATTERNS: Final = tuple((form.kind, form.pattern) for form in FORMS)
_MOST_DIGITS: Final = 18
"""Digits of a number that any field of Kafka's has: what is longer was written by nobody."""


@dataclass
class ServerLogFile:
    """The entries of one file, by its own clock, and how many of its lines were understood."""

    name: str
    entries: list[ServerLine] = field(default_factory=list)
    lines: int = 0
    understood: int = 0
    """Lines of coordinators that have a known form."""
    unknown: list[int] = field(default_factory=list)
    """Numbers of the lines of coordinators that have none."""
    is_torn: bool = False
    """Whether a compressed file ends in the middle."""


def read_server_logs(paths: Sequence[str]) -> list[ServerLogFile]:
    """Read files of brokers' logs, once each; SourceError for one that cannot be opened.

    A file is called by its name, or as it was given where two have the same name.
    """
    given = list(dict.fromkeys(paths))
    names = [Path(path).name for path in given]
    return [
        read_server_log(path, name if names.count(name) == 1 else path)
        for path, name in zip(given, names, strict=True)
    ]


def read_server_log(path: str, name: str) -> ServerLogFile:
    """Read one file of a broker's log; entries name it as `name`. SourceError for one that cannot be opened."""
    found, lines = ServerLogFile(name), LogLines(path)
    try:
        for line in lines:
            _take(found, line)
    except EOFError:
        found.is_torn = True
    found.lines = lines.count
    return found


def _take(found: ServerLogFile, line: RawLine) -> None:
    entry = parse(line, found.name)
    if entry is None:
        found.unknown.append(line.number)
        return
    found.understood += 1
    if entry.kind is not LineKind.OTHER:
        found.entries.append(entry)


def parse(line: RawLine, file: str) -> ServerLine | None:
    """Return what a line of a coordinator says; None if it has no known form."""
    for kind, pattern in _PATTERNS:
        match = pattern.fullmatch(line.message)
        if match is not None:
            fields: dict[str, Any] = {
                name: text for name, text in match.groupdict().items() if text is not None
            }
            if any(len(fields.get(name, "")) > _MOST_DIGITS for name in NUMBERS):
                return None
            return _entry(kind, line, file, fields)
    return None


def _entry(kind: LineKind, line: RawLine, file: str, fields: dict[str, Any]) -> ServerLine:
    for name in NUMBERS:
        if name in fields:
            fields[name] = int(fields[name])
    if line.log_partition is not None:
        fields["log_partition"] = line.log_partition
    heard_of = fields.pop("heard_of", None)
    if heard_of is not None:
        fields.setdefault("member_id", heard_of)
    return ServerLine(kind, file, line.number, line.at, line.is_zoned, own_at=line.at, **fields)


def groups_in(files: Iterable[ServerLogFile]) -> set[str]:
    """Return the names of all groups that entries are about."""
    return {entry.group for each in files for entry in each.entries if entry.group is not None}

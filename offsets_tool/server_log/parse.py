"""Parse a broker's log file into entries, and count the lines understood. Compares nothing with records: `join` does."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from offsets_tool.server_log.forms import NUMBERS
from offsets_tool.server_log.line_forms import FORMS
from offsets_tool.server_log.lines import LogLines, RawLine
from offsets_tool.server_log.server_line import LineKind, ServerLine

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

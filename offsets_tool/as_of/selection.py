"""What a command is asked about: groups by name, topics and a partition of theirs where offsets are meant, and a range of the log.

A name may be a pattern: * is any text, ? any character, [ab] one of these. Kafka allows these characters in names too: a text also
matches the very name that it is, and [*] or [[] is that character alone. Texts match names as they are shown (wire.text).
"""

import re
from collections.abc import Iterable
from fnmatch import translate
from typing import Final, NamedTuple

from offsets_tool.rows import LogRecord
from offsets_tool.wire.text import from_cell, from_shown, in_cell, shown, visible

_OF_PATTERNS: Final = re.compile(r"[*?[]")


def exact_text(name: str) -> str:
    """Return a text that asks for this name and no other, as --group takes it."""
    if is_pattern(name):
        return "".join(f"[{c}]" if c in "*?[" else c for c in visible(shown(name)))
    return in_cell(visible(shown(name)))


class NameFilter:
    """Names asked for by texts, which may be patterns; without texts, it leaves nothing out and is false.

    It remembers for each name whether it matched, because names repeat with every record and `missing` reports the texts that
    matched nothing.
    """

    __slots__ = ("_decided", "_exact", "_patterns", "texts")

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts: Final = tuple(dict.fromkeys(texts))
        self._exact: Final = frozenset(name for text in self.texts for name in _possible_names(text))
        self._patterns: Final = {
            text: re.compile(translate(visible(text))) for text in self.texts if is_pattern(text)
        }
        self._decided: Final[dict[str | None, bool]] = {None: False}

    def __bool__(self) -> bool:
        return bool(self.texts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NameFilter) and self._exact == other._exact

    def __hash__(self) -> int:
        return hash(self._exact)

    def __contains__(self, name: str | None) -> bool:
        """Return whether the name is asked for; None never is."""
        decided = self._decided.get(name)
        if decided is None:
            assert name is not None
            found = name in self._exact or any(self.means(text, name) for text in self._patterns)
            decided = self._decided[name] = found
        return decided

    def meet(self, names: Iterable[str | None]) -> bool:
        """Return whether any of the names is asked for; look at all of them, so that `missing` is right."""
        return sum(name in self for name in names) > 0

    @property
    def names(self) -> frozenset[str] | None:
        """The names that the texts may stand for; None where there are no texts, or some are patterns."""
        return self._exact if self.texts and not self._patterns else None

    @property
    def looked_for(self) -> list[str]:
        """The names that were looked up."""
        return [name for name in self._decided if name is not None]

    @property
    def missing(self) -> tuple[str, ...]:
        """The texts that matched none of the names looked up."""
        found = [name for name, is_one in self._decided.items() if is_one and name is not None]
        return tuple(text for text in self.texts if not any(self.means(text, name) for name in found))

    def means(self, text: str, name: str) -> bool:
        """Return whether `text`, one of the filter's texts, matches the name."""
        pattern = self._patterns.get(text)
        return name in _possible_names(text) or (
            pattern is not None and bool(pattern.match(visible(shown(name))))
        )


def _possible_names(text: str) -> tuple[str, str]:
    """Return the names that a text may stand for: as JSON lines show it, and as a table's cell does, which quotes some."""
    return from_shown(text), from_shown(from_cell(text))


def is_pattern(text: str) -> bool:
    """Return whether a text may match other names than itself."""
    return _OF_PATTERNS.search(text) is not None


ANY: Final = NameFilter()
"""Every name."""


class Wanted(NamedTuple):
    """The groups, topics and partition asked for; empty filters and None leave nothing out."""

    groups: NameFilter = ANY
    topics: NameFilter = ANY
    partition: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether groups are asked for by a pattern, or not at all, so that more than the named ones may match."""
        return not self.groups or any(map(is_pattern, self.groups.texts))

    def has_group(self, group: str) -> bool:
        """Return whether the group is asked for."""
        return not self.groups or group in self.groups

    def has_offset(self, topic: str, partition: int) -> bool:
        """Return whether offsets of this partition are asked for."""
        if self.topics and topic not in self.topics:
            return False
        return self.partition is None or partition == self.partition


class Range(NamedTuple):
    """Times (epoch ms) and log offsets, each from the first on to before the second; None is no bound."""

    times: tuple[int | None, int | None] = (None, None)
    offsets: tuple[int | None, int | None] = (None, None)

    def holds(self, record: LogRecord) -> bool:
        """Return whether a record is in the range."""
        return self.has(record.timestamp, record.log_offset)

    def has(self, timestamp: int, log_offset: int) -> bool:
        """Return whether a record with this time and log offset is in the range."""
        return _within(timestamp, self.times) and _within(log_offset, self.offsets)


def _within(number: int, bounds: tuple[int | None, int | None]) -> bool:
    first, end = bounds
    return (first is None or number >= first) and (end is None or number < end)

"""Kafka's releases as numbers that compare, and tables that are keyed by them.

A release given as `X.Y` means its last patch. A table is a tuple of (first release, value from that release on), oldest first;
`newest` finds the entry that holds for a release. Knows nothing about what the releases print.
"""

from typing import Final, TypeVar

from offsets_tool.errors import UsageError
from offsets_tool.records import kinds
from offsets_tool.records.kinds import RELEASES
from offsets_tool.wire.json import Release

T = TypeVar("T")
ByRelease = tuple[tuple[Release, T], ...]
"""What holds from each of several releases on, the oldest first."""

_LAST_PATCH: Final = 999
NEWEST: Final[Release] = (*kinds.NEWEST, _LAST_PATCH)


def parse_release(text: str) -> Release:
    """Return a release from `3.9`, `3.9.2` or `0.10.2.1`; UsageError for a text that names no release with this topic."""
    parts = text.split(".")
    if not (1 < len(parts) <= 4 and all(part.isascii() and part.isdecimal() for part in parts)):
        raise UsageError(f"{text!r} is not a Kafka release: give it as X.Y or X.Y.Z, as in 3.9.2")
    numbers = tuple(int(part) for part in parts)
    families = [family for family in RELEASES if _within(numbers, family)]
    if not families:
        raise UsageError(
            f"Kafka {text} is not a release this toolkit knows: {name_of(RELEASES[0])} to {name_of(NEWEST)}"
        )
    return numbers if len(numbers) > len(families[-1]) else (*families[-1], _LAST_PATCH)


def _within(numbers: Release, family: Release) -> bool:
    """Return whether numbers name a family: `0.10` its last one, `0.9` and `0.9.0` the same one; a patch may follow."""
    length = len(family)
    return len(numbers) <= length + 1 and numbers[:length] == family[: len(numbers)]


def name_of(release: Release) -> str:
    """Return a release as people write it."""
    return ".".join(str(number) for number in release if number != _LAST_PATCH)


def newest(table: ByRelease[T], release: Release) -> T:
    """Return the entry of the newest release in a table that is not after `release`."""
    return next(entry for since, entry in reversed(table) if since <= release)

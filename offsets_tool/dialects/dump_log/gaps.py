"""Gaps between offsets, as kafka-dump-log reports them on stderr at the end of a file.

After compaction they are normal. Source: DumpLogSegments, in Scala up to 4.2 (last gap first), in Java from 4.3 on.
"""

from collections.abc import Callable, Iterator
from typing import Final

from offsets_tool.dialects.output import Output
from offsets_tool.dialects.versions import ByRelease, newest
from offsets_tool.log.storage import as_path
from offsets_tool.wire.json import Release

_NONE: Final = -1
_HEADS: Final[ByRelease[str]] = (
    ((0, 8), "Non-secutive offsets in :"),
    ((0, 11), "Non-consecutive offsets in :"),
    ((2, 3), "Non-consecutive offsets in "),
)

Pairs = list[tuple[int, int]]


def _last_first(pairs: Pairs) -> Pairs:
    return pairs[::-1]


def _by_offset(pairs: Pairs) -> Pairs:
    return sorted(dict(pairs).items())


_ORDERS: Final[ByRelease[Callable[[Pairs], Pairs]]] = (((0, 8), _last_first), ((4, 3), _by_offset))
_FIRST_COUNTS: Final = (4, 3)
"""The first release that reports a first offset other than 0 as a gap after -1."""


class Gaps:
    """Collects the gaps of one file."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._last = _NONE
        self._pairs: Pairs = []

    def observe(self, offset: int) -> None:
        """Note the offset of a record, which should be one more than that of the record before."""
        expected = self._last != _NONE or self._release >= _FIRST_COUNTS
        if expected and offset != self._last + 1:
            self._pairs.append((self._last, offset))
        self._last = offset

    def skip_to(self, offset: int) -> None:
        """Note the last offset of a compressed wrapper, whose first offset is not known."""
        self._last = offset

    def report(self, name: str) -> Iterator[Output]:
        """Yield the report of the gaps in a file, which goes to stderr, as one error; nothing where there is no gap."""
        if not self._pairs:
            return
        lines = [newest(_HEADS, self._release) + str(as_path(name).absolute())]
        ordered = newest(_ORDERS, self._release)(self._pairs)
        lines += [f"  {before} is followed by {after}" for before, after in ordered]
        yield Output(error="\n".join(lines), is_harmless=True)

"""SHA-256 of a range of a file that grows while the range is read: every byte is hashed once, in a thread beside the reading.

Knows no batches, and does not decide what a range is.
"""

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from offsets_tool.log.mapping import map_file

_AT_ONCE: Final = 1 << 20


class RangeDigest:
    """The bytes of a plain file from `start` on. SourceError if it cannot be opened."""

    def __init__(self, path: str, start: int) -> None:
        self._mapped = map_file(path)
        self._sum = hashlib.sha256()
        self._reached = start
        self._beside = ThreadPoolExecutor(1, "sha256")
        self._last: Future[None] | None = None

    def reach(self, position: int) -> None:
        """Takes what comes before `position` too, soon."""
        if position > self._reached:
            self._last = self._beside.submit(self._update, self._reached, position)
            self._reached = position

    def upto(self, position: int) -> str:
        """Hexadecimal, of the bytes before `position`, which may not lie before one that was reached."""
        self.reach(position)
        if self._last is not None:
            self._last.result()
        return self._sum.hexdigest()

    def _update(self, start: int, end: int) -> None:
        for position in range(start, end, _AT_ONCE):
            self._sum.update(self._mapped.data[position : min(position + _AT_ONCE, end)])
            self._mapped.release(position)

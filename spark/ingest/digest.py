"""SHA-256 of a range of a file that grows while the range is read: every byte is hashed once, in a thread beside the reading.

Knows no batches, and does not decide what a range is.
"""

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Final

from offsets_tool.errors import SourceError
from offsets_tool.log.files.mapping import sha256_of
from offsets_tool.log.files.open_file import open_file

NO_BYTES: Final = hashlib.sha256().hexdigest()
"""What `sources` has in place of the digest of bytes that cannot all be read: read again, they differ from it."""


EDGE: Final = 64 << 10


def edges_digest(path: str, size: int | None = None) -> str:
    """SHA-256 of the first and the last bytes of a file, of which so many are looked at (all, without `size`); else NO_BYTES."""
    try:
        file = open_file(path)
        end = file.size if size is None else size
        head = min(EDGE, end)
        tail = max(head, end - EDGE)
        return sha256_of(chain(file.pieces(0, head), file.pieces(tail, end - tail)))
    except SourceError:
        # It is said where the file is read, or found.
        return NO_BYTES


class RangeDigest:
    """The bytes of a plain file from `start` on. SourceError if it cannot be opened."""

    def __init__(self, path: str, start: int) -> None:
        self._file = open_file(path)
        self._sum = hashlib.sha256()
        self._reached = start
        self._beside = ThreadPoolExecutor(1, "sha256")
        self._last: Future[None] | None = None
        self._is_broken = False

    def reach(self, position: int) -> None:
        """Takes what comes before `position` too, soon."""
        if position > self._reached:
            self._last = self._beside.submit(self._update, self._reached, position)
            self._reached = position

    def upto(self, position: int) -> str:
        """Hexadecimal, of the bytes before `position`, which may not lie before one that was reached; NO_BYTES if one is lost."""
        self.reach(position)
        if self._last is not None:
            self._last.result()
        return NO_BYTES if self._is_broken else self._sum.hexdigest()

    def _update(self, start: int, end: int) -> None:
        try:
            for piece in () if self._is_broken else self._file.pieces(start, end - start):
                self._sum.update(piece)
        except SourceError:
            # The ledger says what cannot be read, and why.
            self._is_broken = True

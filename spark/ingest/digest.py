"""Compute the SHA-256 of a range of a file that may grow while it is read: each byte is hashed once, in a thread of its own.

Knows no batches, and does not decide where a range ends.
"""

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Final

from offsets_tool.errors import SourceError
from offsets_tool.log.files.mapping import sha256_of
from offsets_tool.log.files.open_file import open_file

NO_BYTES: Final = hashlib.sha256().hexdigest()
"""The digest of no bytes, which stands in `sources` for bytes that cannot all be read: once readable, they differ from it."""


EDGE: Final = 64 << 10


def edges_digest(path: str, size: int | None = None) -> str:
    """Return the SHA-256 of the first and the last bytes of a file, of which the first `size` count; NO_BYTES if unreadable."""
    try:
        file = open_file(path)
        end = file.size if size is None else size
        head = min(EDGE, end)
        tail = max(head, end - EDGE)
        return sha256_of(chain(file.pieces(0, head), file.pieces(tail, end - tail)))
    except SourceError:
        # The error is reported where the file is found, or read.
        return NO_BYTES


class RangeDigest:
    """The SHA-256 of a plain file's bytes from `start` on, computed while the file is read; SourceError if it cannot be opened."""

    def __init__(self, path: str, start: int) -> None:
        self._file = open_file(path)
        self._sum = hashlib.sha256()
        self._reached = start
        self._beside = ThreadPoolExecutor(1, "sha256")
        self._last: Future[None] | None = None
        self._is_broken = False

    def reach(self, position: int) -> None:
        """Let the thread hash the bytes up to `position`; returns at once."""
        if position > self._reached:
            self._last = self._beside.submit(self._update, self._reached, position)
            self._reached = position

    def upto(self, position: int) -> str:
        """Return the digest of the bytes before `position`, in hexadecimal; NO_BYTES if one cannot be read.

        `position` may not lie before one that was given to `reach`.
        """
        self.reach(position)
        if self._last is not None:
            self._last.result()
        return NO_BYTES if self._is_broken else self._sum.hexdigest()

    def _update(self, start: int, end: int) -> None:
        try:
            for piece in () if self._is_broken else self._file.pieces(start, end - start):
                self._sum.update(piece)
        except SourceError:
            # The ledger names the bytes that cannot be read, and the reason.
            self._is_broken = True

"""An object in storage as an OpenFile: each range is fetched once, when it is asked for, and kept in a file without a name.

Whoever reads on is given ever more at once; whoever looks at single headers fetches little. All who have the same object open
share what was fetched, so that reading, checking and hashing a segment cost one transfer. Memory stays flat; the disk of TMPDIR
holds what was read of the objects that are open.
"""

import errno
import os
import tempfile
import threading
import time
from typing import Final
from weakref import WeakValueDictionary

from offsets_tool.errors import SetupError
from offsets_tool.log.files.open_file import OpenFile, why
from offsets_tool.log.storage import StoredPath
from offsets_tool.log.stored_bytes import StoredBytes

BLOCK: Final = 1 << 16
"""The least number of bytes that are fetched."""
_MOST: Final = (8 << 20) // BLOCK
"""The most blocks of one request."""
_CHECKED: Final = 10.0
"""Seconds for which an open object is taken for what is in storage, without a look."""
_OPEN: Final[WeakValueDictionary[str, "StoredFile"]] = WeakValueDictionary()
_OPENING: Final = threading.Lock()


class StoredFile(OpenFile):
    """An object that is open for reading. What storage refuses is an error as `refusals_of` has it, and no hole in the bytes."""

    def __init__(self, stored: StoredBytes, descriptor: int) -> None:
        """Take the descriptor of an empty file over, which is to hold what is fetched."""
        os.ftruncate(descriptor, stored.size)
        super().__init__(str(stored.path), descriptor)
        self._stored = stored
        self._checked = time.monotonic()
        self._is_here = bytearray(-(-stored.size // BLOCK))
        self._next = self._ahead = 0
        self._fetching = threading.Lock()

    def size_now(self) -> int:
        """Return how many bytes the object has: it cannot grow."""
        return self.size

    def is_current(self) -> bool:
        """Return whether it still is what is in storage."""
        if time.monotonic() > self._checked + _CHECKED:
            self._checked = time.monotonic()
            return StoredBytes(self._stored.path).version == self._stored.version
        return True

    def read_into(self, buffer: memoryview, position: int) -> int:
        self._fetch(position, len(buffer))
        return super().read_into(buffer, position)

    def read(self, position: int, size: int) -> bytes:
        self._fetch(position, size)
        return super().read(position, size)

    def _fetch(self, position: int, size: int) -> None:
        """Make the bytes of a range present."""
        last = min(-(-(position + size) // BLOCK), len(self._is_here))
        with self._fetching:
            block = position // BLOCK
            while (block := self._is_here.find(0, block, last)) >= 0:
                self._fetch_from(block, last - block)

    def _fetch_from(self, block: int, wanted: int) -> None:
        # Whoever goes on from where the last request ended reads from front to back.
        self._ahead = min(2 * self._ahead, _MOST) if block == self._next else 0
        end = block + min(max(self._ahead, wanted, 1), _MOST)
        after = self._is_here.find(1, block, end)
        end = min(end if after < 0 else after, len(self._is_here))
        self._keep(self._stored.read(block * BLOCK, (end - block) * BLOCK), block * BLOCK)
        self._is_here[block:end] = b"\1" * (end - block)
        self._next, self._ahead = end, max(self._ahead, end - block)

    def _keep(self, piece: bytes, position: int) -> None:
        try:
            while piece:
                count = os.pwrite(self._descriptor, piece, position)
                piece, position = piece[count:], position + count
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            remedy = "set TMPDIR to a larger disk" if full else "set TMPDIR to another folder"
            raise SetupError(f"{tempfile.gettempdir()} cannot be written ({why(error)}): {remedy}") from error


def stored_file(path: StoredPath) -> StoredFile:
    """Open an object; the same StoredFile as somebody else has open, unless it was replaced. FileNotFoundError if it is missing."""
    with _OPENING:
        opened = _OPEN.get(str(path))
        if opened is None or not opened.is_current():
            with tempfile.TemporaryFile(prefix="offsets-tool-") as file:
                opened = _OPEN[str(path)] = StoredFile(StoredBytes(path), os.dup(file.fileno()))
        return opened

"""A file's bytes as one buffer that is filled on demand; bytes that were used long ago are released, so that memory stays flat.

What cannot be read (a disk's error, a file that shrank meanwhile) is zeros and a Hole; nothing ends the process, as it would with
the file itself mapped into memory. Knows nothing about what files hold.
"""

import ctypes
import mmap
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from offsets_tool.errors import SourceError
from offsets_tool.log.files.open_file import OpenFile, why
from offsets_tool.log.holes import Hole

BLOCK: Final = 2 << 20
"""A huge page: released as a whole, it is one again when it is filled anew, where halves of it would be small pages for good."""
PAGE: Final = 1 << 12
_KEPT: Final = 32 << 20
"""Bytes that stay filled; more only while more are asked for at once."""
# Addresses are reserved, not memory, whatever the file's size. Python 3.11 does not name the flag.
_RESERVED: Final = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)


class BytesOnDemand:
    """The bytes of one file, or of a part of it: `data` has the ranges that `fetch` has read, and zeros elsewhere."""

    def __init__(
        self, file: OpenFile, start: int = 0, size: int | None = None, *, block: int = BLOCK
    ) -> None:
        """Reserve addresses for `size` bytes, to be read a `block` at a time: PAGE for single headers, BLOCK for all else.

        SourceError if the system has no addresses.
        """
        self._file = file
        self._start = start
        self._size = file.size - start if size is None else size
        self._block = block
        self._memory, self._begin = _reserve(file.path, self._size, large=block == BLOCK <= self._size)
        self._buffer = memoryview(self._memory)[self._begin : self._begin + self._size]
        self.data: Final = self._buffer.toreadonly()
        self._filled: dict[int, None] = {}
        """Numbers of blocks, the oldest first."""
        self._holes: list[Hole] = []
        if start + self._size > file.size:
            # A member of a tar that was cut off in it.
            self._lose(max(0, file.size - start), self._size, f"the file ends at byte {file.size}")

    def fetch(self, start: int, end: int) -> Sequence[Hole]:
        """Make the bytes of a range present; return the holes among them, in order. Bytes elsewhere may be zeros afterwards."""
        end = min(end, self._size)
        blocks = range(start // self._block, -(-end // self._block))
        missing = [block for block in blocks if block not in self._filled]
        if missing:
            self._make_room(blocks, len(missing))
            for first, last in _runs(missing):
                self._fill(first * self._block, min(last * self._block, self._size))
            self._filled |= dict.fromkeys(missing)
        if not self._holes:
            return ()
        return [hole for hole in self._holes if hole.start < end and start < hole.end]

    def _make_room(self, wanted: range, missing: int) -> None:
        kept = max(0, _KEPT // self._block - missing)
        for block in list(self._filled)[: max(0, len(self._filled) - kept)]:
            if block not in wanted:
                del self._filled[block]
                self._memory.madvise(mmap.MADV_DONTNEED, self._begin + block * self._block, self._block)

    def _fill(self, start: int, end: int) -> None:
        passed_over = PAGE
        while start < end:
            known = next((hole for hole in self._holes if hole.end > start), None)
            if known is not None and known.start <= start:
                start = known.end
                continue
            upto = end if known is None else min(end, known.start)
            try:
                count = self._file.read_into(self._buffer[start:upto], self._start + start)
            except OSError as error:
                # Ever more: a disk that is dead takes seconds for every answer.
                self._lose(start, self._page_end(start + passed_over), f"cannot be read: {why(error)}")
                passed_over *= 2
                continue
            if not count:
                ended = min(self._file.size_now(), self._start + start)
                self._lose(start, self._size, f"the file ended at byte {ended} while it was read")
            passed_over = PAGE
            start += count

    def _page_end(self, position: int) -> int:
        """Return the last boundary of the file's pages up to a position; the end of the data if that comes first."""
        return min((self._start + position) // PAGE * PAGE - self._start, self._size)

    def _lose(self, start: int, end: int, reason: str) -> None:
        before = next((hole for hole in self._holes if hole.end == start and hole.reason == reason), None)
        if before is not None:
            self._holes.remove(before)
            start = before.start
        self._holes = sorted([*self._holes, Hole(start, end, reason)])


def _reserve(path: str, size: int, *, large: bool) -> tuple[mmap.mmap, int]:
    """Return addresses for so many bytes, and where among them these begin: with `large`, where a huge page can."""
    room = BLOCK if large else 0
    try:
        memory = mmap.mmap(-1, max(1, size) + 2 * room, flags=_RESERVED)
    except (OSError, ValueError, OverflowError) as error:
        raise SourceError(
            path, f"has {size} bytes, more than this machine has addresses for ({why(error)})"
        ) from error
    if large and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory, -ctypes.addressof(ctypes.c_char.from_buffer(memory)) % room if room else 0


def _runs(blocks: list[int]) -> Iterator[tuple[int, int]]:
    """Yield runs of numbers that follow each other, as first and one after the last."""
    for _, run in groupby(enumerate(blocks), key=lambda item: item[1] - item[0]):
        numbers = [number for _, number in run]
        yield numbers[0], numbers[-1] + 1

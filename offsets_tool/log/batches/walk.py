"""Walks the batches of a file's bytes, and over what is damaged: every byte is in a batch or in an Unreadable.

A batch proves itself by a possible header, a size that fits and a right checksum. After bytes that prove nothing the walk
goes on at the next position that does; where it goes on depends on the bytes alone, not on where the walk began, so parts of
a file can be walked apart. Linear in time for any bytes. Knows nothing about records or files.
"""

import re
from collections.abc import Iterator
from typing import Final

from offsets_tool.errors import DecodeError
from offsets_tool.log.batches.crc import Checksums
from offsets_tool.log.batches.header import (
    HEADER_SIZE_V2,
    MAGIC_AT,
    SHORTEST_HEADER,
    TornBatch,
    lengths_fill,
    read_header,
)
from offsets_tool.log.holes import Fetch, Hole, all_there, reason_of
from offsets_tool.rows import Batch, Unreadable, UnreadableKind

SYNC_WINDOW: Final = 4 << 20
"""How far before a cut the walk begins that finds the batches around it: more than a batch of this topic has."""

# What every batch that Kafka wrote looks like, cheaply: an offset below 2^48, then by magic a size that is possible and
# attributes, lengths and times that are. Used only to find candidates, which then must prove themselves.
_CANDIDATE: Final = re.compile(
    rb"\x00\x00.{6}(?:"
    rb"[\x00-\x7f].{7}\x02.{4}\x00.[\x00-\x7f].{33}[\x00-\x7f]"
    rb"|(?!\x00\x00\x00[\x00-\x0d])[\x00-\x7f].{7}(?:"
    rb"\x00[\x00-\x0f](?:\xff{4}|[\x00-\x7f])"
    rb"|\x01[\x00-\x0f](?:\xff{8}|[\x00-\x7f].{7})(?:\xff{4}|[\x00-\x7f])"
    rb"))",
    re.DOTALL,
)
_LONGEST_PATTERN: Final = 61
_AT_ONCE: Final = 1 << 20


class Walker:
    """The batches of one buffer."""

    def __init__(
        self, data: memoryview, source: str, *, verify: bool = True, fetch: Fetch = all_there
    ) -> None:
        """Walk `data`; `fetch` is called for a range before it is read. A batch with a hole in it proves nothing."""
        self._data = data
        self._fetch = fetch
        self._source = source
        self._verify = verify
        self._checksums = Checksums(data, fetch)
        self._zeros_from: int | None = None

    def walk(self, start: int = 0) -> Iterator[Batch | Unreadable]:
        """Yield the batches and the unreadable ranges from a position to the end, without a gap; `start` is where one begins.

        A batch whose checksum is wrong is yielded (with `crc_valid` False) where its neighbours show that it stands there,
        and wherever its header is possible if the walker does not verify.
        """
        position = start
        while position < len(self._data):
            batch = self._header(position)
            if batch is not None and (batch.crc_valid or not self._verify):
                yield batch
                position += batch.size
            else:
                end = self.next_proven(position + 1)
                yield from map(self._present, self._gap(position, end))
                position = end

    def boundary(self, position: int, window: int = SYNC_WINDOW) -> int:
        """Return the begin of the first batch, from `position` on, that a walk of the whole file finds; the file's end if none.

        Walked from some way before, because bytes inside a batch could pass for batches of their own.
        """
        if not 0 < position < len(self._data):
            return min(max(position, 0), len(self._data))
        start = 0 if position <= window else self.next_proven(position - window)
        for item in self.walk(start):
            if isinstance(item, Batch) and item.crc_valid and item.position >= position:
                return item.position
        return len(self._data)

    def _header(self, position: int) -> Batch | None:
        """Return the header at a position if the batch can be read or proves nothing anyway; None if not."""
        try:
            batch = self._read_header(position)
        except DecodeError:
            return None
        proves = batch.crc_valid or not self._verify
        return None if proves and self._fetch(position, position + batch.size) else batch

    def _read_header(self, position: int) -> Batch:
        self._fetch(position, position + HEADER_SIZE_V2)
        return read_header(self._data, position, self._checksums)

    def _present(self, item: Batch | Unreadable) -> Batch | Unreadable:
        """Return an item that was found earlier; Unreadable if its bytes, fetched again, cannot be read any more."""
        if isinstance(item, Unreadable) or not (
            holes := self._fetch(item.position, item.position + item.size)
        ):
            return item
        return self._unreadable(
            item.position, item.position + item.size, UnreadableKind.DAMAGE, reason_of(holes)
        )

    def _holes(self, start: int, end: int) -> list[Hole]:
        found: dict[Hole, None] = {}
        for at in range(start, end, _AT_ONCE):
            found |= dict.fromkeys(self._fetch(at, min(at + _AT_ONCE, end)))
        return list(found)

    def next_proven(self, start: int) -> int:
        """Return the first position from `start` on where a batch as brokers write it proves itself; the file's end if none."""
        last = min(len(self._data), self._trailing_zeros() + _LONGEST_PATTERN)
        while start < last:
            end = start + _AT_ONCE
            upto = min(end + _LONGEST_PATTERN, last)
            self._fetch(start, upto)
            match = _CANDIDATE.search(self._data, start, upto)
            if match is None or match.start() >= end:
                start = end
            elif self._proves(match.start()):
                return match.start()
            else:
                start = match.start() + 1
        return len(self._data)

    def _proves(self, position: int) -> bool:
        if self._data[position + MAGIC_AT] < 2 and not lengths_fill(self._data, position, self._fetch):
            return False
        batch = self._header(position)
        return batch is not None and batch.crc_valid

    def _gap(self, start: int, end: int) -> Iterator[Batch | Unreadable]:
        """Yield the batches and unreadable ranges between two proven batches, or between one and the end."""
        batches = list(self._chain(start, end))
        reached = batches[-1].position + batches[-1].size if batches else start
        if reached == end:
            yield from batches
            return
        tail = self._tail(reached) if end == len(self._data) else None
        if tail is not None:
            yield from batches
            yield tail
            return
        zeros = max(start, self._trailing_zeros()) if end == len(self._data) else end
        if end - zeros < SHORTEST_HEADER:
            zeros = end
        yield self._unreadable(start, zeros, UnreadableKind.DAMAGE, self._why(start, zeros))
        if zeros < end:
            yield self._zero_tail(zeros)

    def _chain(self, start: int, end: int) -> Iterator[Batch]:
        """Yield headers that follow each other from `start`, none of them past `end`."""
        while start < end:
            batch = self._header(start)
            if batch is None or start + batch.size > end or self._holes(start, start + batch.size):
                return
            yield batch
            start += batch.size

    def _tail(self, start: int) -> Unreadable | None:
        """Return the rest of the file from `start` on if it is a tail as a crash or a live log leaves it; else None."""
        if start >= self._trailing_zeros() and len(self._data) - start >= SHORTEST_HEADER:
            return self._zero_tail(start)
        if self._holes(start, len(self._data)):
            return None
        try:
            self._read_header(start)
        except TornBatch as torn:
            return self._unreadable(
                start, len(self._data), UnreadableKind.TORN_TAIL, f"torn tail: {torn.reason}"
            )
        except DecodeError:
            return None
        return None

    def _zero_tail(self, start: int) -> Unreadable:
        size = len(self._data) - start
        return self._unreadable(start, len(self._data), UnreadableKind.ZERO_TAIL, f"zero tail: {size} bytes")

    def _why(self, start: int, end: int) -> str:
        if holes := self._holes(start, end):
            return reason_of(holes)
        try:
            batch = self._read_header(start)
        except DecodeError as error:
            return f"no batch can be proved here: {error.reason}"
        return (
            f"no batch can be proved here: the header says offset {batch.base_offset}, the checksum is wrong"
        )

    def _unreadable(self, start: int, end: int, kind: UnreadableKind, reason: str) -> Unreadable:
        return Unreadable(self._source, start, end - start, reason, kind)

    def _trailing_zeros(self) -> int:
        """Return the position of the zeros that end the file; its length if there are none. Unreadable bytes are not zeros."""
        if self._zeros_from is None:
            end = len(self._data)
            while end:
                start = max(0, end - _AT_ONCE)
                holes = self._fetch(start, end)
                kept = len(bytes(self._data[start:end]).rstrip(b"\0"))
                if holes:
                    kept = max(kept, min(holes[-1].end, end) - start)
                end = start + kept
                if kept:
                    break
            self._zeros_from = end
        return self._zeros_from

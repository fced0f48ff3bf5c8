"""Reads headers of the batches in one segment of a data topic, from a position that its index files give.

It decodes no record, and computes no checksum but the last batch's. Knows nothing about other segments.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from offsets_tool.errors import DecodeError, SourceError
from offsets_tool.log.batches.crc import Checksums
from offsets_tool.log.batches.header import HEADER_SIZE_V2, read_header
from offsets_tool.log.batches.misplaced import OFFSETS_OF_SEGMENT
from offsets_tool.log.files.folders import is_file
from offsets_tool.log.files.indexes import read_offset_index, read_time_index
from offsets_tool.log.files.mapping import map_file
from offsets_tool.log.files.on_demand import PAGE, BytesOnDemand
from offsets_tool.log.holes import Hole, reason_of
from offsets_tool.rows import Batch


class _Unverified(Checksums):
    """Computes none: a checksum takes the whole batch, a header its first bytes."""

    def crc32(self, start: int, end: int) -> int:
        return 0

    def crc32c(self, start: int, end: int) -> int:
        return 0


def _sibling(path: Path, suffix: str) -> Path:
    return path.with_name(path.name.split(".")[0] + suffix)


def points_of(base: int, path: Path) -> Iterator[tuple[int, int]]:
    """Yield times (epoch milliseconds) with an end that the partition had by then.

    They come from the segment's first record, and from its time index as far as that is sound.
    """
    first = next(_headers(path, 0), None)
    if first is not None:
        yield first.base_timestamp, max(base, first.base_offset) + 1
    index = _sibling(path, ".timeindex")
    if is_file(index):
        yield from ((entry.timestamp, entry.offset + 1) for entry in read_time_index(index).entries)


def position_of(path: Path, base: int, offset: int) -> int:
    """Return the position, in bytes, of a batch that begins no later than the batch with the offset."""
    index = _sibling(path, ".index")
    if offset <= base or not is_file(index):
        return 0
    entries = read_offset_index(index).entries
    i = bisect_right(entries, offset, key=lambda entry: entry.offset)
    # An entry has the last offset of the batch that it points to: the one before it begins not after the offset's batch.
    return entries[i - 1].position if i else 0


def _headers(path: Path, position: int) -> Iterator[Batch]:
    """Yield the batches of a segment from a position on, by their headers; it ends at zeros, a torn batch or damage."""
    log = map_file(path.as_posix(), block=PAGE)
    unverified = _Unverified(log.data)
    with suppress(DecodeError):
        while position < len(log.data):
            _check(path, log.fetch(position, position + HEADER_SIZE_V2))
            batch = read_header(log.data, position, unverified)
            yield batch
            position += batch.size


def _check(path: Path, holes: Sequence[Hole]) -> None:
    if holes:
        raise SourceError(path.as_posix(), f"{reason_of(holes)}; copy it again")


def batch_with(path: Path, base: int, offset: int) -> Batch | None:
    """Return the first batch of the segment whose last offset is not below `offset`; None if there is none."""
    batches = _headers(path, position_of(path, base, offset))
    first = next(batches, None)
    if first is None or first.base_offset > offset:
        # Not where a batch begins: the index is not of this file, or is damaged.
        batches = _headers(path, 0)
    elif first.last_offset >= offset:
        return first
    return next((batch for batch in batches if batch.last_offset >= offset), None)


def sound_batches(path: Path, base: int, position: int) -> tuple[Batch, ...]:
    """Return the headers of batches from `position` to the segment's end, without a last batch whose checksum is wrong.

    SourceError where offsets go back, or the last is further from the segment's base than any can be.
    """
    batches = list(_headers(path, position))
    log = map_file(path.as_posix(), block=PAGE)
    while batches and not _is_sound(path, log, batches[-1]):
        batches.pop()
    is_far = batches and batches[-1].magic == 2 and batches[-1].last_offset - base >= OFFSETS_OF_SEGMENT
    if is_far or any(
        before.last_offset >= after.base_offset for before, after in pairwise(batches) if after.magic == 2
    ):
        raise SourceError(path.as_posix(), "its batches are not in the order of their offsets; copy it again")
    return tuple(batches)


def _is_sound(path: Path, log: BytesOnDemand, batch: Batch) -> bool:
    _check(path, log.fetch(batch.position, batch.position + batch.size))
    return read_header(log.data, batch.position).crc_valid

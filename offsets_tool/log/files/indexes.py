"""Kafka's binary files beside a segment: offset and time index, and the producers' snapshot.

Zeros at the end of an index are what Kafka preallocates, and are cut off; whatever else is wrong is the file's `problem`,
beside all entries up to it. Knows nothing about the log itself.
Source: OffsetIndex, TimeIndex, ProducerStateManager.
"""

import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

import crc32c

from offsets_tool.errors import SourceError
from offsets_tool.log.files.open_file import read_whole


class IndexedOffset(NamedTuple):
    """.index: the batch that holds `offset` begins at byte `position` of the segment or before the next entry's."""

    offset: int
    position: int


class IndexedTimestamp(NamedTuple):
    """.timeindex: no record up to `offset` is later than `timestamp`."""

    timestamp: int
    offset: int


class ProducerState(NamedTuple):
    """The entry of one producer in a .snapshot file; -1 is a number that the broker did not know.

    `current_txn_first_offset` is None when no transaction is open.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int | None


Entry = TypeVar("Entry")


class IndexFile(NamedTuple, Generic[Entry]):
    """The entries of one file; `problem` says what Kafka would not accept, None when there is nothing."""

    path: str
    base_offset: int
    entries: tuple[Entry, ...]
    problem: str | None = None


_NUMBER: Final = re.compile("[0-9]{1,20}")
_INDEX: Final = struct.Struct(">ii")
_TIME: Final = struct.Struct(">qi")
_SNAPSHOT: Final = struct.Struct(">hIi")
_PRODUCER: Final = struct.Struct(">qhiqiqiq")
_SNAPSHOT_CRC_FROM: Final = 6


def read_offset_index(path: str | Path) -> IndexFile[IndexedOffset]:
    """Return the entries of an offset index, `<base offset>.index`; `problem` says what is wrong with it."""
    base = _base_offset(path)
    return _read(
        path, base, _INDEX, lambda fields: IndexedOffset(base + fields[0], fields[1]), _not_increasing
    )


def read_time_index(path: str | Path) -> IndexFile[IndexedTimestamp]:
    """Return the entries of a time index, `<base offset>.timeindex`; `problem` says what is wrong with it."""
    base = _base_offset(path)
    return _read(
        path, base, _TIME, lambda fields: IndexedTimestamp(fields[0], base + fields[1]), _not_increasing
    )


def read_producer_snapshot(path: str | Path) -> IndexFile[ProducerState]:
    """Return the producers before an offset, from `<offset>.snapshot`. A wrong checksum is a `problem`; the entries are read."""
    data = read_whole(path)
    base = _base_offset(path)
    if len(data) < _SNAPSHOT.size:
        return IndexFile(str(path), base, (), f"{len(data)} bytes are too few for a snapshot")
    version, crc, count = _SNAPSHOT.unpack_from(data)
    if version != 1:
        return IndexFile(str(path), base, (), f"version {version} is not one that is known")
    there = (len(data) - _SNAPSHOT.size) // _PRODUCER.size
    end = _SNAPSHOT.size + max(0, min(count, there)) * _PRODUCER.size
    entries = tuple(_producer(fields) for fields in _PRODUCER.iter_unpack(data[_SNAPSHOT.size : end]))
    problem = None
    if crc != crc32c.crc32c(data[_SNAPSHOT_CRC_FROM:]):
        problem = "the checksum is wrong"
    elif end != len(data) or count != len(entries):
        problem = f"says {count} producers in {len(data)} bytes"
    return IndexFile(str(path), base, entries, problem)


def _producer(fields: tuple[int, ...]) -> ProducerState:
    return ProducerState(
        producer_id=fields[0],
        producer_epoch=fields[1],
        last_sequence=fields[2],
        last_offset=fields[3],
        offset_delta=fields[4],
        timestamp=fields[5],
        coordinator_epoch=fields[6],
        current_txn_first_offset=None if fields[7] < 0 else fields[7],
    )


def _base_offset(path: str | Path) -> int:
    stem = Path(path).name.split(".")[0]
    if not _NUMBER.fullmatch(stem):
        raise SourceError(
            str(path), "is not named by its base offset, without which its entries mean nothing"
        )
    return int(stem)


def _read(
    path: str | Path,
    base: int,
    layout: struct.Struct,
    make: Callable[[tuple[int, ...]], Entry],
    wrong: Callable[[list[tuple[int, ...]], tuple[int, ...]], str | None],
) -> IndexFile[Entry]:
    data = read_whole(path)
    kept: list[tuple[int, ...]] = []
    for fields in _entries(data, layout):
        problem = wrong(kept, fields)
        if problem is not None:
            return IndexFile(str(path), base, tuple(map(make, kept)), f"entry {len(kept)}: {problem}")
        kept.append(fields)
    torn = len(data) % layout.size
    problem = f"{torn} bytes at the end are not an entry" if any(data[len(data) - torn :]) else None
    return IndexFile(str(path), base, tuple(map(make, kept)), problem)


def _entries(data: bytes, layout: struct.Struct) -> Iterator[tuple[int, ...]]:
    """Yield the entries of an index, without the zeros at its end."""
    used = -(-len(data.rstrip(b"\0")) // layout.size) * layout.size
    yield from layout.iter_unpack(data[: min(used, len(data) // layout.size * layout.size)])


def _not_increasing(kept: list[tuple[int, ...]], fields: tuple[int, ...]) -> str | None:
    if fields[-1] < 0:
        return "a negative offset or position"
    if kept and (fields[0] < kept[-1][0] or fields[1] < kept[-1][1]):
        return "not beyond the one before"
    return None

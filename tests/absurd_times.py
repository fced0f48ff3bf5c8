"""One log whose every number that is a time is at an edge: of the calendar, of Java's long, of what is exact in JSON."""

import struct
from itertools import product
from pathlib import Path
from typing import Final

from tests.log.encoded_batches import record, v2

EDGES: Final = (
    -(2**63),
    -(2**62),
    -1,
    0,
    1_700_000_000_000,
    253_402_300_799_999,
    253_402_300_800_000,
    2**53,
    2**63 - 1_000_000_000,
    2**63 - 1,
)
Record = tuple[bytes, bytes | None]


def write_absurd_times(folder: Path, log_partition: int = 3) -> Path:
    """Write the log into a directory of the log partition below `folder`, and return that directory."""
    directory = folder / f"__consumer_offsets-{log_partition}"
    directory.mkdir(parents=True)
    log = bytearray()
    offset = 0
    for timestamp, number in product(EDGES, range(len(EDGES))):
        records = [*_records(timestamp, number)]
        log += _batch(records, offset, timestamp)
        offset += len(records)
    for number, timestamp in enumerate(EDGES):
        log += _batch([(_key("in-doubt", 0), _commit(timestamp))], offset, timestamp, 16, number)
        log += _batch([_marker(number % 2)], offset + 1, EDGES[-number], 48, number)
        log += _batch([(_key("open", number), _commit(timestamp))], offset + 2, timestamp, 16, 100 + number)
        offset += 3
    (directory / f"{0:020}.log").write_bytes(log)
    return directory


def _records(timestamp: int, number: int) -> list[Record]:
    """Return commits of an empty group and of one without a record, with and without their own expiry, and a tombstone."""
    at, other = EDGES[number], EDGES[number - 3]
    about = EDGES.index(timestamp)
    return [
        (_key(f"simple-{about}", number), _commit(at)),
        (_key(f"own-{about}", number), _commit(at, other)),
        (_text(b"\0\2", f"empty-{about}-{number}"), _empty_group(at)),
        (_key(f"empty-{about}-{number}", 0), _commit(other)),
        (_key(f"gone-{number}", 0), _commit(other) if about % 2 else None),
    ]


def _text(head: bytes, text: str) -> bytes:
    return head + struct.pack(">h", len(text)) + text.encode()


def _key(group: str, partition: int) -> bytes:
    return _text(_text(b"\0\1", group), "t") + struct.pack(">i", partition)


def _commit(at: int, expire_timestamp: int | None = None) -> bytes:
    if expire_timestamp is not None:
        return struct.pack(">hqhqq", 1, 7, 0, at, expire_timestamp)
    return struct.pack(">hqihq", 3, 7, -1, 0, at)


def _empty_group(since: int) -> bytes:
    return _text(struct.pack(">h", 3), "consumer") + struct.pack(">ihhqi", 3, -1, -1, since, 0)


def _marker(outcome: int) -> Record:
    return struct.pack(">hh", 0, outcome), struct.pack(">hi", 0, 1)


def _batch(
    records: list[Record], offset: int, timestamp: int, attributes: int = 0, producer_id: int = -1
) -> bytes:
    return v2(
        offset,
        [record(number, *each) for number, each in enumerate(records)],
        attributes=attributes,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer=(producer_id, 0, -1),
    )

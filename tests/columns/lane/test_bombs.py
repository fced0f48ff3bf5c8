"""A few bytes that claim to be many cost little in both lanes, are named with what reads them, and never lose a neighbour.

What brokers may write, however well it compresses, is no bomb.
"""

import struct
import tracemalloc
from collections.abc import Callable
from typing import Final

import pytest

from offsets_tool.columns.lane.chunks import Chunk, Lane
from offsets_tool.columns.lane.layout import CAPACITY
from offsets_tool.log.batches.batch import read_batch
from offsets_tool.log.batches.limits import LIMITS, MAX_BATCH_BYTES, Limits
from offsets_tool.rows import BatchRead
from tests.columns import lanes, printing
from tests.log.encoded_batches import (
    GZIP,
    LZ4,
    SNAPPY,
    ZSTD,
    compress,
    message,
    record,
    snappy_block,
    v2,
    varint,
    wrapper,
)

KEY: Final = b"\0\1\0\1g\0\1t\0\0\0\0"
EMPTY: Final = b"\x0c\0\0\0\0\1\0"
"""The smallest record of an empty key."""
ALLOWED: Final = 24 << 20
"""Bytes of Python's memory beside what is inflated: the compiled lane's tables."""


def zstd_of_repeats(blocks: int) -> bytes:
    """Return a zstd frame whose blocks of four bytes inflate to 128 KiB each; it asks for a window of 128 MiB."""
    word = 1 << 1 | (128 << 10) << 3
    block, last = (struct.pack("<I", word | end)[:3] + b"\0" for end in (0, 1))
    return struct.pack("<IBB", 0xFD2FB528, 0, (27 - 10) << 3) + block * (blocks - 1) + last


def repeats(content: bytes, codec: int, **more: int) -> bytes:
    return v2(content=compress(codec, content), codec=codec, **more)


LONG: Final = bytes(33 << 20)
RAW_SNAPPY: Final = b"\x80\x80\x80\x20" + b"\0\0" + b"\xfe\x01\x00" * (1 << 10)
"""A block that says 64 MiB, which its bytes cannot be."""

BOMBS: Final[dict[str, Callable[[], bytes]]] = {
    "a long value, gzip": lambda: v2(records=[record(0, KEY, LONG)], codec=GZIP),
    "a long value, snappy": lambda: v2(records=[record(0, KEY, LONG)], codec=SNAPPY),
    "a long value, lz4": lambda: v2(records=[record(0, KEY, LONG)], codec=LZ4),
    "a long value, zstd": lambda: v2(records=[record(0, KEY, LONG)], codec=ZSTD),
    "many records, gzip": lambda: repeats(EMPTY * 1_000_000, GZIP, count=1_000_000),
    "many records, zstd": lambda: repeats(EMPTY * 1_000_000, ZSTD, count=1_000_000),
    "many records, within 1 MiB": lambda: repeats(EMPTY * 140_000, ZSTD, count=140_000),
    "many headers": lambda: v2(records=[record(0, KEY, None, headers=((b"", None),) * 500_000)], codec=ZSTD),
    "zstd's longest": lambda: v2(content=zstd_of_repeats(1 << 13), codec=ZSTD, count=1),
    "a wrapper's long value": lambda: wrapper(1, 0, message(1, 0, KEY, LONG), GZIP),
    "a wrapper's many messages": lambda: wrapper(1, 34_999, message(1, 0, None, None) * 35_000, GZIP),
}
"""What --max-batch-bytes reads, if it is as it says."""

LIES: Final[dict[str, bytes]] = {
    "a count beyond all": v2(records=[record(0, KEY, None)], count=2**31 - 1),
    "a count beyond all, zstd": v2(records=[record(0, KEY, None)], count=2**31 - 1, codec=ZSTD),
    "snappy's size": v2(content=RAW_SNAPPY, codec=SNAPPY, count=1),
    "a value's size": v2(records=[varint(20) + b"\0\0\0" + varint(2**31 - 1) + bytes(16)], count=1),
    "a wrapper in a wrapper": wrapper(1, 0, wrapper(1, 0, message(1, 0), GZIP), GZIP),
    "a wrapper of no bytes": wrapper(1, 0, b"", GZIP),
}
AFTER: Final = v2(1 << 20, [record(0, KEY, None)])


OFTEN: Final = (
    "a long value, zstd",
    "many records, zstd",
    "many records, within 1 MiB",
    "many headers",
    "a wrapper's long value",
)
"""One of each kind in every run; the rest, and what costs most, in make deep."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in OFTEN else pytest.mark.deep) for name in BOMBS]
)
def test_a_bomb_is_one_unreadable_range_that_names_the_option(name: str) -> None:
    data = BOMBS[name]() + AFTER
    tracemalloc.start()
    try:
        tables = lanes.assert_same(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < ALLOWED + LIMITS.content(len(data)) + 4 * len(data)
    (found,) = tables.unreadable
    assert "--max-batch-bytes" in found.reason
    entry = tables.ledger.entry()
    assert (entry.records, entry.decoded_records, entry.bytes_unreadable) == (1, 1, len(data) - len(AFTER))


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_one_unreadable_range(name: str) -> None:
    tables = lanes.assert_same(LIES[name] + AFTER)
    assert len(tables.unreadable) == 1 and tables.ledger.entry().records == 1


@pytest.mark.parametrize("dialect", ["json", "dump-log@4.3"])
def test_what_is_printed_of_bombs_is_the_same(dialect: str) -> None:
    printing.assert_same(BOMBS["many records, zstd"]() + BOMBS["zstd's longest"]() + AFTER, dialect)


ASKED: Final = Limits(64 << 20, is_asked=True)


def test_the_option_reads_them() -> None:
    for name in ("a long value, zstd", "a wrapper's long value"):
        read = read_batch(BOMBS[name](), 0, "s", limits=ASKED)
        assert read.unreadable is None and read.records


def subscriptions(members: int, size: int) -> bytes:
    """Return the value of a group whose members have equal subscriptions: only their ids differ."""
    same = b"".join(b"topic-%06d" % (number * 7919 % 1_000_000) for number in range(size // 12))
    return b"".join(b"consumer-%032x" % (number * 0x9E3779B97F4A7C15) + same for number in range(members))


LEGITIMATE: Final[dict[str, Callable[[], bytes]]] = {
    "a group of many alike": lambda: v2(records=[record(0, KEY, subscriptions(250, 120_000))], codec=ZSTD),
    "tombstones of a topic's partitions": lambda: v2(
        records=[record(n, KEY[:-4] + struct.pack(">i", n), None) for n in range(40_000)], codec=ZSTD
    ),
    "stored as it is": lambda: v2(records=[record(0, KEY, bytes(MAX_BATCH_BYTES + 1))]),
}


@pytest.mark.parametrize("name", LEGITIMATE)
def test_what_brokers_may_write_is_read(name: str) -> None:
    data = LEGITIMATE[name]()
    read = read_batch(data, 0, "s")
    assert read.unreadable is None
    rows = 0
    for item in Lane(memoryview(data), "s", 3).read():
        assert isinstance(item, Chunk) or (isinstance(item, BatchRead) and item.unreadable is None)
        rows += item.records.shape[1] if isinstance(item, Chunk) else len(item.records)
    assert rows == len(read.records)


@pytest.mark.parametrize("records", [CAPACITY, CAPACITY + 1])
def test_a_limit_that_is_asked_for_holds_in_both_lanes(records: int) -> None:
    """What the compiled lane holds is within it; what is longer is the reference's, which refuses it."""
    data = v2(records=[record(n, KEY, None) for n in range(records)])
    limits = Limits(1 << 20, is_asked=True)
    (found,) = Lane(memoryview(data), "s", 3, limits=limits).read()
    refused = read_batch(data, 0, "s", limits=limits).unreadable
    assert isinstance(found, Chunk) is (refused is None) is (records == CAPACITY)
    assert isinstance(found, Chunk) or found.unreadable == refused


def test_limits_grow_with_the_batch_and_end() -> None:
    sizes = [61, 1000, 10_000, 1 << 20, 1 << 25, 1 << 30]
    assert [LIMITS.content(size) for size in sizes[:4]] == [1 << 20, 2_000_000, 20_000_000, MAX_BATCH_BYTES]
    for size in sizes:
        assert LIMITS.content(size) <= max(MAX_BATCH_BYTES, 4 * size)
        assert LIMITS.records(size) <= min(8 * size, max(MAX_BATCH_BYTES, size) // 64)
        assert ASKED.content(size) >= 64 << 20 and ASKED.records(size) >= LIMITS.records(size)


def test_snappy_frames_of_tiny_blocks_cost_what_they_are() -> None:
    tiny = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    tiny += b"".join(struct.pack(">i", len(block)) + block for block in (snappy_block(b"x"),) * 50_000)
    assert len(lanes.assert_same(v2(content=tiny, codec=SNAPPY, count=1) + AFTER).unreadable) == 1

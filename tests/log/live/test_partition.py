"""A live partition's reader, against logs of real brokers served as brokers serve them, well and badly."""

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from offsets_tool.log.batches.batch import read_batch
from offsets_tool.log.live import partition as subject
from offsets_tool.log.live.partition import EMPTY_REPLIES, Fetched, OffsetRange, PartitionReader
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead, Unreadable, UnreadableKind
from tests.corpora import CORPORA

SEGMENT = f"{0:020}.log"
LOGS = {
    "markers": CORPORA / "4.3.1-txn" / "segments" / "__consumer_offsets-1" / SEGMENT,
    "all codecs": CORPORA / "4.1.2-codecs" / "segments" / "__consumer_offsets-0" / SEGMENT,
    "magic 1": CORPORA / "2.0.1-format0102-lz4" / "segments" / "__consumer_offsets-0" / SEGMENT,
    "magic 0": CORPORA / "0.10.2.2-format090-lz4" / "segments" / "__consumer_offsets-0" / SEGMENT,
}


class Broker:
    """Serves a log's bytes as a broker does: whole batches from the one that holds the offset, up to a size."""

    def __init__(self, data: bytes, cuts: bool = False) -> None:
        self.data = data
        self.cuts = cuts
        self.batches = []
        at = 0
        while at < len(data):
            batch = read_batch(data, at, "", verify=False).batch
            self.batches.append(batch)
            at += batch.size
        self.start = self.batches[0].base_offset
        self.end = self.batches[-1].last_offset + 1
        self.asked: list[tuple[int, int]] = []

    def fetch(self, offset: int, size: int) -> Fetched | None:
        self.asked.append((offset, size))
        if not self.start <= offset <= self.end:
            return None
        first = next((batch for batch in self.batches if batch.last_offset >= offset), None)
        if first is None:
            return Fetched(b"", self.end)
        # From Fetch version 3 on at least one batch comes whole (KIP-74); before, and behind it, bytes are cut anywhere.
        stop = first.position + (size if self.cuts else max(size, first.size))
        return Fetched(self.data[first.position : stop], self.end)

    def range(self) -> OffsetRange:
        return OffsetRange(self.start, self.end)

    def reader(self) -> PartitionReader:
        return PartitionReader("live", 7, self.fetch, self.range)


@pytest.fixture(params=LOGS)
def log(request: pytest.FixtureRequest) -> Path:
    return LOGS[request.param]


def read(path: Path) -> list[BatchRead]:
    """Return the batches that the segment reader finds in a file, with the source name of a live partition."""
    found = []
    for item in read_segment(path, log_partition=7):
        assert isinstance(item, BatchRead)
        found.append(BatchRead(item.batch, tuple(replace(record, source="live") for record in item.records)))
    assert len(found) > 3
    return found


@pytest.mark.parametrize("limit", [1, 100, 1000, 1 << 20])
@pytest.mark.parametrize("cuts", [False, True], ids=["whole", "cut"])
def test_it_is_what_the_segment_holds(
    log: Path, limit: int, cuts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches, records, positions and facts, however small the replies are."""
    monkeypatch.setattr(subject, "FETCH_BYTES", limit)
    broker = Broker(log.read_bytes(), cuts)
    reader = PartitionReader("live", 7, broker.fetch, broker.range)
    assert list(reader.read(broker.range())) == read(log)


def test_only_to_where_it_ended(log: Path) -> None:
    """What was written after reading began is left out, though a reply brings it."""
    broker = Broker(log.read_bytes())
    expected = read(log)
    for count, batch in enumerate(broker.batches):
        assert list(broker.reader().read(OffsetRange(broker.start, batch.base_offset))) == expected[:count]


def test_the_log_start_inside_a_batch() -> None:
    """The batch that holds it comes whole, as it lies in the file."""
    log = LOGS["markers"]
    broker = Broker(log.read_bytes())
    wide = next(number for number, batch in enumerate(broker.batches) if batch.count > 1)
    inside = broker.batches[wide].base_offset + 1
    items = list(broker.reader().read(OffsetRange(inside, broker.end)))
    shift = broker.batches[wide].position
    moved = [replace(item.batch, position=item.batch.position - shift) for item in read(log)[wide:]]
    assert [item.batch for item in items if isinstance(item, BatchRead)] == moved


def test_nothing_to_read() -> None:
    """An empty range asks for nothing."""
    broker = Broker(LOGS["markers"].read_bytes())
    assert list(broker.reader().read(OffsetRange(broker.end, broker.end))) == []
    assert broker.asked == []


def test_a_gap_at_the_end() -> None:
    """Compaction took the last offsets: the end is reached without a record there."""
    log = LOGS["markers"]
    broker = Broker(log.read_bytes())
    broker.end += 10
    assert list(broker.reader().read(broker.range())) == read(log)
    assert broker.asked[1:] == [(broker.end - 10, subject.FETCH_BYTES)] * 2


def test_throttled() -> None:
    """Empty replies of a throttling broker are no gap and no reason to give up."""
    log = LOGS["markers"]
    broker = Broker(log.read_bytes())
    empty = iter([Fetched(b"", broker.end, is_throttled=True)] * (2 * EMPTY_REPLIES))
    reader = PartitionReader(
        "live", 7, lambda offset, size: next(empty, None) or broker.fetch(offset, size), broker.range
    )
    assert list(reader.read(broker.range())) == read(log)


def test_nothing_comes() -> None:
    """A leader that never catches up with the end that another one named is given up, and it is said."""
    asked = []

    def fetch(offset: int, size: int) -> Fetched:
        asked.append(offset)
        return Fetched(b"", 0)

    [lost] = PartitionReader("live", 7, fetch, lambda: OffsetRange(0, 9)).read(OffsetRange(3, 9))
    assert lost == Unreadable(
        "live", 0, 0, "offsets 3 to 8 did not come, however often they were asked for", UnreadableKind.DAMAGE
    )
    assert len(asked) == EMPTY_REPLIES + 1


def reading(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchRead | Unreadable]:
    monkeypatch.setattr(subject, "FETCH_BYTES", 1)
    return PartitionReader("live", 7, broker.fetch, broker.range).read(broker.range())


def test_the_log_start_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading goes on at the new log start, and what was lost has a row."""
    log = LOGS["markers"]
    broker = Broker(log.read_bytes())
    items = reading(broker, monkeypatch)
    first = next(items)
    broker.start = broker.batches[4].base_offset
    lost, *rest = items
    assert isinstance(first, BatchRead)
    assert isinstance(lost, Unreadable)
    assert lost.reason == (
        f"offsets {first.batch.last_offset + 1} to {broker.start - 1} were removed while reading: the log start moved"
    )
    assert lost.position == first.batch.size
    assert [item.records for item in rest if isinstance(item, BatchRead)] != []
    assert [item.batch.base_offset for item in rest if isinstance(item, BatchRead)] == [
        batch.base_offset for batch in broker.batches[4:]
    ]


def test_the_whole_log_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log start beyond the end that was named: nothing more is read, and the row names only what was asked for."""
    broker = Broker(LOGS["markers"].read_bytes())
    end = broker.end
    items = reading(broker, monkeypatch)
    next(items)
    broker.start = broker.end = end + 5
    [lost] = items
    assert isinstance(lost, Unreadable)
    assert lost.reason.startswith(f"offsets {broker.batches[1].base_offset} to {end - 1} were removed")


def test_the_log_is_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader that lacks the rest was elected."""
    broker = Broker(LOGS["markers"].read_bytes())
    end = broker.end
    items = reading(broker, monkeypatch)
    next(items)
    broker.end = broker.batches[0].last_offset
    [lost] = items
    assert isinstance(lost, Unreadable)
    assert lost.reason == (
        f"offsets {broker.batches[1].base_offset} to {end - 1} were cut off while reading: a leader without them was elected"
    )


def test_an_offset_refused_for_no_reason() -> None:
    """A broker that says out of range of an offset that it says is in range is not asked for ever."""
    asked = []

    def fetch(offset: int, size: int) -> None:
        asked.append(offset)

    [lost] = PartitionReader("live", 7, fetch, lambda: OffsetRange(0, 9)).read(OffsetRange(3, 9))
    assert isinstance(lost, Unreadable)
    assert len(asked) == EMPTY_REPLIES + 1


def test_a_wrong_checksum() -> None:
    """The batch is there and unreadable; the others are read."""
    log = LOGS["markers"]
    broker = Broker(log.read_bytes())
    data = bytearray(broker.data)
    data[broker.batches[2].position + 70] ^= 1
    broker.data = bytes(data)
    items = list(broker.reader().read(broker.range()))
    bad = items.pop(2)
    expected = read(log)
    del expected[2]
    assert items == expected
    assert isinstance(bad, BatchRead)
    assert bad.unreadable is not None
    assert bad.unreadable.kind is UnreadableKind.CRC
    assert bad.unreadable.position == broker.batches[2].position


@pytest.mark.parametrize("to", [0, 3, 40, 10**6, 2**62, 2**63 - 1000])
@pytest.mark.parametrize("limit", [600, 1 << 20])
def test_a_damaged_offset(monkeypatch: pytest.MonkeyPatch, to: int, limit: int) -> None:
    """A batch that cannot stand where it says ends no reading: all others are read, and it is told apart."""
    monkeypatch.setattr(subject, "FETCH_BYTES", limit)
    sound = LOGS["markers"]
    expected, whole = read(sound), sound.read_bytes()
    for at in range(1, len(expected), 4):
        broker = Broker(whole)
        end, bad = broker.end, broker.batches[at]
        broker = Broker(whole[: bad.position] + struct.pack(">q", to) + whole[bad.position + 8 :])
        broker.end = end
        items = list(broker.reader().read(broker.range()))
        good = [item for item in items if isinstance(item, BatchRead) and item.misplaced is None]
        assert len(broker.asked) < 40 and len(items) - len(good) <= 2
        if to >= end or limit > len(whole):
            others = [item.batch.crc for n, item in enumerate(expected) if n != at]
            assert [item.batch.crc for item in good][: len(others)] == others
            assert len(items) > len(good)


def test_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that prove no batch have a row with their place, and reading goes on behind them."""
    log = LOGS["markers"]
    broker = Broker(log.read_bytes())
    data = bytearray(broker.data)
    bad = broker.batches[2]
    data[bad.position : bad.position + bad.size] = b"\xee" * bad.size
    broker.data = bytes(data)
    items = list(broker.reader().read(broker.range()))
    damage = items.pop(2)
    expected = read(log)
    del expected[2]
    assert items == expected
    assert isinstance(damage, Unreadable)
    assert (damage.position, damage.size, damage.kind) == (bad.position, bad.size, UnreadableKind.DAMAGE)


def test_damage_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but damage: more is asked for, within bounds, and then it is said what is missing."""
    broker = Broker(LOGS["markers"].read_bytes())
    broker.data = b"\xee" * len(broker.data)
    damage, lost = broker.reader().read(broker.range())
    assert isinstance(damage, Unreadable)
    assert isinstance(lost, Unreadable)
    assert (damage.position, damage.size) == (0, len(broker.data))
    assert lost.reason.startswith(
        f"offsets 0 to {broker.end - 1} could not be read: no batch can be proved here"
    )
    sizes = [size for _, size in broker.asked]
    assert sizes[-1] >= subject.LARGEST_FETCH
    assert len(sizes) < 8

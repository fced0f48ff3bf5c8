"""Files whose bytes cannot all be read: they shrink while they are open, or the disk fails. The process lives, the ledger says so.

The errors are real: the kernel's own memory file (/proc/self/mem) fails with EIO where nothing is mapped, and some files of /sys
have a size and refuse to be read.
"""

import ctypes
import mmap
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from offsets_tool.columns.lane.availability import lane_problem
from offsets_tool.columns.lane.chunks import Chunk, Lane
from offsets_tool.errors import SourceError
from offsets_tool.lag.data_log import DataLog
from offsets_tool.log.batches.walk import Walker
from offsets_tool.log.files.indexes import read_offset_index
from offsets_tool.log.files.mapping import sha256
from offsets_tool.log.files.on_demand import BLOCK, PAGE, BytesOnDemand
from offsets_tool.log.files.open_file import OpenFile, open_file
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.segment import SegmentReading, read_segment
from offsets_tool.log.topics import TopicDirectory
from offsets_tool.rows import Batch, Unreadable, UnreadableKind
from tests.log import encoded_batches
from tests.log.samples import SMALL

MEMORY = Path("/proc/self/mem")
REFUSES = Path("/sys/class/net/lo/speed")
NAME = f"{0:020}.log"


def log(count: int, start: int = 0, size: int = 200) -> bytes:
    """Return `count` batches, each with a value of `size` bytes."""
    key, value = b"\0\1\0\1g\0\1t\0\0\0\0", b"v" * size
    return b"".join(
        encoded_batches.v2(offset, [encoded_batches.record(key=key, value=value)])
        for offset in range(start, start + count)
    )


def refuses() -> Path:
    try:
        REFUSES.read_bytes()
    except OSError:
        return REFUSES
    pytest.skip(f"{REFUSES} can be read here")


KEPT: list["MemoryFile"] = []
"""Their memory stays mapped as long as it is read."""


class MemoryFile:
    """Bytes in this process's own memory, of which some pages are taken away: reading them as a file fails with EIO there."""

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self._memory = mmap.mmap(-1, len(data), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._memory[:] = data
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))

    def damage(self, page: int, pages: int) -> None:
        """Make pages unreadable: map an empty file over them, so that nothing else is mapped there."""
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        nothing = os.memfd_create("nothing")
        at, size = self.start + page * PAGE, pages * PAGE
        fixed = mmap.MAP_SHARED | 0x10
        got = libc.mmap(
            ctypes.c_void_p(at), ctypes.c_size_t(size), mmap.PROT_READ, fixed, nothing, ctypes.c_long(0)
        )
        os.close(nothing)
        assert got == at

    def open(self) -> OpenFile:
        file = OpenFile("memory", os.open(MEMORY, os.O_RDONLY))
        file.size = self.start + self.size
        return file

    def bytes(self) -> BytesOnDemand:
        there = BytesOnDemand(self.open(), self.start, self.size)
        KEPT.append(self)
        return there


def damaged(data: bytes, page: int, pages: int) -> MemoryFile:
    memory = MemoryFile(data)
    memory.damage(page, pages)
    return memory


@pytest.mark.parametrize(("page", "pages"), [(0, 1), (3, 1), (3, 7), (300, 20), (599, 1)])
def test_what_a_disk_fails_to_read_is_a_hole(page: int, pages: int) -> None:
    data = os.urandom(600 * PAGE)
    there = damaged(data, page, pages).bytes()
    for start in range(0, len(data), 64 * PAGE):
        there.fetch(start, start + 64 * PAGE)
    (hole,) = there.fetch(0, len(data))
    assert hole.start == page * PAGE and "Input/output error" in hole.reason
    # Where the disk fails again and again, more is passed over at once, but never more than failed.
    assert (page + pages) * PAGE <= hole.end <= (page + 2 * pages) * PAGE
    assert there.data[: hole.start] == data[: hole.start] and there.data[hole.end :] == data[hole.end :]


@pytest.mark.parametrize("blocks", [3, 15, 16])
def test_a_file_is_read_once_where_there_is_room_for_all(blocks: int, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(bytes(blocks * BLOCK))
    there = BytesOnDemand(open_file(str(path)))
    for start in range(0, blocks * BLOCK, 3 * BLOCK // 2):
        there.fetch(start, start + 5 * BLOCK)
    path.write_bytes(b"x" * (blocks * BLOCK))
    there.fetch(0, blocks * BLOCK)
    assert not any(there.data[::PAGE])


def reference(there: BytesOnDemand) -> list[tuple[int, int, str | None]]:
    """Return position, size and reason of each item that the reference reader yields of a file."""
    return [
        (item.position, item.size, item.reason if isinstance(item, Unreadable) else None)
        for item in Walker(there.data, "s", fetch=there.fetch).walk()
    ]


def fast(there: BytesOnDemand) -> list[tuple[int, int, str | None]]:
    found: list[tuple[int, int, str | None]] = []
    for item in Lane(there.data, "s", 0, fetch=there.fetch).read():
        if isinstance(item, Chunk):
            found += [(int(at), int(size), None) for at, size in zip(*item.batches[:2], strict=True)]
        else:
            place = item if isinstance(item, Unreadable) else item.batch
            found.append(
                (place.position, place.size, place.reason if isinstance(place, Unreadable) else None)
            )
    return found


@pytest.mark.skipif(lane_problem() is not None, reason="without the fast lane")
@pytest.mark.parametrize("size", [1000, BLOCK, 12 * BLOCK])
@pytest.mark.parametrize("at", [0.0, 0.3, 0.99])
def test_both_lanes_read_around_a_hole(size: int, at: float) -> None:
    data = log(size // 3000 + 3, size=3000)
    data += bytes(-len(data) % PAGE)
    page = int(at * (len(data) // PAGE))
    items = reference(damaged(data, page, 1).bytes())
    assert items == fast(damaged(data, page, 1).bytes())
    assert [item[0] for item in items] == [0, *(sum(item[:2]) for item in items)][:-1]
    assert sum(item[1] for item in items) == len(data)
    (lost, *_) = [item for item in items if item[2] is not None]
    assert "cannot be read: Input/output error" in str(lost[2])
    assert lost[0] <= page * PAGE < lost[0] + lost[1] <= page * PAGE + 2 * PAGE or lost[0] + lost[1] == len(
        data
    )


def test_zeros_that_were_not_read_are_no_zero_tail() -> None:
    data = log(20)
    there = damaged(data + bytes(-len(data) % PAGE + 4 * PAGE), len(data) // PAGE + 2, 1).bytes()
    kinds = [
        item.kind
        for item in Walker(there.data, "s", fetch=there.fetch).walk()
        if isinstance(item, Unreadable)
    ]
    assert kinds == [UnreadableKind.DAMAGE, UnreadableKind.ZERO_TAIL]


def test_a_batch_with_a_hole_proves_nothing_though_its_checksum_is_right() -> None:
    """The base offset is under no checksum: with its first bytes lost it would be another one."""
    empty = len(encoded_batches.v2(0, [encoded_batches.record(value=b"")]))
    first = encoded_batches.v2(0, [encoded_batches.record(value=bytes(PAGE - empty - 10))])
    size = 2 * PAGE - 4 - len(first)
    second = next(
        batch
        for length in range(size)
        if len(batch := encoded_batches.v2(1, [encoded_batches.record(value=bytes(length))])) == size
    )
    data = first + second + log(30, 1 << 40)
    there = damaged(data + bytes(-len(data) % PAGE), 1, 1).bytes()
    whole, *others = Walker(there.data, "s", fetch=there.fetch).walk()
    assert isinstance(whole, Unreadable) or whole.size == len(first)
    offsets = [item.base_offset for item in others if isinstance(item, Batch)]
    assert offsets == [(1 << 40) + number for number in range(1, 30)]


@pytest.mark.parametrize(
    ("count", "cut"),
    [
        (40, 0.0),
        (40, 0.4),
        (40, 0.99),
        pytest.param(7_000, 0.4, marks=pytest.mark.slow),
        pytest.param(7_000, 0.0, marks=pytest.mark.deep),
        pytest.param(7_000, 0.99, marks=pytest.mark.deep),
    ],
)
def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path, count: int, cut: float) -> None:
    # Places are judged before the first batch is given: of a file that is kept in memory, nothing is read again.
    data = log(count, size=200 if count == 40 else 6_000)
    path, left = tmp_path / "some.log", int(len(data) * cut)
    path.write_bytes(data)
    ledger = Ledger("here")
    items = read_segment(path, ledger=ledger)
    next(items)
    os.truncate(path, left)
    list(items)
    entry = ledger.entry()
    assert entry.bytes == len(data) == entry.bytes_in_batches + entry.bytes_unreadable
    if entry.unreadable:
        # What was in memory by then is read.
        assert f"the file ended at byte {left} while it was read" in entry.unreadable[-1].reason
        assert entry.unreadable[-1].kind is UnreadableKind.DAMAGE
    assert entry.unreadable or count == 40


def test_a_file_that_has_shrunk_has_no_hash(tmp_path: Path) -> None:
    path = tmp_path / "some.log"
    path.write_bytes(log(40))
    ledger = Ledger("here")
    reading = SegmentReading(path, ledger=ledger)
    os.truncate(path, 4000)
    list(reading.walker.walk())
    reading.finish()
    assert ledger.entry().sha256 is None


def test_memory_is_given_back_and_filled_again(tmp_path: Path) -> None:
    data = os.urandom(BLOCK) * 70
    path = tmp_path / "some.log"
    path.write_bytes(data)
    there = BytesOnDemand(OpenFile("here", os.open(path, os.O_RDONLY)))
    there.fetch(0, 10)
    assert there.data[:10] == data[:10]
    for start in range(0, len(data), 5 * BLOCK // 2):
        assert there.fetch(start, start + BLOCK) == ()
        assert there.data[start : start + BLOCK] == data[start : start + BLOCK]
    assert not any(there.data[:10])
    there.fetch(0, 10)
    assert there.data[:10] == data[:10]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_a_segment_of_which_nothing_can_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / f"__consumer_offsets-{number}").mkdir()
    (tmp_path / "__consumer_offsets-0" / NAME).symlink_to(refuses())
    (tmp_path / "__consumer_offsets-1" / NAME).write_bytes(SMALL[0].read_bytes())
    for command in ("inspect", "decode", "groups", "offsets", "history"):
        result = run(command, tmp_path)
        assert result.exit_code == 0 and result.stdout, (command, result.output)
        assert "cannot be read: Invalid argument" in result.stderr, command
    assert run("inspect", tmp_path, "--strict").exit_code == 3


def test_other_files_that_cannot_be_read_are_source_errors(tmp_path: Path) -> None:
    (tmp_path / f"{0:020}.index").symlink_to(refuses())
    (tmp_path / NAME).symlink_to(refuses())
    with pytest.raises(SourceError, match="Invalid argument"):
        read_offset_index(tmp_path / f"{0:020}.index")
    with pytest.raises(SourceError, match="Invalid argument"):
        sha256((tmp_path / NAME).as_posix())
    with pytest.raises(SourceError, match="Invalid argument"):
        assert DataLog(TopicDirectory(tmp_path.as_posix(), "t", 0, None)).end_offset
    for option in ("--ends", "--log-starts"):
        result = run("lag", tmp_path / NAME, option, refuses())
        assert result.exit_code == 1 and "Invalid argument" in result.stderr, result.output


@pytest.mark.parametrize("size", [BLOCK - 1, BLOCK, BLOCK + 1, 20 * BLOCK + 7])
def test_blocks_of_large_files_are_huge_pages(size: int, tmp_path: Path) -> None:
    """And all bytes are there each time that they are asked for, after those before them were released."""
    content = bytes(range(251)) * (size // 251 + 1)
    path = tmp_path / "large"
    path.write_bytes(content[:size])
    there = BytesOnDemand(open_file(str(path)))
    address = ctypes.addressof(ctypes.c_char.from_buffer(there._buffer))
    assert size < BLOCK or address % BLOCK == 0
    for _ in range(2):
        for start in range(0, size, BLOCK):
            assert not there.fetch(start, start + BLOCK)
            assert there.data[start : start + BLOCK] == content[start : min(start + BLOCK, size)]

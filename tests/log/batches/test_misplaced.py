"""Which batches cannot stand where they say: only those that were moved, whatever part of the file is read."""

import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.events import decode
from offsets_tool.log.batches.misplaced import BatchExtent, BatchExtents, SegmentBounds, are_in_order, judge
from offsets_tool.log.discover import find_segments
from offsets_tool.log.ledger import Ledger, LedgerEntry
from offsets_tool.log.names import Segment
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead
from tests.log.displaced_batches import displaced, flipped, moved
from tests.log.encoded_batches import GZIP, message, record, v2, wrapper
from tests.log.samples import SEGMENTS

NOTHING_KNOWN = SegmentBounds()


def misplaced(
    spans: list[tuple[int, int]], bounds: SegmentBounds = NOTHING_KNOWN, magic: int = 2
) -> list[int]:
    """Return the numbers of those batches that are misplaced, given their spans of offsets."""
    places = BatchExtents(BatchExtent(at, first, last, magic) for at, (first, last) in enumerate(spans))
    verdict = judge(places, bounds)
    found = [at for at in range(len(spans)) if verdict.get(at) is not None]
    assert not (found and are_in_order(places, bounds))
    return found


def tens(*bases: int) -> list[tuple[int, int]]:
    return [(base, base + 9) for base in bases]


FAR = 1 << 32
CASES: tuple[tuple[str, list[tuple[int, int]], SegmentBounds, list[int]], ...] = (
    ("nothing", [], SegmentBounds(0, 10), []),
    ("in order", tens(0, 10, 20), SegmentBounds(0, 30), []),
    ("gaps of compaction", tens(0, 500, 9000), SegmentBounds(0, None), []),
    ("moved up", tens(0, FAR, 20, 30), SegmentBounds(0, None), [1]),
    ("moved up by little", tens(0, 11, 20, 30), SegmentBounds(0, None), [1]),
    ("moved down by little", tens(0, 10, 19, 30), SegmentBounds(0, None), [2]),
    ("the first moved up", tens(FAR, 10), SegmentBounds(0, None), [0]),
    ("the last moved up, where the next segment is known", tens(0, 10, 21), SegmentBounds(0, 30), [2]),
    ("the last moved up beyond what a segment can have", tens(0, 10, FAR), SegmentBounds(0, None), [2]),
    ("two moved up in a row", tens(0, FAR, FAR + 10, 30, 40, 50), SegmentBounds(0, None), [1, 2]),
    ("below the name", tens(100, 10, 120), SegmentBounds(100, None), [1]),
    ("all below the name", tens(0, 10), SegmentBounds(1000, None), [0, 1]),
    ("all beyond the next segment", tens(100, 110), SegmentBounds(0, 50), [0, 1]),
    ("all far above a name that is not theirs", tens(FAR, FAR + 10), SegmentBounds(0, None), []),
    ("five and then five that go back", tens(100, 110, 0, 10), SegmentBounds(0, None), [2, 3]),
    ("a block twice", tens(0, 10, 0, 10, 20), SegmentBounds(0, None), [2, 3]),
    (
        "one record each, the later says what is left",
        [(3, 3), (5, 5), (5, 5), (6, 6)],
        SegmentBounds(3, None),
        [1],
    ),
    (
        "a batch that claims all offsets",
        [(0, 0), (1, 2**31 - 1), (2, 2), (3, 3)],
        SegmentBounds(0, None),
        [1],
    ),
    ("no name", tens(40, 20, 60), SegmentBounds(), [1]),
)


@pytest.mark.parametrize(
    ("spans", "bounds", "wanted"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_as_few_as_possible_are_misplaced(
    spans: list[tuple[int, int]], bounds: SegmentBounds, wanted: list[int]
) -> None:
    assert misplaced(spans, bounds) == wanted


def test_segments_of_old_formats_may_have_more_offsets_than_an_index_counts() -> None:
    assert misplaced(tens(0, FAR), SegmentBounds(0, None), magic=1) == []


@given(st.lists(st.integers(1, 4), min_size=3, max_size=12), st.data())
def test_one_batch_of_an_unbroken_log_that_was_moved_is_the_one(
    sizes: list[int], data: st.DataObject
) -> None:
    """Wherever it claims to be: nothing but the place that it came from is left for it."""
    spans, offset = [], data.draw(st.integers(0, 50))
    begin = offset
    for size in sizes:
        spans.append((offset, offset + size - 1))
        offset += size
    at = data.draw(st.integers(0, len(spans) - 1))
    first, last = spans[at]
    to = data.draw(st.integers(0, 2 * offset) | st.integers(0, 2**62)) if data.draw(st.booleans()) else first
    spans[at] = (to, to + last - first)
    assert misplaced(spans, SegmentBounds(begin, offset)) == ([at] if to != first else [])


def read(path: Path, **cut: int) -> tuple[list[tuple[int, str | None]], LedgerEntry]:
    """Return position and misplacement of each batch of a file, and the file's ledger."""
    ledger, found = Ledger(str(path), 3, has_hashes=False), []
    segment = Segment(path=path.as_posix(), log_partition=3, base_offset=0)
    for item in read_segment(segment, ledger=ledger, **cut):  # type: ignore[arg-type]
        if isinstance(item, BatchRead):
            found.append((item.batch.position, item.misplaced.reason if item.misplaced else None))
            for event in map(decode, item.records):
                ledger.count(event.outcome, event.kept_raw or "")
    return found, ledger.entry()


ADDED = (
    "bytes",
    "batches",
    "empty_batches",
    "out_of_order_batches",
    "misplaced_batches",
    "records",
    "records_unreadable",
)


@given(seed=st.integers(0, 2**32), cuts=st.lists(st.integers(0, 3000), max_size=4))
def test_pieces_are_judged_as_the_whole(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cuts: list[int]
) -> None:
    path = tmp_path_factory.getbasetemp() / "displaced.log"
    path.write_bytes(displaced(random.Random(seed)))
    whole, entry = read(path)
    ends = [0, *sorted(cuts), path.stat().st_size]
    parts = [read(path, start=start, end=end) for start, end in pairwise(ends)]
    assert [item for found, _ in parts for item in found] == whole
    for name in ADDED:
        assert sum(getattr(part, name) for _, part in parts) == getattr(entry, name), name
    assert entry.adds_up and entry.out_of_order_batches <= entry.misplaced_batches


def reasons(path: Path) -> list[str]:
    """Return the reason of each misplaced record of a file."""
    items = (item for item in read_segment(find_segments([path])[0]) if isinstance(item, BatchRead))
    return [record.misplaced for item in items for record in item.records if record.misplaced is not None]


def test_no_batch_that_a_broker_wrote_is_misplaced() -> None:
    for path in SEGMENTS:
        assert reasons(path) == [], path


RECORDS: tuple[tuple[str, bytes, list[str]], ...] = (
    ("below", v2(5, [record(-6)]), ["offset -1 is outside of its batch, which has 5 to 5"]),
    (
        "far below",
        v2(0, [record(-(2**31))]),
        ["offset -2147483648 is outside of its batch, which has 0 to 0"],
    ),
    ("above", v2(5, [record(0), record(2)]), ["offset 7 is outside of its batch, which has 5 to 6"]),
    (
        "twice",
        v2(5, [record(0), record(0), record(2)]),
        ["offset 5 is not above 5, which the records before it in its batch have reached"],
    ),
    ("compacted", v2(5, [record(1), record(8)], last_offset_delta=9), []),
    (
        "compacted wrapper",
        wrapper(1, 19, message(1, 2) + message(1, 5) + message(1, 9), GZIP),
        [],
    ),
    ("compacted wrapper of absolute offsets", wrapper(0, 19, message(0, 12) + message(0, 19), GZIP), []),
    (
        "wrapper that goes back inside",
        wrapper(1, 19, message(1, 5) + message(1, 2) + message(1, 9), GZIP),
        ["offset 12 is outside of its batch, which has 15 to 19"],
    ),
)


@pytest.mark.parametrize(
    ("data", "wanted"), [case[1:] for case in RECORDS], ids=[case[0] for case in RECORDS]
)
def test_records_outside_of_their_batch(tmp_path: Path, data: bytes, wanted: list[str]) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)
    assert reasons(path) == wanted


def test_the_offset_of_an_old_message_or_wrapper_is_covered_by_no_checksum_either(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    inner = message(1, 0) + message(1, 1)
    for odd in (moved(message(1, 1), FAR), moved(wrapper(1, 2, inner, GZIP), FAR)):
        path.write_bytes(message(0, 0) + odd + message(1, 3) + wrapper(1, 5, inner, GZIP))
        found, entry = read(path)
        assert [reason is None for _, reason in found] == [True, False, True, True]
        assert (entry.first_offset, entry.last_offset, entry.out_of_order_batches) == (0, 5, 0)
        assert len(reasons(path)) == len(entry.misplaced_ranges) + (entry.misplaced_ranges[0].records - 1)


def test_a_wrapper_that_reaches_into_the_batch_before_it_is_misplaced(tmp_path: Path) -> None:
    """Only its content says where it begins."""
    path = tmp_path / "00000000000000000000.log"
    inner = message(1, 0) + message(1, 1) + message(1, 2)
    wrappers = [wrapper(1, last, inner, GZIP) for last in (2, 5, 8, 11)]
    path.write_bytes(b"".join((wrappers[0], moved(wrappers[1], 4), *wrappers[2:])))
    assert len(reasons(path)) == 3 and "leave 3 to 5, as many as it has" in reasons(path)[0]
    problems = [
        decode(record).problem
        for item in read_segment(path)
        if isinstance(item, BatchRead)
        for record in item.records
    ]
    assert [(problem or "").startswith("place: ") for problem in problems[3:6]] == [True] * 3


def test_the_leader_epoch_says_nothing_about_the_place(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    chance = random.Random(5)
    while (odd := flipped(chance, v2(1)))[:12] != v2(1)[:12]:
        pass
    path.write_bytes(v2(0) + odd + v2(2))
    assert reasons(path) == []


def test_what_the_next_segment_s_name_says(tmp_path: Path) -> None:
    """Of segments in use of one partition's directory, also where one is given alone; loose files say nothing about each other."""
    folder = tmp_path / "__consumer_offsets-3"
    folder.mkdir()
    for base in (0, 10, 30):
        (folder / f"{base:020d}.log").write_bytes(v2(base))
    (folder / f"{7:020d}.log").touch()
    (folder / f"{5:020d}.log.deleted").write_bytes(v2(5))
    wanted = {0: 10, 7: 10, 10: 30, 30: None, 5: None}
    assert {s.base_offset: s.next_offset for s in find_segments([tmp_path])} == wanted
    for path in folder.iterdir():
        (alone,) = find_segments([path])
        assert alone.next_offset == wanted[alone.base_offset or 0] and alone in find_segments([folder])
    loose = folder.rename(tmp_path / "loose")
    assert {s.next_offset for s in find_segments([loose])} == {None}

"""Rows of segments through either lane: the same rows, the same ledger, at every cut."""

import random
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.columns.decode import Origin
from offsets_tool.columns.reading import RowReader, RowsRead
from offsets_tool.log.ledger import Ledger, LedgerEntry
from offsets_tool.log.names import Segment
from offsets_tool.rows import Unreadable
from tests.columns.lanes import EVENTS, LOG, SEGMENTS
from tests.corpora import CORPORA
from tests.log import encoded_batches
from tests.log.displaced_batches import KEYS, VALUE, displaced

ORIGIN = Origin("c", "s", 3, 1)
READERS = {fast: RowReader(fast=fast) for fast in (True, False)}


def read(path: Path, *, fast: bool, **cut: int) -> tuple[pa.Table, pa.Table, list[Unreadable], LedgerEntry]:
    ledger, log, events, unreadable = Ledger(str(path), 3), [], [], []
    position = None
    segment = Segment(path=path.as_posix(), base_offset=0)
    for item in READERS[fast].read(segment, ORIGIN, ledger=ledger, **cut):  # type: ignore[arg-type]
        if isinstance(item, RowsRead):
            assert position is None or item.start == position
            position = item.end
            if item.log is not None and item.events is not None:
                log.append(item.log.cast(LOG))
                events.append(item.events.cast(EVENTS))
        else:
            position = item.position + item.size
            unreadable.append(item)
    return pa.Table.from_batches(log, LOG), pa.Table.from_batches(events, EVENTS), unreadable, ledger.entry()


@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: "/".join(path.parts[-5:]))
def test_both_lanes_give_the_same_rows_and_ledger(path: Path) -> None:
    assert_same(path)


def assert_same(path: Path, **cut: int) -> tuple[pa.Table, LedgerEntry]:
    """Assert that both lanes read a file alike, and return its events and its ledger entry."""
    fast, slow = read(path, fast=True, **cut), read(path, fast=False, **cut)
    assert fast[3] == slow[3] and fast[3].adds_up
    assert fast[2] == slow[2]
    for ours, theirs in zip(fast[:2], slow[:2], strict=True):
        for name in theirs.column_names:
            assert ours.column(name).combine_chunks().equals(theirs.column(name).combine_chunks()), name
    return fast[1], fast[3]


@given(seed=st.integers(0, 2**32), cuts=st.lists(st.integers(0, 3000), max_size=2))
def test_displaced_batches(tmp_path_factory: pytest.TempPathFactory, seed: int, cuts: list[int]) -> None:
    """Headers that no checksum covers, batches that go back, junk between: every field of the ledger, whole and in pieces."""
    path = tmp_path_factory.getbasetemp() / "00000000000000000000.log"
    path.write_bytes(displaced(random.Random(seed)))
    events, whole = assert_same(path)
    ends = [0, *sorted(cuts), path.stat().st_size]
    parts = [assert_same(path, start=start, end=end) for start, end in pairwise(ends)]
    assert pa.concat_tables([part for part, _ in parts]).combine_chunks().equals(events.combine_chunks())
    for name in ("out_of_order_batches", "misplaced_batches", "batches", "empty_batches", "records", "bytes"):
        assert sum(getattr(entry, name) for _, entry in parts) == getattr(whole, name), name
    misplaced = events.column("misplaced")
    starts = [
        problem is not None and problem.startswith("place: ")
        for problem in events.column("problem").to_pylist()
    ]
    assert starts == misplaced.is_valid().to_pylist()


@pytest.mark.parametrize("batches", [1, 3])
def test_batches_without_records(tmp_path: Path, batches: int) -> None:
    """Compaction leaves the last batch of a producer without its records: nothing but such batches gives no rows."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(encoded_batches.v2(at, []) for at in range(batches)))
    events, entry = assert_same(path)
    assert (events.num_rows, entry.batches, entry.empty_batches) == (0, batches, batches)


def test_batches_that_go_back_behind_junk_are_counted_once_in_either_lane(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    ahead, back = (
        [encoded_batches.v2(at, [encoded_batches.record(0, KEYS[0], VALUE)]) for at in range(*ends)]
        for ends in ((100, 105), (0, 5))
    )
    path.write_bytes(b"".join((*ahead, b"x" * 40, *back)))
    _, entry = assert_same(path)
    assert (entry.out_of_order_batches, entry.misplaced_batches, entry.batches) == (5, 5, 10)
    assert (entry.first_offset, entry.last_offset) == (100, 104)


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "reference"])
def test_ranges_add_up(fast: bool) -> None:
    path = max(SEGMENTS, key=lambda path: path.stat().st_size)
    whole = read(path, fast=fast)[1]
    for cut in range(0, path.stat().st_size, 9973):
        first, second = read(path, fast=fast, end=cut), read(path, fast=fast, start=cut)
        assert pa.concat_tables([first[1], second[1]]).combine_chunks().equals(whole.combine_chunks())
        assert first[3].bytes + second[3].bytes == path.stat().st_size


def test_damage_gives_the_same_ledger(tmp_path: Path) -> None:
    many_batches = max((CORPORA / "4.3.1-txn").rglob("*.log"), key=lambda path: path.stat().st_size)
    data = bytearray(many_batches.read_bytes())
    data[len(data) // 4] ^= 0xFF
    data[len(data) // 2 : len(data) // 2 + 500] = bytes(500)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(bytes(data) + b"\0\1\2")
    fast, slow = read(path, fast=True), read(path, fast=False)
    assert fast[2:] == slow[2:] and len(fast[3].unreadable) >= 2
    assert fast[1].combine_chunks().equals(slow[1].combine_chunks())

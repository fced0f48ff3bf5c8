"""Rows of segments through either lane: the same rows, the same ledger, at every cut."""

from pathlib import Path

import pyarrow as pa
import pytest

from offsets_tool.columns.origin import Origin
from offsets_tool.columns.reading import RowReader, RowsRead
from offsets_tool.log.ledger import Ledger, LedgerEntry
from offsets_tool.rows import Unreadable
from tests.columns.fast.lanes import EVENTS, LOG, SEGMENTS

ORIGIN = Origin("c", "s", 3, 1)


def read(path: Path, *, fast: bool, **cut: int) -> tuple[pa.Table, pa.Table, list[Unreadable], LedgerEntry]:
    ledger, log, events, unreadable = Ledger(str(path), 3), [], [], []
    position = None
    for item in RowReader(fast=fast).read(path, ORIGIN, ledger=ledger, **cut):  # type: ignore[arg-type]
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
    fast, slow = read(path, fast=True), read(path, fast=False)
    assert fast[3] == slow[3] and fast[3].adds_up
    assert fast[2] == slow[2]
    for ours, theirs in zip(fast[:2], slow[:2], strict=True):
        assert ours.combine_chunks().equals(theirs.combine_chunks())


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "reference"])
def test_ranges_add_up(fast: bool) -> None:
    path = max(SEGMENTS, key=lambda path: path.stat().st_size)
    whole = read(path, fast=fast)[1]
    for cut in range(0, path.stat().st_size, 9973):
        first, second = read(path, fast=fast, end=cut), read(path, fast=fast, start=cut)
        assert pa.concat_tables([first[1], second[1]]).combine_chunks().equals(whole.combine_chunks())
        assert first[3].bytes + second[3].bytes == path.stat().st_size


def test_damage_gives_the_same_ledger(tmp_path: Path) -> None:
    many_batches = max((p for p in SEGMENTS if "4.3.1-txn" in p.parts), key=lambda path: path.stat().st_size)
    data = bytearray(many_batches.read_bytes())
    data[len(data) // 4] ^= 0xFF
    data[len(data) // 2 : len(data) // 2 + 500] = bytes(500)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(bytes(data) + b"\0\1\2")
    fast, slow = read(path, fast=True), read(path, fast=False)
    assert fast[2:] == slow[2:] and len(fast[3].unreadable) >= 2
    assert fast[1].combine_chunks().equals(slow[1].combine_chunks())

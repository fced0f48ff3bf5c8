"""Of a large log of each mix, relations make the rows that one record at a time makes, row for row."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from bench.generator.batches import write_batches
from bench.generator.mixes import MIXES
from offsets_tool.columns.decode import Origin
from offsets_tool.columns.reading import RowReader, RowsRead
from offsets_tool.events import Event, decode
from offsets_tool.log.segment import read_segment
from offsets_tool.relations.histories import replay_batches
from offsets_tool.relations.replays import HistoryRows, Start
from offsets_tool.relations.row_events import with_raw
from offsets_tool.rows import BatchRead
from tests.depth import DEEP
from tests.relations.test_histories import expected_of

MEGABYTES = {"commits": 90, "rich": 105, "rebalances": 220, "consumer-groups": 120}
"""Of a log of a million records of each mix."""
SHARE = 1 if DEEP else 0.005


def counted(made: Iterable[HistoryRows]) -> dict[str, Counter[int]]:
    """Return how often each row comes, by its hash: a million rows as objects would not fit beside each other."""
    counts = {name: Counter[int]() for name in HistoryRows._fields}
    for rows in made:
        for name, batch in zip(HistoryRows._fields, rows, strict=True):
            counts[name].update(hash(repr(row)) for row in batch.to_pylist())
    return counts


def events(path: Path) -> Iterator[Event]:
    for item in read_segment(path, log_partition=0):
        if isinstance(item, BatchRead):
            yield from map(decode, item.records)


def rows_of(path: Path) -> Iterator[pa.RecordBatch]:
    for item in RowReader().read(path, Origin("", "", 0, 0)):
        if isinstance(item, RowsRead) and item.log is not None and item.events is not None:
            yield with_raw(item.log, item.events)


@pytest.mark.parametrize("mix", MEGABYTES)
def test_relations_and_one_record_at_a_time(mix: str, tmp_path: Path) -> None:
    path = tmp_path / "__consumer_offsets-0" / f"{0:020d}.log"
    path.parent.mkdir()
    path.write_bytes(write_batches(MIXES[mix](Random(5)), int(MEGABYTES[mix] * SHARE * (1 << 20)), "none"))
    rows = expected_of(events(path), None, 0)
    wanted = {
        name: Counter(hash(repr(row)) for row in of_kind)
        for name, of_kind in zip(HistoryRows._fields, rows, strict=True)
    }
    assert len(rows[0]) > 500
    assert counted(replay_batches(Start(0), rows_of(path))) == wanted

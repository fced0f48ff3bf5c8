"""Histories as relations are the histories that Coordinator and History make, record by record, wherever chunks are cut."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.generator.mixes import MIXES
from offsets_tool.relations.histories import Histories, HistoryTables
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import LogRecord
from tests import plain_rows
from tests.columns.replay.test_history import expected, generated, parts, records_of, rows_of
from tests.columns.replay.test_state import PARTITIONS
from tests.depth import DEEP, sample
from tests.replay.hostile_sequences import logs
from tests.replay.random_logs import READERS, RandomLog, segment
from tests.test_checkpoint import RULES

KINDS = {name: place for place, name in enumerate(HistoryTables._fields)}
"""Where `expected` has the rows of each history."""


def made(batches: Iterable[pa.RecordBatch], rules: Rules | None, partition: int) -> list[HistoryTables]:
    histories = Histories(partition, rules)
    return [*map(histories.advance, batches), *histories.finish()]


def sorted_rows(tables: Sequence[HistoryTables], kind: str) -> list[dict[str, Any]]:
    return sorted((row for table in tables for row in getattr(table, kind).to_pylist()), key=repr)


def check(
    records: Sequence[LogRecord], batches: Iterable[pa.RecordBatch], rules: Rules | None, partition: int
) -> None:
    wanted, tables = expected(records, rules, partition), made(batches, rules, partition)
    for kind in HistoryTables._fields:
        assert sorted_rows(tables, kind) == wanted[KINDS[kind]], kind


@given(logs(), st.sampled_from(RULES), st.lists(st.integers(1, 60), max_size=4))
def test_any_log_however_it_is_cut(log: list[LogRecord], rules: Rules | None, cuts: list[int]) -> None:
    if log:
        check(log, parts(rows_of(log), cuts), rules, 0)


@pytest.mark.parametrize("size", sample([2, 1, 7, 1000], 3))
@pytest.mark.parametrize("partition", sample(PARTITIONS, 9), ids=lambda path: "/".join(path.parts[-3::2]))
def test_real_logs_in_chunks_of_any_size(partition: Path, size: int) -> None:
    records = records_of(partition)
    if not records:
        return
    rows = rows_of(records)
    number = int(partition.name.rpartition("-")[2])
    check(records, parts(rows, range(0, rows.num_rows, size)), None, number)


@pytest.mark.parametrize("mix", MIXES)
def test_large_logs(mix: str, tmp_path: Path) -> None:
    """Runs of commits between records of all kinds."""
    records = generated(mix, 1 << (20 if DEEP else 16), tmp_path)
    rows = rows_of(records)
    check(records, parts(rows, range(0, rows.num_rows, 10_000)), None, 3)


@pytest.mark.parametrize(
    ("release", "seed"), sample([(release, seed) for seed in range(4) for release in READERS], 11)
)
def test_random_logs_in_order_and_in_disorder(release: str, seed: int, tmp_path: Path) -> None:
    log = RandomLog(seed, READERS[release], disorder=0.1 * (seed % 2)).grow(250 if DEEP else 120)
    path = tmp_path / "__consumer_offsets-3" / f"{0:020d}.log"
    path.parent.mkdir()
    path.write_bytes(segment(log.placed))
    records = list(plain_rows.records([path]))
    rows = rows_of(records)
    for rules in RULES:
        check(records, parts(rows, range(0, rows.num_rows, 97)), rules, 3)

"""Histories as relations are the histories that Coordinator and History make, record by record, wherever chunks are cut."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.generator.mixes import MIXES
from offsets_tool.columns.replay.history import Start
from offsets_tool.events import decode
from offsets_tool.relations.histories import Histories, replay_batches
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules, RulesUsed
from offsets_tool.rows import LogRecord
from tests import plain_rows
from tests.columns.replay.test_history import (
    expected,
    generated,
    in_turns,
    log_facts_in_turns,
    log_facts_of,
    parts,
    records_of,
    rows_of,
    sorted_rows,
)
from tests.columns.replay.test_state import PARTITIONS
from tests.depth import DEEP, sample
from tests.replay.hostile_sequences import logs
from tests.replay.random_logs import READERS, RandomLog, segment
from tests.test_checkpoint import RULES


def rules_used(records: Sequence[LogRecord], rules: Rules | None) -> RulesUsed:
    """One at a time."""
    coordinator = Coordinator(0, rules)
    for event in map(decode, records):
        coordinator.replay(event)
    return coordinator.rules_used


def check(
    records: Sequence[LogRecord], batches: Iterable[pa.RecordBatch], rules: Rules | None, partition: int
) -> None:
    rows = list(replay_batches(Start(partition, {}, rules), batches))
    assert sorted_rows(rows) == expected(records, rules, partition)


@given(logs(), st.sampled_from(RULES), st.lists(st.integers(1, 60), max_size=4))
def test_any_log_however_it_is_cut(log: list[LogRecord], rules: Rules | None, cuts: list[int]) -> None:
    if log:
        batches = parts(rows_of(log), cuts)
        check(log, batches, rules, 0)
        assert sorted_rows(in_turns(batches, rules, 0, Histories)) == expected(log, rules, 0)
        assert log_facts_in_turns(batches, rules, Histories) == log_facts_of(log)


@given(logs(), st.sampled_from(RULES), st.lists(st.integers(1, 60), max_size=4))
def test_where_the_rules_are_proved_and_where_they_differ(
    log: list[LogRecord], rules: Rules | None, cuts: list[int]
) -> None:
    histories = Histories(Start(0, {}, rules))
    for batch in parts(rows_of(log), cuts) if log else ():
        histories.replay(batch)
    left = histories.leave()
    assert RulesUsed(left.rules, left.proved_at, left.differed_at) == rules_used(log, rules)


@given(logs(), st.sampled_from(RULES), st.sampled_from((1, 2, 7)))
def test_any_log_left_behind_each_few_records(log: list[LogRecord], rules: Rules | None, size: int) -> None:
    if log:
        batches = parts(rows_of(log), range(0, len(log), size))
        assert sorted_rows(in_turns(batches, rules, 0, Histories)) == expected(log, rules, 0)


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
        batches = parts(rows, range(0, rows.num_rows, 97))
        check(records, batches, rules, 3)
        assert sorted_rows(in_turns(batches, rules, 3, Histories)) == expected(records, rules, 3)


def test_what_a_marker_is_written_with_depends_on_the_last_commit_that_it_ends(tmp_path: Path) -> None:
    """Of commits without topic ids, so that a marker stands between a group's tombstone and the commit that brings it back."""
    log = RandomLog(13, READERS["4.3.1"]._replace(commits=(0, 1, 2, 3)), disorder=0.1).grow(300)
    path = tmp_path / "__consumer_offsets-3" / f"{0:020d}.log"
    path.parent.mkdir()
    path.write_bytes(segment(log.placed))
    records = list(plain_rows.records([path]))
    for rules in RULES:
        check(records, [rows_of(records)], rules, 3)

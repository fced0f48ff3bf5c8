"""Committed offsets saved by column: a replay left behind any record goes on as one that was not, and damage is refused."""

import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.history import HistoryReplay, ReplayEnd, Start
from offsets_tool.columns.replay.saved.saved_offsets import Plane, pack_planes, restore_live, unpack_planes
from offsets_tool.errors import SourceError
from offsets_tool.events import decode
from offsets_tool.expiry.removal_log import RemovalLog
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import LogRecord
from tests import plain_rows
from tests.columns.replay.test_history import expected, in_turns, parts, rows_of, sorted_rows
from tests.columns.replay.test_state import assert_equal
from tests.depth import DEEP, sample
from tests.replay.hostile_sequences import logs
from tests.replay.random_logs import READERS, RandomLog, segment
from tests.test_checkpoint import RULES

LONGS = st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=9)


def random_log(folder: Path, release: str, seed: int, size: int = 90) -> list[LogRecord]:
    """Return the records of a random log of partition 3."""
    path = folder / "__consumer_offsets-3" / f"{0:020d}.log"
    path.parent.mkdir()
    path.write_bytes(segment(RandomLog(seed, READERS[release], disorder=0.1 * (seed % 2)).grow(size).placed))
    return list(plain_rows.records([path]))


@given(logs(), st.sampled_from(RULES), st.sampled_from((1, 2, 7)))
def test_any_log_left_behind_each_few_records(log: list[LogRecord], rules: Rules | None, size: int) -> None:
    if log:
        batches = parts(rows_of(log), range(0, len(log), size))
        assert sorted_rows(in_turns(batches, rules, 0)) == expected(log, rules, 0)


@pytest.mark.parametrize(
    ("release", "seed"), sample([(release, seed) for seed in range(4) for release in READERS], 5)
)
def test_random_logs_left_behind_each_few_records(release: str, seed: int, tmp_path: Path) -> None:
    records = random_log(tmp_path, release, seed)
    rows, rules = rows_of(records), RULES[seed % len(RULES)]
    for size in (1, 2, 7) if DEEP else (7 - seed % 2,):
        cuts = parts(rows, range(0, rows.num_rows, size))
        assert sorted_rows(in_turns(cuts, rules, 3)) == expected(records, rules, 3)


def left_after(rows: pa.RecordBatch) -> ReplayEnd:
    """Return how a replay of these rows is left."""
    replay = HistoryReplay(Start(3))
    replay.replay(rows)
    return replay.leave()


@pytest.mark.parametrize("release", sample(list(READERS), 4))
def test_live_offsets_are_restored_as_of_a_replay_one_at_a_time(release: str, tmp_path: Path) -> None:
    records = random_log(tmp_path, release, 4)
    left = left_after(rows_of(records))
    coordinator, _, told, rest = restore_live(left.checkpoint, "c")
    assert rest and told is not None
    alone, removals = Coordinator(3), RemovalLog(3)
    for event in map(decode, records):
        removals.observe(event, alone.replay(event))
    assert_equal(coordinator, alone)
    found, wanted = (each.tracker.lifetimes.by_group for each in (told.removals, removals))
    assert {name: dict(there) for name, there in found.items()} == wanted


def test_left_at_once_it_is_as_it_was(tmp_path: Path) -> None:
    left = left_after(rows_of(random_log(tmp_path, next(iter(READERS)), 5)))
    again = HistoryReplay(Start(3, checkpoint=left.checkpoint)).leave()
    assert sorted_rows([again.rows]) == sorted_rows([left.rows])
    assert (
        restore_live(again.checkpoint, "c").coordinator.state == restore_live(left.checkpoint, "c")[0].state
    )


@given(st.lists(LONGS, min_size=1, max_size=4))
def test_any_columns_come_back(columns: list[list[int]]) -> None:
    count = min(map(len, columns))
    packed: list[Array] = [np.array(column[:count], np.int64) for column in columns]
    planes, data = pack_planes(packed)
    again = unpack_planes(planes, count, data)
    assert [column.tolist() for column in again] == [column.tolist() for column in packed]


@pytest.mark.parametrize(
    ("planes", "count"),
    [([(0, 1)], 3), ([(0, 0)], 2), ([(0, 9)], 2), ([(0, 1)], 0), ([(0, -1)], -2), ([(0.5, 1)], 2), ([], 2)],
)
def test_columns_of_another_size(planes: list[tuple[int, int]], count: int) -> None:
    with pytest.raises((TypeError, ValueError)):
        unpack_planes([Plane(*plane) for plane in planes], count, b"ab")


Lines = list[bytes]


@pytest.fixture(scope="module")
def before_and_after(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lines, pa.RecordBatch]:
    """Return the lines of a checkpoint of half a log, the last two of committed offsets, and the rows of the other half."""
    rows = rows_of(random_log(tmp_path_factory.mktemp("log"), "4.1.2", 6, size=300))
    half = rows.num_rows // 2
    text = gzip.decompress(left_after(rows.slice(0, half)).checkpoint)
    return text.split(b"\n", 3), rows.slice(half)


def go_on(lines: Lines, rows: pa.RecordBatch) -> None:
    """Go on from a checkpoint of these lines."""
    replay = HistoryReplay(Start(3, checkpoint=gzip.compress(b"\n".join(lines), 1), source="s3://b/c"))
    replay.replay(rows)
    replay.leave()


def _listed(name: str, *values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda head: head.update({name: [*values, *head[name]][: len(head[name])]})


@pytest.mark.parametrize(
    "damage",
    [
        lambda head: head.pop("owners"),
        lambda head: head.update(count=head["count"] + 1),
        lambda head: head.update(count="9"),
        lambda head: head.update(planes=head["planes"][:-1]),
        lambda head: head.update(planes=[[1 << 40, width] for _, width in head["planes"]]),
        lambda head: head.update(planes=[[-1, width] for _, width in head["planes"]]),
        lambda head: head.update(groups=head["groups"][:1] * len(head["groups"])),
        lambda head: head.update(groups=head["groups"][:1]),
        _listed("groups", None),
        _listed("topics", 3),
        _listed("topic_ids", "x"),
        _listed("texts", 3),
        _listed("owners", [None]),
        _listed("owners", ["none", *[None] * 7, True]),
        _listed("owners", [None, 1 << 31, *[None] * 6, True]),
        _listed("owners", [None, *[None] * 3, 5, *[None] * 3, True]),
        _listed("producers", 1 << 63),
        _listed("producers", "x"),
    ],
)
def test_content_of_another_shape(
    damage: Callable[[dict[str, Any]], object], before_and_after: tuple[Lines, pa.RecordBatch]
) -> None:
    (first, second, line, packed), rows = before_and_after
    go_on([first, second, line, packed], rows)
    head = json.loads(line)
    damage(head)
    with pytest.raises(SourceError, match=r"s3://b/c: .* from its start"):
        go_on([first, second, json.dumps(head).encode(), packed], rows)


def test_content_too_deep_to_read(before_and_after: tuple[Lines, pa.RecordBatch]) -> None:
    (first, second, _, packed), rows = before_and_after
    with pytest.raises(SourceError, match=r"s3://b/c: .* from its start"):
        go_on([first, second, b"[" * 100_000, packed], rows)


@given(st.data())
def test_bytes_that_are_others_are_refused_or_are_other_numbers(
    before_and_after: tuple[Lines, pa.RecordBatch], data: st.DataObject
) -> None:
    """As gzip's checksum finds nothing wrong: whatever they are, replay goes on in its bounds."""
    (first, second, line, packed), rows = before_and_after
    content = bytearray(line + b"\n" + packed)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    del content[data.draw(st.just(len(content)) | st.integers(0, len(content))) :]
    with suppress(SourceError):
        go_on([first, second, bytes(content)], rows)

"""Finders find the same in committed offsets where conditions rule nothing out, whatever the commits do and however they come."""

import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from offsets_tool.columns import offset_rows
from offsets_tool.columns.offset_rows import (
    EffectiveRows,
    OffsetRows,
    OffsetTable,
    packed_rows,
    unpacked_rows,
)
from offsets_tool.findings.context import Furthest, LogContext
from offsets_tool.findings.finders import find_all
from offsets_tool.findings.group_rows import GroupRow, LogStretch, gather
from offsets_tool.findings.rows import Finding
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.rebalances.row_builder import rebalance_rows
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.wire.arrow import shown_batch
from tests.depth import DEEP
from tests.findings.made import (
    GROUP,
    HOUR,
    LOG_PARTITION,
    MINUTE,
    SECOND,
    START,
    commit,
    group,
    member,
    removed,
    states,
)
from tests.findings.test_moves import CASES as MOVES
from tests.findings.test_rules import CASES
from tests.findings.test_stalls import CASES as STALLS

SIZES, LARGE = (1, 7, 1000), (200, 1000)
"""Of rows that are packed together; LARGE where there are many."""
BYTES_A_ROW = 120
"""What a plain commit takes in columns: numbers of eight bytes for the most part."""
STEPS = (0, 0, 1, 1, 1, 2, 5, 40)


def table(rows: Sequence[OffsetHistoryRow]) -> pa.Table:
    return pa.Table.from_batches([shown_batch(OffsetHistoryRow, rows)])


def packed(rows: Sequence[OffsetHistoryRow], size: int) -> OffsetRows:
    """Return rows of GROUP from packed pieces of several rows."""
    pieces = [
        piece
        for begin in range(0, len(rows), size)
        for home, piece in packed_rows(table(rows[begin : begin + size]))
        if home == (LOG_PARTITION, GROUP)
    ]
    return OffsetRows(unpacked_rows(pieces, are_many=size > 1))


@contextmanager
def on_demand(size: int = 7) -> Iterator[None]:
    """Let rows be kept no longer than they are asked for, as those of a large group are: of a group with more than `size`."""
    with pytest.MonkeyPatch.context() as changed:
        for name in ("KEPT", "AT_ONCE"):
            changed.setattr(offset_rows, name, size)
        yield


@contextmanager
def nothing_ruled_out() -> Iterator[None]:
    """Let finders look at each partition, and at each silence."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(EffectiveRows, "where", lambda rows, condition: list(rows.places))
        changed.setattr(EffectiveRows, "rests", lambda rows: rows.run_lengths() + 2**62)
        yield


def check(rows: Sequence[GroupRow], stretch: LogStretch, context: LogContext) -> list[Finding]:
    """Hold what is found against what is found where nothing is ruled out, and in packed rows; return it."""
    offsets = [row for row in rows if isinstance(row, OffsetHistoryRow)]
    [one] = gather(rows, stretch).values()
    expected, rebalances = list(find_all(one, context)), list(rebalance_rows(one, 10 * SECOND))
    with nothing_ruled_out():
        assert list(find_all(replace(one, offsets=one.offsets.fresh()), context)) == expected
    for size in SIZES if len(offsets) < 100 else LARGE:
        other = replace(one, offsets=packed(offsets, size)) if offsets else one
        assert list(find_all(other, context)) == expected
        assert list(rebalance_rows(other, 10 * SECOND)) == rebalances
        assert list(other.offsets) == list(one.offsets)
    return expected


@pytest.mark.parametrize("case", (*CASES, *MOVES, *STALLS), ids=lambda case: case.what)
def test_each_case_of_finders(case: Any) -> None:
    given = dict(case.given)
    newest = START + given.pop("until_after", HOUR)
    own = given.pop("own_until_after", None)
    stretch = LogStretch(LOG_PARTITION, given.pop("proven_from", 0), newest_at=own and START + own)
    context = LogContext(newest_at=newest, **{"has_raised_epochs": False, **given})
    for kept in (nullcontext(), on_demand()):
        with kept:
            check(case.rows, stretch, context)


class _Partition:
    """Commits of one partition as some consumer makes them: steady, slow, hasty, or anything."""

    def __init__(self, random: Random, number: int) -> None:
        self.random, self.number = random, number
        self.offset: int | None = None
        self.steps = random.choice([STEPS, (1, 2), (0,), (1, 300), (*STEPS, -3), (0, 0, 0, 0, 1)])
        self.topic = random.choice(["payments", "refunds", "nötig", "\udc80 torn"])
        self.owner = random.choice([None, "m-0", "m-1"])
        self.rows: list[OffsetHistoryRow] = []

    def commit(self, log_offset: int, after: int, is_odd: bool) -> None:
        random, step = self.random, self.random.choice(self.steps)
        before, self.offset = self.offset, max(0, (self.offset or 50) + step)
        odd = _odd(random, log_offset, after) if is_odd else {}
        if self.rows and self.rows[-1].end_cause is None:
            end = {"to_log_offset": log_offset, "to_timestamp": START + after, "end_cause": "superseded"}
            self.rows[-1] = self.rows[-1]._replace(**end)
        delta = None if before is None else self.offset - before
        fields = {"topic": self.topic, "partition": self.number, "delta": delta, "member_id": self.owner}
        self.rows.append(commit(log_offset, after, self.offset, **(fields | odd)))
        if self.rows[-1].end_cause is not None:
            self.offset = None


def _odd(random: Random, log_offset: int, after: int) -> dict[str, Any]:
    """Return fields of a commit that is none of the plain ones."""
    ended = {"to_log_offset": log_offset, "to_timestamp": START + after}
    return random.choice(
        [
            {"metadata": "m" * random.choice([9, 3_071, 3_072, 5_000])},
            {"topic_id": random.choice(["id-1", "id-2"])},
            {"commit_timestamp": START + after + random.choice([59_999, 60_000, -90_000])},
            {"commit_timestamp": -1},
            {"from_timestamp": random.choice([-1, START, START + after - 61_000])},
            {"from_timestamp": 2**63 - 1},
            {"end_cause": random.choice(["deleted", "group deleted", "absent"]), **ended},
            {"is_effective": False, "producer_id": 5, "begin_cause": "transaction"},
            {"begin_cause": "transaction", "producer_id": 5, "from_log_offset": log_offset + 1},
            {"is_effective": False, "begin_cause": "hidden", "delta": None},
            {"begin_cause": "revealed", "delta": None},
        ]
    )


def commits(random: Random) -> list[OffsetHistoryRow]:
    """Return the commits of some partitions, most of them plain, with pauses now and then."""
    partitions = [_Partition(random, number) for number in range(random.choice([1, 2, 5]))]
    pause, share = random.choice([100, SECOND, 10 * SECOND]), random.choice([0, 0, 0.002, 0.02])
    after = 0
    for number in range(random.choice([5, 80, 1_100])):
        after += random.choice([*[pause] * 300, 6 * MINUTE, HOUR])
        random.choice(partitions).commit(3 * number + 1, after, random.random() < share)
    return [row for each in partitions for row in each.rows]


def others(random: Random, end: int, after: int) -> list[GroupRow]:
    """Return states of the group, its members, and offsets that it lost, anywhere in the log; or nothing."""
    if random.random() < 0.3:
        return []
    places = sorted(random.sample(range(end + 2), min(random.choice([1, 2, 4]), end)))
    at = [place * after // (end + 2) for place in places]
    rows: list[GroupRow] = [
        *states(
            *(
                group(place, when, random.choice([0, 1, 2]), generation=n)
                for n, (place, when) in enumerate(zip(places, at, strict=True))
            )
        )
    ]
    left = {"to_log_offset": places[-1] + 1, "to_timestamp": START + at[-1] + 1, "end_cause": "left"}
    rows.append(member(places[0], at[0], member_id="m-0", **random.choice([{}, left])))
    if random.random() < 0.5:
        rows.append(removed(places[0], at[0], random.choice(["retention", "offsets_deleted"]), partition=0))
    return rows


@pytest.mark.parametrize("part", range(4))
def test_random_groups_of_many_plain_commits(part: int) -> None:
    kinds = Counter[str]()
    for seed in range(part, 2_000 if DEEP else 32, 4):
        random = Random(seed)
        offsets = commits(random)
        end, last = max(row.from_log_offset for row in offsets), max(row.commit_timestamp for row in offsets)
        rows = [*offsets, *others(random, end, max(last - START, 1))]
        stretch = LogStretch(LOG_PARTITION, random.choice([0, 0, end // 2]), end + 1, last)
        furthest = {TopicPartition("payments", 0): Furthest(10**6, "other")}
        newest = last + random.choice([0, HOUR])
        with random.choice([nullcontext, on_demand])():
            found = check(
                rows, stretch, LogContext(newest_at=newest, commits=len(offsets), furthest=furthest)
            )
        kinds.update(each.kind for each in found)
    assert len(kinds) > 4


def test_plain_commits_are_never_made_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a group that moves on steadily finders ask for the last rows of its partitions at most."""
    offsets = [commit(n, n * 5 * SECOND, n, delta=n and 1, partition=n % 3) for n in range(300)]
    asked = list[int]()
    taken = OffsetTable.taken

    def watched(table: OffsetTable, places: Any, *names: Any) -> pa.Table:
        asked.extend(places.tolist())
        return taken(table, places, *names)

    monkeypatch.setattr(OffsetTable, "taken", watched)
    context = LogContext(newest_at=START + 300 * 5 * SECOND)

    def found_in(offsets: list[OffsetHistoryRow]) -> list[str]:
        [rows] = gather([group(0, 0, 1), member(0, 0), *offsets], LogStretch(LOG_PARTITION)).values()
        return [each.kind for each in find_all(rows, context)]

    assert found_in(offsets) == [] and set(asked) <= {297, 298, 299}
    offsets[7] = offsets[7]._replace(delta=-1)
    assert found_in(offsets) == ["rewind"] and {number % 3 for number in asked if number < 297} == {1}


def test_rows_of_a_large_group_are_not_kept() -> None:
    """Of a group in which much is odd, finders keep few of the rows, unless its rows are few."""
    offsets = [
        commit(
            n,
            n * SECOND // 200 - (n % 900 == 7) * HOUR,
            n // 90 % 25,
            partition=n % 90,
            delta=None if n < 90 else 1 if n // 90 % 25 else -24,
            commit_timestamp=START - HOUR,
            metadata="m" * (4_000 if n == 7 else 9),
        )
        for n in range(4_500)
    ]
    [rows] = gather([group(0, 0, 1), member(0, 0)], LogStretch(LOG_PARTITION)).values()
    columns, kinds = table(offsets), set[str]()

    def find() -> None:
        its = OffsetRows(OffsetTable(columns))
        context = LogContext(newest_at=START + 24 * HOUR)
        kinds.update(each.kind for each in find_all(replace(rows, offsets=its), context))

    find()
    assert kinds >= {
        "commit_time_skew",
        "clock_went_back",
        "commit_flood",
        "large_metadata",
        "rewind",
        "stalled",
    }
    all_rows = _peak(find)
    with on_demand(100):
        assert 3 * _peak(find) < all_rows


def test_columns_of_a_group_are_there_once() -> None:
    """What is packed goes as it is unpacked, what all rows say is no column, and of a column that is sorted one is left.

    Also beside a group that says more.
    """
    offsets = [commit(n, n * SECOND, n, partition=n % 90) for n in range(9_000)]
    others = [
        each._replace(group="another", member_id="m", client_id="c", generation=7) for each in offsets[:70]
    ]
    pieces = [
        rows
        for at in range(0, 9_000, 1_000)
        for (_, group), rows in packed_rows(table([*offsets[at : at + 1_000], *others]))
        if group == GROUP
    ]
    before = pa.total_allocated_bytes()
    found = OffsetRows(unpacked_rows(pieces[::-1], are_many=True))
    assert found.by_partition.moved_at and found.by_partition.run_lengths().any()
    assert (pa.total_allocated_bytes() - before) / len(offsets) < BYTES_A_ROW
    assert list(found) == offsets


def test_fields_of_a_partition_are_its_own_though_others_were_not_wanted() -> None:
    offsets = [commit(n, n * SECOND, n, partition=n % 3) for n in range(30)]
    rows = OffsetRows(OffsetTable.of(offsets)).by_partition
    for at, fields in rows.fields_of(rows.places, ("partition", "committed_offset")):
        if at.partition:
            assert list(fields) == [(at.partition, n) for n in range(30) if n % 3 == at.partition]


def test_ids_of_one_record_are_in_the_order_of_its_subjects() -> None:
    rows = [
        commit(1, 0, 1, topic="a", topic_id="id-0"),
        commit(5, 0, 1, topic="a", partition=1, topic_id="id-1"),
        commit(5, 0, 1, topic="a", partition=2, topic_id="id-2"),
    ]
    for some in (rows, rows[::-1]):
        with on_demand(1):
            found = check(some, LogStretch(LOG_PARTITION), LogContext(newest_at=START + HOUR))
            told = [each.title for each in found if each.kind == "topic_recreated"]
            assert ["id-1" in title for title in told] == [True, True] and "id-0" in told[0]


def test_rows_of_one_record_are_in_the_order_of_their_subjects() -> None:
    """Two rows of one log offset, however they come: which is the first decides whether the clock went back."""
    first = commit(5, 120_000, 1, topic="a", commit_timestamp=START + 120_000)
    second = commit(5, 0, 1, topic="b")
    for rows in ([first, second], [second, first]):
        for kept in (nullcontext(), on_demand(1)):
            with kept:
                found = check(rows, LogStretch(LOG_PARTITION), LogContext(newest_at=START + HOUR))
                assert [each.kind for each in found] == ["clock_went_back"]


def _peak(do: Callable[[], object]) -> int:
    """Return the most bytes that Python's objects take meanwhile."""
    tracemalloc.start()
    try:
        do()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

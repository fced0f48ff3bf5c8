"""Lag many at a time is that of the plain functions, however rows are cut into batches."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.job_rows import EndRow
from offsets_tool.lag.batches import COLUMNS, ORDER, LagAsked, lag_batches, rows_on_grid
from offsets_tool.lag.rows import LagRow
from offsets_tool.lag.samples import EndMethod, EndSample
from offsets_tool.replay.changes import OffsetOf, TopicPartition
from offsets_tool.wire.arrow import arrow_schema, record_batch
from tests.lag.one_by_one import (
    Bounds,
    Ends,
    commit_of,
    effective_commits,
    lag_at_commits,
    lag_on_grid,
)

GRID, NEWEST = 7, 60
TYPES = {field.name: field.type for row in (EndRow, OffsetHistoryRow) for field in arrow_schema(row)}
Row = dict[str, Any]
numbers = st.integers(0, 50)
places = st.fixed_dictionaries(
    {
        "cluster": st.sampled_from("ab"),
        "topic": st.sampled_from(("t", "ü")),
        "partition": st.integers(0, 1),
        "topic_id": st.sampled_from((None, "id", "another")),
    }
)
commits = st.fixed_dictionaries(
    {
        "group": st.sampled_from("gh"),
        "log_partition": st.sampled_from((None, 0, 1)),
        "from_timestamp": st.one_of(st.just(-1), numbers),
        "to_timestamp": st.one_of(st.none(), st.just(-1), numbers),
        "is_effective": st.booleans(),
        "is_again": st.booleans(),
        "committed_offset": numbers,
        "commit_timestamp": numbers,
    }
)
samples = st.fixed_dictionaries(
    {
        "timestamp": numbers,
        "log_start_offset": st.one_of(st.none(), numbers),
        "last_stable_offset": st.one_of(st.none(), numbers),
        "end_offset": st.one_of(st.none(), numbers),
        "method": st.sampled_from(("sampled", "index")),
        "source": st.sampled_from(("x", "y")),
    }
)

rows = st.lists(st.builds(lambda place, said: place | said, places, st.one_of(commits, samples)), max_size=20)


def ordered(found: list[Row]) -> list[Row]:
    numbered = [
        dict.fromkeys(COLUMNS)
        | row
        | {"from_log_offset": at, "commit_log_offset": at - row.get("is_again", False)}
        for at, row in enumerate(found)
    ]
    return sorted(numbered, key=lambda row: [(row[name] is not None, row[name]) for name in ORDER])


def plain(found: list[Row], grid: int | None, *, is_last_stable: bool) -> Iterator[tuple[Any, ...]]:
    for (cluster, *where), here in groupby(found, lambda row: tuple(row[name] for name in ORDER[:3])):
        place, kept = TopicPartition(*where), list(here)
        told = [row for row in kept if row["method"] is None]
        bounds, seen = Bounds(), [_sample(row) for row in kept if row["method"] is not None]
        for row in told:
            if not row["is_again"]:
                bounds.add(row["log_partition"], place, commit_of(_History(row)))
        # In whatever order samples come.
        ends = Ends([*bounds.samples(place), *reversed(seen)], is_last_stable=is_last_stable)
        for group in sorted({row["group"] for row in told}):
            commits = list(effective_commits(_History(row) for row in told if row["group"] == group))
            made = {row.timestamp: row for row in lag_at_commits(OffsetOf(group, *place), commits, ends)}
            if commits and grid:
                times = range(-(-max(0, min(made)) // grid) * grid, NEWEST + 1, grid)
                made = {
                    row.timestamp: row for row in lag_on_grid(OffsetOf(group, *place), commits, ends, times)
                } | made
            told_ = record_batch(LagRow, [made[at] for at in sorted(made)]).to_pylist()
            yield from ((cluster, *row.values()) for row in told_)


class _History:
    """A row of a history, with its fields by name."""

    def __init__(self, row: Row) -> None:
        self.__dict__.update(row)


def _sample(row: Row) -> EndSample:
    facts = {name: row[name] for name in EndSample._fields if name != "at"}
    return EndSample(**facts | {"at": row["timestamp"], "method": EndMethod(row["method"])})


few = st.sampled_from((0, 1, 5, 2**45, 2**62, -1))


def alike(found: list[Row]) -> list[Row]:
    """Return the rows of topics' partitions that have only one topic id each."""
    return [row | {"topic_id": ("id", None)[row["partition"]]} for row in found]


@given(
    st.one_of(rows, rows.map(alike)),
    st.integers(1, 20),
    st.sampled_from((None, GRID)),
    st.booleans(),
    st.one_of(st.none(), few),
    st.one_of(st.just((None, None)), st.tuples(numbers, numbers)),
)
def test_many_at_a_time_are_as_one_by_one(
    found: list[Row],
    size: int,
    grid: int | None,
    is_last_stable: bool,
    odd: int | None,
    bounds: tuple[int | None, int | None],
) -> None:
    if odd is not None and found:
        found[-1] |= {
            name: odd for name in ("committed_offset", "end_offset", "commit_timestamp") if name in found[-1]
        }
    given_ = ordered(found)
    columns = {
        name: pa.array([row[name] for row in given_], TYPES.get(name, pa.string())) for name in COLUMNS
    }
    batches = pa.table(columns).to_batches(max_chunksize=size)
    since, until = bounds
    asked = LagAsked(dict.fromkeys("ab", NEWEST), grid, since, until, is_last_stable)
    made = [
        (cluster, *row.values()) for cluster, some in lag_batches(asked, batches) for row in some.to_pylist()
    ]
    at = 1 + LagRow._fields.index("timestamp")
    commits = sum(row["method"] is None for row in given_)
    assert rows_on_grid(asked, batches) >= (len(made) - commits if grid else 0)
    expected = [
        row
        for row in plain(given_, grid, is_last_stable=is_last_stable)
        if (since is None or row[at] >= since) and (until is None or row[at] < until)
    ]
    assert sorted(made, key=lambda row: (row[0], row[2], row[3], row[1], row[at])) == sorted(
        expected, key=lambda row: (row[0], row[2], row[3], row[1], row[at])
    )


DAY = 86_400_000
EDGES = (-(2**63), -(2**62), 0, 1_700_000_000_000, 253_402_300_800_000, 2**63 - 1)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("other", EDGES)
def test_absurd_times_and_offsets_are_rows_too(edge: int, other: int) -> None:
    """And no more rows on a grid than years of it: nobody fills the time between two absurd ones."""
    place = {"cluster": "a", "topic": "t", "partition": 0, "topic_id": None}
    held = {
        "group": "g",
        "log_partition": 0,
        "to_timestamp": None,
        "is_effective": True,
        "commit_timestamp": other,
    }
    found = [
        *({**place, **held, "from_timestamp": at, "committed_offset": 2**63 - 1} for at in (edge, other)),
        *({**place, "timestamp": at, "log_start_offset": 0, "last_stable_offset": None, "end_offset": end, "method": "sampled",
           "source": "x"} for at, end in ((edge, 5), (other, 2**63 - 1))),
    ]  # fmt: skip
    asked = LagAsked({"a": 2**63 - 1}, DAY)
    batch = pa.RecordBatch.from_pylist(ordered(found), pa.schema([(name, TYPES[name]) for name in COLUMNS]))
    assert 0 < sum(rows.num_rows for _, rows in lag_batches(asked, [batch])) < 4 * 366
    assert rows_on_grid(asked, [batch]) < 4 * 366


def test_without_rows_there_is_nothing() -> None:
    empty = pa.table({name: pa.array([], TYPES.get(name, pa.string())) for name in COLUMNS})
    assert list(lag_batches(LagAsked({}), empty.to_batches())) == []

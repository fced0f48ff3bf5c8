"""Time lag: kafka-lag-exporter's numbers where they are finite, bounds where they are not; and what must always hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.lag.rows import LagConfidence, TimeMethod
from offsets_tool.lag.samples import EndMethod, EndSample, Written
from tests.lag.logs import Log, commits, ends_of, logs, some
from tests.lag.one_by_one import CommitAt, Ends, TimeLag, time_lag_at, written_at

# (end offset, seconds), as in LookupTableSpec; ours are milliseconds.
FLATS = ((100, 30), (200, 60), (200, 120), (200, 700), (300, 730), (300, 9000), (400, 9030))
SQUARE = ((100, 100), (200, 200))


def table(*points: tuple[int, int]) -> Ends:
    return ends_of(*((seconds * 1000, end) for end, seconds in points))


def written(offset: int, ends: Ends) -> Written:
    (lifetime,) = ends.lifetimes
    return written_at(offset, lifetime)


@pytest.mark.parametrize(
    ("points", "offset", "seconds", "method"),
    [
        (FLATS, 199, 59.7, TimeMethod.INTERPOLATED),
        (FLATS, 200, 700, TimeMethod.INTERPOLATED),
        (FLATS, 201, 700.3, TimeMethod.INTERPOLATED),
        (FLATS, 300, 9000, TimeMethod.INTERPOLATED),
        (SQUARE, 150, 150, TimeMethod.INTERPOLATED),
        (SQUARE, 10, 10, TimeMethod.EXTRAPOLATED),
        (SQUARE, 300, 300, TimeMethod.EXTRAPOLATED),
    ],
)
def test_the_numbers_of_the_lookup_table(
    points: tuple[tuple[int, int], ...], offset: int, seconds: float, method: TimeMethod
) -> None:
    found = written(offset, table(*points))
    assert (found.at, found.method) == (seconds * 1000, method)


@pytest.mark.parametrize(
    ("points", "offset", "bounds"),
    [
        # It says minus and plus infinity of these: all that is known is on which side of the samples it lies.
        (((100, 30), (100, 60)), 99, (None, 30_000)),
        (((100, 30), (100, 60)), 101, (60_000, None)),
        # And of these that there are too few points.
        (((100, 30),), 99, (None, 30_000)),
        (((100, 30),), 101, (30_000, None)),
        (SQUARE, 10, (None, 100_000)),
        (SQUARE, 300, (200_000, None)),
        (SQUARE, 150, (100_000, 200_000)),
    ],
)
def test_outside_of_the_table_there_are_bounds(
    points: tuple[tuple[int, int], ...], offset: int, bounds: tuple[int | None, int | None]
) -> None:
    found = written(offset, table(*points))
    assert (found.earliest, found.latest) == bounds


def test_nothing_is_known_without_a_sample() -> None:
    assert time_lag_at(CommitAt(0, 5), Ends(), 10).method is TimeMethod.NONE


@pytest.mark.parametrize("points", [((100, 30),), ((100, 30), (100, 60)), (FLATS[0], FLATS[-1]), FLATS])
def test_who_is_at_the_end_has_no_lag(points: tuple[tuple[int, int], ...]) -> None:
    end, seconds = points[-1]
    at = seconds * 1000
    found = time_lag_at(CommitAt(at, end), table(*points), at)
    assert found == TimeLag(0, 0, 0, TimeMethod.CAUGHT_UP, LagConfidence.EXACT)


def test_who_was_at_the_end_may_have_fallen_behind_since() -> None:
    assert time_lag_at(CommitAt(30_000, 100), table((100, 30)), 50_000) == TimeLag(
        0, 0, 20_000, TimeMethod.BOUND, LagConfidence.LOW
    )


def test_lag_is_from_the_record_to_the_moment() -> None:
    assert time_lag_at(CommitAt(0, 201), table(*FLATS), 9_030_000) == TimeLag(
        8_329_700, 8_300_000, 8_330_000, TimeMethod.INTERPOLATED, LagConfidence.MEDIUM
    )


def test_the_record_itself_tells_it_exactly() -> None:
    record = Written(777_000, 777_000, 777_000, TimeMethod.RECORD)
    assert time_lag_at(CommitAt(0, 201), table(*FLATS), 9_030_000, record) == TimeLag(
        8_253_000, 8_253_000, 8_253_000, TimeMethod.RECORD, LagConfidence.EXACT
    )


def test_a_commit_of_another_group_says_that_a_record_was_there() -> None:
    ends = Ends(
        [
            EndSample("t", 0, 100, end_offset=100),
            EndSample("t", 0, 110, end_offset=195, method=EndMethod.COMMITTED, source="commits"),
            EndSample("t", 0, 200, end_offset=200),
        ]
    )
    assert written(150, ends) == Written(110, 100, 110, TimeMethod.INTERPOLATED)
    assert written(197, ends) == Written(197, 100, 200, TimeMethod.INTERPOLATED)


@given(logs(), st.data())
def test_the_truth_lies_within_the_bounds(log: Log, data: st.DataObject) -> None:
    ends = Ends(some(log, data))
    commit, at = commits(log, data)
    found = time_lag_at(commit, ends, at)
    truth = log.time_lag(commit.committed_offset, at)
    assert found.time_lag_min_ms <= truth
    assert found.time_lag_max_ms is None or truth <= found.time_lag_max_ms
    if found.time_lag_ms is not None:
        assert found.time_lag_min_ms <= found.time_lag_ms
        assert found.time_lag_max_ms is None or found.time_lag_ms <= found.time_lag_max_ms


@given(logs(), st.data())
def test_more_samples_never_widen_the_bounds(log: Log, data: st.DataObject) -> None:
    few, more = some(log, data), some(log, data)
    commit, at = commits(log, data)
    one, both = (time_lag_at(commit, Ends(found), at) for found in (few, few + more))
    assert one.time_lag_min_ms <= both.time_lag_min_ms
    if one.time_lag_max_ms is not None:
        assert both.time_lag_max_ms is not None
        assert both.time_lag_max_ms <= one.time_lag_max_ms

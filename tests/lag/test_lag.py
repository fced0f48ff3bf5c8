"""Lag in offsets: what is seen, interpolated, bounded; log start, loss, topics created anew, committed data only."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.lag.rows import CountedFrom, LagConfidence, LagMethod, LagRow, TimeMethod
from offsets_tool.lag.samples import EndMethod, EndSample, Written
from offsets_tool.replay.changes import OffsetOf
from offsets_tool.wire.arrow import record_batch
from tests.depth import DEEP
from tests.history.test_history import rows as history_of
from tests.lag.logs import LATEST, Log, commits, ends_of, logs, some
from tests.lag.one_by_one import (
    CommitAt,
    EffectiveCommit,
    Ends,
    committed_ends,
    effective_commits,
    lag_at,
    lag_at_commits,
    lag_on_grid,
    row_at,
    time_lag_at,
)
from tests.replay.story import commit, commit_marker, txn_commit

OF = OffsetOf("g", "t", 0)
GROWING = ((100, 10), (200, 30))


@pytest.mark.parametrize(
    ("points", "at", "lag", "least", "most", "method", "confidence"),
    [
        (GROWING, 100, 5, 5, 5, LagMethod.SAMPLED, LagConfidence.EXACT),
        (GROWING, 150, 15, 5, 25, LagMethod.INTERPOLATED, LagConfidence.MEDIUM),
        (GROWING, 200, 25, 25, 25, LagMethod.SAMPLED, LagConfidence.EXACT),
        (GROWING, 900, 25, 25, None, LagMethod.LOWER_BOUND, LagConfidence.LOW),
        (GROWING, 50, None, 0, 5, LagMethod.UPPER_BOUND, LagConfidence.NONE),
        (((100, 10), (200, 10)), 150, 5, 5, 5, LagMethod.SAMPLED, LagConfidence.EXACT),
        ((), 150, None, 0, None, LagMethod.NONE, LagConfidence.NONE),
    ],
)
def test_lag_says_how_it_is_known(
    points: tuple[tuple[int, int], ...],
    at: int,
    lag: int | None,
    least: int,
    most: int | None,
    method: LagMethod,
    confidence: LagConfidence,
) -> None:
    found = lag_at(CommitAt(40, 5), ends_of(*points), at)
    assert (found.lag, found.lag_min, found.lag_max) == (lag, least, most)
    assert (found.method, found.confidence) == (method, confidence)


def test_a_commit_beyond_the_end_has_no_lag_but_how_far_it_is() -> None:
    found = lag_at(CommitAt(40, 50), ends_of(*GROWING), 200)
    assert (found.lag, found.lag_min, found.lag_max, found.beyond_end) == (None, 0, None, 20)
    assert found.confidence is LagConfidence.NONE


@pytest.mark.parametrize("offset", [-1, -1001, -(1 << 63)])
def test_an_offset_below_zero_is_none(offset: int) -> None:
    """Where its reader begins, auto.offset.reset says: Kafka shows - for both numbers (KAFKA-12926)."""
    found = lag_at(CommitAt(40, offset), ends_of(*GROWING), 200)
    assert (found.lag, found.lag_min, found.data_lost, found.beyond_end) == (None, 0, None, 0)
    assert found.confidence is LagConfidence.NONE
    time_lag = time_lag_at(CommitAt(40, offset), ends_of(*GROWING), 200)
    assert (time_lag.time_lag_ms, time_lag.time_lag_min_ms, time_lag.time_lag_max_ms) == (None, 0, None)


def test_behind_the_last_stable_offset_others_may_have_read() -> None:
    stable = Ends([EndSample("t", 0, 100, last_stable_offset=10)], is_last_stable=True)
    found = lag_at(CommitAt(40, 15), stable, 100)
    assert (found.lag, found.lag_max, found.beyond_end) == (0, 0, 5)


def test_the_highest_commit_of_any_group_is_a_lower_bound() -> None:
    seen = [CommitAt(10, 7), CommitAt(20, 3), CommitAt(30, 12)]
    ends = Ends(committed_ends("t", 0, seen))
    found = [lag_at(CommitAt(20, 3), ends, at) for at in (10, 20, 30, 99)]
    assert [(one.lag, one.end_offset, one.lag_max) for one in found] == [
        (4, 7, None),
        (4, 7, None),
        (9, 12, None),
        (9, 12, None),
    ]
    assert {one.method for one in found} == {LagMethod.LOWER_BOUND}


def test_commits_lift_the_line_between_samples_and_never_bend_it_down() -> None:
    def between(offset: int, at: int) -> int | None:
        bound = EndSample("t", 0, 120, end_offset=offset, method=EndMethod.COMMITTED, source="commits")
        seen = [EndSample("t", 0, 100, end_offset=10), EndSample("t", 0, 200, end_offset=30), bound]
        return lag_at(CommitAt(40, 0), Ends(seen), at).end_offset

    assert [between(25, at) for at in (110, 120, 150, 190)] == [12, 25, 25, 28]
    assert [between(11, at) for at in (110, 120, 150, 190)] == [12, 14, 20, 28]


def test_a_commit_beyond_what_was_seen_later_is_no_bound() -> None:
    bound = EndSample("t", 0, 120, end_offset=5_000, method=EndMethod.COMMITTED, source="commits")
    seen = [EndSample("t", 0, 100, end_offset=10), EndSample("t", 0, 200, end_offset=30), bound]
    assert lag_at(CommitAt(40, 0), Ends(seen), 200).end_offset == 30
    assert lag_at(CommitAt(40, 0), Ends(seen), 150).end_offset == 20


def test_what_was_gone_before_it_was_read_is_data_lost() -> None:
    ends = Ends(
        [
            EndSample("t", 0, 100, log_start_offset=8, end_offset=30),
            EndSample("t", 0, 200, log_start_offset=20, end_offset=30),
        ]
    )
    found = [lag_at(CommitAt(40, 5), ends, at) for at in (99, 100, 199, 200)]
    assert [(one.log_start_offset, one.data_lost) for one in found] == [
        (None, None),
        (8, 3),
        (8, 3),
        (20, 15),
    ]
    assert lag_at(CommitAt(40, 25), ends, 200).data_lost == 0


def test_a_group_without_a_commit_has_all_of_the_log_before_it() -> None:
    ends = Ends([EndSample("t", 0, 100, log_start_offset=8, end_offset=30)])
    found = lag_at(None, ends, 100)
    assert (found.lag, found.counted_from, found.confidence) == (
        22,
        CountedFrom.LOG_START,
        LagConfidence.EXACT,
    )
    assert found.data_lost is None
    unknown = lag_at(None, ends_of(*GROWING), 100)
    assert (unknown.lag, unknown.lag_max, unknown.confidence) == (None, 10, LagConfidence.NONE)


def test_an_end_that_goes_back_is_a_topic_created_anew() -> None:
    ends = ends_of((100, 1_000), (200, 2_000), (300, 10), (400, 20))
    assert lag_at(CommitAt(150, 1_400), ends, 200).lag == 600
    # Nobody knows how far the old one got, and no line leads from the one to the other.
    assert lag_at(CommitAt(150, 1_400), ends, 250).lag_max is None
    later = lag_at(CommitAt(150, 1_400), ends, 400)
    assert (later.is_topic_recreated, later.confidence, later.lag, later.data_lost) == (
        True,
        LagConfidence.NONE,
        None,
        None,
    )
    fresh = lag_at(CommitAt(350, 12), ends, 400)
    assert (fresh.is_topic_recreated, fresh.lag) == (False, 8)


def test_another_topic_id_is_another_topic() -> None:
    def sample(at: int, end: int, topic_id: str) -> EndSample:
        return EndSample("t", 0, at, end_offset=end, topic_id=topic_id)

    ends = Ends([sample(100, 10, "A"), sample(200, 50, "B"), sample(300, 60, "B")])
    assert len(ends.lifetimes) == 2
    assert lag_at(CommitAt(250, 55, "A"), ends, 300).is_topic_recreated
    assert not lag_at(CommitAt(250, 55, "B"), ends, 300).is_topic_recreated
    assert lag_at(CommitAt(250, 55), ends, 300).lag == 5


def test_two_exporters_that_differ_a_little_are_one_topic() -> None:
    seen = [
        EndSample("t", 0, 100, end_offset=50, source="a"),
        EndSample("t", 0, 101, end_offset=49, source="b"),
        EndSample("t", 0, 200, end_offset=60, source="b"),
    ]
    ends = Ends(seen)
    assert len(ends.lifetimes) == 1
    assert ends.lifetime_at(0).ends == [50, 60]


def index(at: int, end: int) -> EndSample:
    return EndSample("t", 0, at, end_offset=end, method=EndMethod.INDEX, source="dir")


def test_who_asked_the_broker_is_believed_before_the_clocks_of_producers() -> None:
    ends = Ends([index(90, 40), index(100, 50), EndSample("t", 0, 101, end_offset=45), index(200, 70)])
    assert [lifetime.ends for lifetime in ends.lifetimes] == [[40, 45, 70]]
    ends = Ends([index(90, 40), EndSample("t", 0, 95, end_offset=60), index(100, 55), index(200, 70)])
    assert [lifetime.ends for lifetime in ends.lifetimes] == [[40, 60, 70]]


def test_a_log_that_never_came_so_far_is_of_another_topic() -> None:
    ends = Ends([EndSample("t", 0, 95, end_offset=60), index(100, 1), index(200, 20)])
    assert [lifetime.ends for lifetime in ends.lifetimes] == [[60], [1, 20]]


def test_lag_by_the_index_is_not_called_exact() -> None:
    found = lag_at(CommitAt(90, 40), Ends([index(100, 50), index(200, 50)]), 150)
    assert (found.lag, found.method, found.confidence) == (10, LagMethod.INDEX, LagConfidence.HIGH)


def test_who_reads_committed_data_only_lags_behind_the_last_stable_offset() -> None:
    seen = [
        EndSample("t", 0, 100, last_stable_offset=10, end_offset=30),
        EndSample("t", 0, 150, end_offset=40),
        EndSample("t", 0, 120, end_offset=22, method=EndMethod.COMMITTED, source="commits"),
        EndSample("t", 0, 200, last_stable_offset=20, end_offset=50),
    ]
    ends = Ends(seen, is_last_stable=True)
    assert lag_at(CommitAt(90, 5), ends, 150).end_offset == 15
    assert lag_at(CommitAt(90, 5), Ends(seen), 200).lag == 45
    assert lag_at(CommitAt(90, 5), ends, 200).lag == 15


@given(logs(), st.data())
def test_the_truth_lies_within_the_bounds_and_lag_is_never_negative(log: Log, data: st.DataObject) -> None:
    commit, at = commits(log, data)
    found = lag_at(commit, Ends(some(log, data)), at)
    truth = log.end(at) - commit.committed_offset
    assert 0 <= found.lag_min <= truth
    assert found.lag_max is None or truth <= found.lag_max
    if found.lag is not None:
        assert found.lag_min <= found.lag
        assert found.lag_max is None or found.lag <= found.lag_max
    if found.confidence is LagConfidence.EXACT:
        assert found.lag == truth


@given(logs(), st.data())
def test_more_samples_never_widen_the_bounds(log: Log, data: st.DataObject) -> None:
    few, more = some(log, data), some(log, data)
    commit, at = commits(log, data)
    one, both = (lag_at(commit, Ends(found), at) for found in (few, few + more))
    assert one.lag_min <= both.lag_min
    if one.lag_max is not None:
        assert both.lag_max is not None
        assert both.lag_max <= one.lag_max


@given(logs(), st.data())
def test_the_end_never_falls_within_a_lifetime(log: Log, data: st.DataObject) -> None:
    (lifetime,) = Ends(some(log, data)).lifetimes or (None,)
    if lifetime is not None:
        ends = [
            estimate for at in range(LATEST + 2) if (estimate := lifetime.end_at(at).estimate) is not None
        ]
        assert ends == sorted(ends)


@given(logs(), st.data())
def test_a_grid_at_the_times_of_commits_gives_the_lag_of_the_commits(log: Log, data: st.DataObject) -> None:
    times = sorted(data.draw(st.sets(st.integers(0, LATEST), min_size=1, max_size=5)))
    commits = [
        EffectiveCommit(CommitAt(at, data.draw(st.integers(0, log.end(at)))), at, until)
        for at, until in zip(times, [*times[1:], None], strict=True)
    ]
    ends = Ends(some(log, data))
    at_commits = list(lag_at_commits(OF, commits, ends))
    assert list(lag_on_grid(OF, commits, ends, times)) == at_commits
    assert [row.timestamp for row in at_commits] == times


def test_a_grid_leaves_out_when_nothing_was_committed() -> None:
    commits = [EffectiveCommit(CommitAt(10, 1), 10, 30), EffectiveCommit(CommitAt(50, 3), 50)]
    rows = lag_on_grid(OF, commits, ends_of(*GROWING), range(0, 81, 20))
    assert [(row.timestamp, row.committed_offset) for row in rows] == [(20, 1), (60, 3), (80, 3)]


def test_what_counted_and_until_when_comes_from_the_history() -> None:
    records = (
        commit("g", "t", 0, 5),
        txn_commit(7, "g", "t", 0, 9),
        commit_marker(7),
        commit("g", "t", 0, 12),
    )
    rows = [row for row in history_of(*records) if isinstance(row, OffsetHistoryRow)]
    commits = list(effective_commits(rows))
    assert [one.commit.committed_offset for one in commits] == [5, 9, 12]
    assert [one.until for one in commits] == [commits[1].since, commits[2].since, None]


def test_rows_are_a_table() -> None:
    rows = list(lag_at_commits(OF, [EffectiveCommit(CommitAt(150, 5), 150)], ends_of(*GROWING)))
    (row,) = rows
    shown = record_batch(LagRow, rows).to_pylist()
    assert shown == [row._asdict() | {"moment_at": datetime.fromtimestamp(row.timestamp / 1000, UTC)}]


def test_a_moment_that_is_no_time_is_null_and_its_number_stays() -> None:
    commits = [EffectiveCommit(CommitAt(at, 5), at) for at in (-1, 2**62)]
    shown = record_batch(LagRow, list(lag_at_commits(OF, commits, ends_of(*GROWING)))).to_pylist()
    assert [(row["moment_at"], row["timestamp"]) for row in shown] == [(None, -1), (None, 2**62)]


OFFSETS, TIMES, IDS = st.integers(0, 12), st.integers(0, 30), st.sampled_from((None, None, "one", "another"))
SAMPLES = st.builds(
    EndSample,
    st.just("t"),
    st.just(0),
    TIMES,
    log_start_offset=st.none() | OFFSETS,
    last_stable_offset=st.none() | OFFSETS,
    end_offset=st.none() | OFFSETS,
    method=st.sampled_from((EndMethod.SAMPLED, EndMethod.INDEX)),
    source=st.sampled_from("xy"),
    topic_id=IDS,
)
BOUNDS = st.builds(
    EndSample,
    st.just("t"),
    st.just(0),
    TIMES,
    end_offset=OFFSETS,
    method=st.just(EndMethod.COMMITTED),
    source=st.just("commits"),
    topic_id=IDS,
)
COMMITS = st.none() | st.builds(CommitAt, TIMES, st.just(-1) | OFFSETS, IDS)
RECORDS = (
    st.none()
    | st.builds(lambda at: Written(at, at, at, TimeMethod.RECORD), TIMES)
    | st.builds(lambda at: Written(at, None, at, TimeMethod.RECORD), TIMES)
    | st.builds(lambda at, more: Written(at, at - more, at + more, TimeMethod.RECORD), TIMES, TIMES)
    | st.builds(lambda following: Written(None, None, None, TimeMethod.NONE, following), OFFSETS)
)
"""As lag.data_log says them."""


@settings(max_examples=4_000 if DEEP else 400)
@given(st.lists(SAMPLES, max_size=5), st.lists(BOUNDS, max_size=2), COMMITS, TIMES, RECORDS, st.booleans())
def test_whatever_is_known_a_row_is_that_of_plain_python(
    seen: list[EndSample],
    bounds: list[EndSample],
    commit: CommitAt | None,
    at: int,
    record: Written | None,
    is_last_stable: bool,
) -> None:
    row_at(commit, Ends([*seen, *bounds], is_last_stable=is_last_stable), at, record)


def indexed(*points: tuple[int, int, EndMethod]) -> Ends:
    return Ends(EndSample("t", 0, at, end_offset=end, method=method) for at, end, method in points)


@pytest.mark.parametrize(
    ("points", "at", "method", "confidence"),
    [
        (((100, 10, EndMethod.INDEX),), 100, LagMethod.INDEX, LagConfidence.HIGH),
        (((100, 10, EndMethod.INDEX), (200, 10, EndMethod.INDEX)), 150, LagMethod.INDEX, LagConfidence.HIGH),
        (((100, 10, EndMethod.INDEX), (200, 10, EndMethod.SAMPLED)), 150, LagMethod.INDEX, LagConfidence.HIGH),
        (((100, 10, EndMethod.SAMPLED), (200, 10, EndMethod.INDEX)), 150, LagMethod.INDEX, LagConfidence.HIGH),
        (((100, 10, EndMethod.INDEX), (200, 30, EndMethod.INDEX)), 150, LagMethod.INTERPOLATED, LagConfidence.HIGH),
        (
            ((100, 10, EndMethod.INDEX), (200, 30, EndMethod.INDEX), (120, 25, EndMethod.COMMITTED)),
            150,
            LagMethod.INTERPOLATED,
            LagConfidence.MEDIUM,
        ),
        (((100, 10, EndMethod.INDEX), (200, 30, EndMethod.SAMPLED)), 150, LagMethod.INTERPOLATED, LagConfidence.MEDIUM),
        (((100, 10, EndMethod.SAMPLED), (200, 30, EndMethod.INDEX)), 150, LagMethod.INTERPOLATED, LagConfidence.MEDIUM),
    ],
)  # fmt: skip
def test_an_end_from_an_index_is_surer_than_a_line(
    points: tuple[tuple[int, int, EndMethod], ...], at: int, method: LagMethod, confidence: LagConfidence
) -> None:
    found = lag_at(CommitAt(40, 5), indexed(*points), at)
    assert (found.method, found.confidence) == (method, confidence)

"""Now is the end of a log by place: no time that its neighbours contradict decides it, whichever way it is wrong."""

from itertools import accumulate
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.lag.commits import dated
from offsets_tool.log_clock import FIRST_KAFKA_MS, LONGEST_PAUSE_MS, SKEW_MS, LogClock, age_at, latest_of
from offsets_tool.relations.row_facts import observe_times

T = 1_795_000_000_000
DAY = 86_400_000
WRONG = {
    "2100": 4_102_444_800_000,
    "a month ahead": T + 30 * DAY,
    "a day ahead": T + DAY,
    "zero": 0,
    "seconds": T // 1000,
    "microseconds": T * 1000,
    "2015": 1_430_000_000_000,
    "a month back": T - 30 * DAY,
    "a day back": T - DAY,
    "the end of time": (1 << 63) - 1,
}


def observed(times: list[int]) -> LogClock:
    clock = LogClock()
    for log_offset, timestamp in enumerate(times):
        clock.observe(log_offset, timestamp)
    return clock


def steady(count: int, step: int = 1_000) -> list[int]:
    return list(range(T, T + count * step, step))


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("place", [0, 1, 5, 9])
@pytest.mark.parametrize("step", [1_000, 60_000, 2 * 3_600_000])
def test_one_wrong_time_changes_nothing_and_is_named(wrong: int, place: int, step: int) -> None:
    times = steady(10, step)
    clock = observed([*times[:place], wrong, *times[place:]])
    assert clock.newest == times[-1]
    # Of two records that contradict each other, nobody knows yet which clock was right: the later one counts.
    is_one_to_one = place == 1 and FIRST_KAFKA_MS < wrong < T
    is_a_pause = place == 0 and wrong < T
    named = [] if is_a_pause else [0 if is_one_to_one else place]
    assert [odd.log_offset for odd in clock.odd] == named
    is_first = is_one_to_one or (is_a_pause and wrong >= FIRST_KAFKA_MS)
    assert clock.began == (wrong if is_first else times[0])


@pytest.mark.parametrize(("name", "wrong"), WRONG.items(), ids=WRONG)
def test_one_wrong_time_at_the_end(name: str, wrong: int) -> None:
    """A time somewhat ahead may be a pause: nothing contradicts it."""
    clock = observed([*steady(10), wrong])
    assert clock.newest == (wrong if name in {"a month ahead", "a day ahead"} else steady(10)[-1])


@pytest.mark.parametrize("wrong", [WRONG["2100"], T + 30 * DAY])
def test_many_records_of_a_clock_that_was_set_right(wrong: int) -> None:
    assert observed([*(wrong + each for each in range(50)), *steady(2)]).newest == steady(2)[-1]
    assert observed([T - 5, *(wrong + each for each in range(50)), T]).newest == T


def test_what_came_before_a_leap_counts_also_where_it_goes_on_a_little_earlier() -> None:
    wrong, times = T + 30 * DAY, steady(10)
    assert observed([*times, wrong, wrong + 1, times[-1] - 5]).newest == times[-1] - 5


def test_two_records_in_a_row_set_a_clock_back_only_where_they_agree() -> None:
    times = steady(10)
    assert observed([*times, T - 30 * DAY, T - 60 * DAY]).newest == times[-1]


def test_of_single_records_that_contradict_each_other_the_last_counts() -> None:
    assert observed([T + 30 * DAY, T, T - 30 * DAY]).newest == T - 30 * DAY
    assert observed([T, T + 1, T + 30 * DAY, T + 2, T - 30 * DAY]).newest == T + 2


def test_records_of_one_request_have_one_voice() -> None:
    times = steady(10)
    assert observed([*times, *[T - 30 * DAY] * 9]).newest == times[-1]
    assert observed([*times, T - 30 * DAY, T - 30 * DAY + 1]).newest == T - 30 * DAY + 1


def test_records_without_a_time_say_nothing() -> None:
    assert observed([-1, -1]).newest is None
    assert observed([T, -1, T + 5, -1]).newest == T + 5


@given(st.lists(st.integers(0, SKEW_MS), max_size=30))
def test_clocks_that_are_near_each_other_never_contradict(steps: list[int]) -> None:
    times = list(accumulate(steps, initial=T))
    assert observed(times).newest == times[-1]
    assert not observed(times).odd


times_of_logs = st.lists(
    st.one_of(
        st.integers(T, T + 10_000),
        st.integers(T - 3 * SKEW_MS, T + 3 * SKEW_MS),
        st.sampled_from([-1, *WRONG.values(), -(1 << 62)]),
        st.integers(-5, (1 << 63) - 1),
    ),
    max_size=40,
)


@given(times_of_logs, st.integers(0, 40))
def test_many_at_once_and_saved_between(times: list[int], cut: int) -> None:
    clock = LogClock()
    for begin, end in ((0, cut), (cut, len(times))):
        offsets = np.arange(len(times), dtype=np.int64)[begin:end]
        observe_times(clock, offsets, np.array(times, np.int64)[begin:end])
        clock = LogClock.unpack(clock.pack())
    assert clock == observed(times)


@given(times_of_logs, st.integers(0, 2**32))
def test_commits_are_dated_by_column_as_one_by_one(times: list[int], seed: int) -> None:
    runs = np.cumsum([Random(seed + at).random() < 0.2 for at in range(len(times))]).astype(np.int64)
    expected, clocks = [], dict[int, LogClock]()
    for run, at in zip(runs.tolist(), times, strict=True):
        expected.append(clocks.setdefault(run, LogClock()).dated(0, at))
    assert dated(np.array(times, np.int64), runs).tolist() == expected


@pytest.mark.parametrize(
    ("ends", "latest"),
    [
        ([], None),
        ([None], None),
        ([T, T + 30 * DAY, None], T + 30 * DAY),
        ([T, WRONG["2100"]], T),
        ([0, T], T),
        ([T // 1000, T // 1000, T], T),
        ([WRONG["2100"], WRONG["2100"] + 5, T], WRONG["2100"] + 5),
        ([1, 2, 3], 3),
    ],
)
def test_logs_of_one_cluster(ends: list[int | None], latest: int | None) -> None:
    assert latest_of(ends) == latest


@pytest.mark.parametrize(
    ("now", "since", "age"),
    [
        (T, T - 5, 5),
        (T, T + 5, 0),
        (None, T, None),
        (T, -1, None),
        (T, 0, None),
        (T, WRONG["2100"], None),
        (T, T - LONGEST_PAUSE_MS, LONGEST_PAUSE_MS),
    ],
)
def test_age(now: int | None, since: int, age: int | None) -> None:
    assert age_at(now, since) == age

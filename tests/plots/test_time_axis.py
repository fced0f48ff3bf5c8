"""An axis of time has all times on it, each in its place, wherever in the calendar they are."""

from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.plots.time_axis import WIDTH, axis_of, step_of
from offsets_tool.wire.times import LAST_MILLISECOND
from tests.findings.made import HOUR, SECOND, START

DAY = 24 * HOUR
TIMES = st.lists(
    st.integers(0, LAST_MILLISECOND)
    | st.integers(START, START + HOUR)
    | st.integers(START + DAY, START + DAY + 50),
    min_size=1,
    max_size=30,
)


@given(TIMES, st.integers(1, 100))
def test_every_time_is_on_the_axis_in_its_order_and_in_one_bin(times: list[int], most: int) -> None:
    axis = axis_of(times)
    assert axis is not None
    ordered = sorted(times)
    assert all(any(begin <= at <= end for begin, end in axis.stretches) for at in times)
    places = [axis.points(axis.begin, at) for at in ordered]
    assert places == sorted(places) and places[0] >= 0 and places[-1] <= WIDTH
    bins = axis.bins(most)
    # The longest bin is a hundred years: of all times of the calendar, there are 81 at the least.
    assert bins == sorted(bins) and len(bins) <= max(most, 81) + 2 * len(axis.stretches)
    assert all(sum(begin <= at < end or at == end == axis.end for begin, end in bins) >= 1 for at in times)


def test_a_long_silence_is_cut_out_and_a_short_one_is_not() -> None:
    minute = [START + each * SECOND for each in range(60)]
    far = axis_of([*minute, *(at + 200 * DAY for at in minute)])
    near = axis_of([*minute, *(at + 120 * SECOND for at in minute)])
    assert far is not None and near is not None
    assert [silence["x"] for silence in far.silences()] == ["199d 23h"]
    assert not near.is_cut and near.silences() == []
    assert "without 199d 23h between" in str(far.x().to_dict()["axis"]["title"])


def test_a_window_and_times_that_are_none() -> None:
    assert axis_of([-1, 2**62]) is None
    axis = axis_of([0, START, START + HOUR, 2**63 - 1], since=START - 1, until=START + 1)
    assert axis is not None and axis.begin <= START <= axis.end < START + HOUR


def test_steps_are_those_a_person_counts_in() -> None:
    assert [step_of(length, 60) for length in (50, 60_000, HOUR, DAY)] == [
        1,
        SECOND,
        60 * SECOND,
        30 * 60 * SECOND,
    ]

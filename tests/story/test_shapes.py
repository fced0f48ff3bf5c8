"""Every event counts once, in the span that has its time; what has no time, or moved nothing, does not count."""

from array import array
from collections.abc import Iterable
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.findings.group_rows import LogStretch, gather
from offsets_tool.story.shapes import GroupEvents, Timed, group_events
from tests.findings.made import GROUP, LOG_PARTITION, START, commits

TIMES = st.lists(st.integers(0, 2**62) | st.integers(START, START + 10**7), min_size=8, max_size=30)


def committed(at: Iterable[int], newest_at: int | None) -> GroupEvents:
    times = array("q", at)
    return GroupEvents({"Commits": Timed(times, array("q", [1] * len(times)))}, newest_at)


@given(TIMES, st.integers(0, 2**62) | st.none(), st.integers(12, 60))
def test_every_event_is_in_the_span_of_its_time(times: list[int], newest: int | None, most: int) -> None:
    found = committed(times, newest).shapes(most)
    last = max(*times, newest or 0)
    if found is None:
        assert min(times) == last
        return
    (shape,) = found.shapes
    assert len(shape.numbers) <= most and sum(shape.numbers) == len(times)
    assert found.from_at <= min(times) < found.from_at + found.step_ms and last < found.until
    ends = list(accumulate(shape.numbers))
    for number, until in enumerate(ends, 1):
        assert until == sum(at < found.from_at + number * found.step_ms for at in times)


def test_an_hour_without_commits_is_a_gap() -> None:
    at = [START + minute * 60_000 for minute in (*range(20), *range(80, 100))]
    found = committed(at, START + 120 * 60_000).shapes(60)
    assert found is not None and found.step_ms == 5 * 60_000
    text = "".join("x" if number else " " for number in found.shapes[0].numbers)
    assert text.strip().count(" ") in (11, 12) and text.endswith("    ")


def test_commits_that_moved_back_or_nothing_are_commits_that_moved_nothing_ahead() -> None:
    rows = gather(commits(1, 0, 1000, 5, 10, 10, 3, 4), LogStretch(LOG_PARTITION))[GROUP]
    timed = group_events(rows).timed
    assert list(timed) == ["Commits", "Moved ahead"]
    assert list(timed["Commits"].at) == [START + second * 1000 for second in range(5)]
    assert list(zip(*timed["Moved ahead"], strict=True)) == [(START + 1000, 5), (START + 4000, 1)]


def test_few_events_are_told_and_not_drawn() -> None:
    assert committed(range(7), 10).shapes(60) is None


def test_a_record_without_a_time_is_left_out() -> None:
    rows = gather((row._replace(from_timestamp=-1) for row in commits(1, 0, 1, 1, 2)), LogStretch(0))[GROUP]
    assert group_events(rows).timed == {}

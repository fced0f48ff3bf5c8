"""Fewer points show the same: nothing that stands out is left out, and everything is counted."""

from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.plots.sampling import LinePoint, merged, silence_of, thinned

POINTS = st.lists(
    st.tuples(st.integers(0, 10**6), st.integers(-(10**9), 10**9), st.booleans()), max_size=200
).map(lambda found: [LinePoint(*each) for each in sorted(found)])


@given(POINTS, st.integers(4, 60))
def test_a_thinned_line_keeps_its_outline_and_what_is_kept(points: list[LinePoint], most: int) -> None:
    found = thinned(points, most)
    assert [point for point in points if point.is_kept] == [point for point in found if point.is_kept]
    assert len(found) <= most + 4 + sum(point.is_kept for point in points)
    assert found == sorted(found, key=lambda point: point.at)
    if points:
        assert (found[0], found[-1]) == (points[0], points[-1])
        for extreme in (min, max):
            assert extreme(each.value for each in found) == extreme(each.value for each in points)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 9)), max_size=200), st.integers(1, 40))
def test_what_is_merged_is_counted(items: list[tuple[int, int]], most: int) -> None:
    found = merged(items, most, lambda item: item[0], lambda item: item[1])
    assert len(found) <= most
    assert sum(times for _, times in found) == len(items)
    assert max((item[1] for item, _ in found), default=0) == max((item[1] for item in items), default=0)


def test_a_silence_is_longer_than_the_distances_around() -> None:
    assert silence_of([0, 10, 20, 30], 100) == 50
    assert silence_of([0, 10, 20, 30], 100_000) == 2500
    assert silence_of([5], 100) == 0

"""Rectangles are as large as what they stand for."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.plots.charts.treemap import size_picture, size_text, squarified
from offsets_tool.rows import Row


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=20))
def test_areas_are_shares_and_nothing_overlaps(values: list[int]) -> None:
    found = squarified(values, 680, 360)
    for value, each in zip(values, found, strict=True):
        assert (each.x2 - each.x) * (each.y2 - each.y) == pytest.approx(
            680 * 360 * value / sum(values), rel=1e-6
        )
    for one, other in combinations(found, 2):
        wide = min(one.x2, other.x2) - max(one.x, other.x)
        high = min(one.y2, other.y2) - max(one.y, other.y)
        assert min(wide, high) <= 1e-6


def row(group: str | None, size: int, part: str = "group", commits: int = 0) -> Row:
    return {"group": group, "part": part, "bytes": size, "records": 1, "commit_bytes": commits}


def test_small_groups_are_one_rectangle_and_copies_one_group() -> None:
    rows = [
        row("big", 600, commits=600),
        row("big", 400),
        row(None, 50, "markers"),
        *(row(f"g-{each}", 1) for each in range(99)),
    ]
    picture = size_picture(rows)
    assert picture is not None
    data = picture.spec()["datasets"]["sizes"]
    assert [(each["g"], each["k"], each["b"]) for each in (data[0], data[1], data[-1])] == [
        ("big", "mostly commits", 1000),
        ("markers", "no group's", 50),
        ("41 smaller", "smaller groups", 41),
    ]
    assert sum(each["b"] for each in data) == 1149
    assert picture.sentence == (
        "1.15 kB in 102 records, of 100 groups; big alone has 1 kB, 87.0%; the 41 smallest are one rectangle."
    )
    assert size_picture([]) is None
    alone = size_picture([row("big", 600)])
    assert alone is not None and alone.sentence == "600 B in 1 record, of 1 group."


def test_sizes_in_words() -> None:
    assert [size_text(size) for size in (0, 999, 1000, 999_500, 123_456_789)] == [
        "0 B",
        "999 B",
        "1 kB",
        "1 MB",
        "123 MB",
    ]

"""Which names a text means: itself, and as a pattern others; and which texts meant nobody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.as_of.selection import NameFilter, Wanted

MEANS = [
    ("orders", ["orders"], ["orders-1", "Orders", "order", ""]),
    ("orders-*", ["orders-", "orders-1", "orders-\n", "orders-*"], ["orders", "x-orders-1"]),
    ("app-?", ["app-1", "app-?"], ["app-", "app-12"]),
    ("v[12]", ["v1", "v2", "v[12]"], ["v3", "v"]),
    ("v[!12]", ["v3", "v[!12]"], ["v1"]),
    ("v[[]1]", ["v[1]", "v[[]1]"], ["v1", "v[[1]"]),
    ("a[*]b", ["a*b", "a[*]b"], ["axb"]),
    ("a[", ["a["], ["a"]),
    ("a(b)+.*", ["a(b)+.", "a(b)+.x"], ["abbx", "a(b)+"]),
    ("*", ["", "x", "\n"], []),
    ("", [""], ["x"]),
]


@pytest.mark.parametrize(("text", "meant", "others"), MEANS)
def test_a_text_means_itself_and_as_a_pattern_others(text: str, meant: list[str], others: list[str]) -> None:
    names = NameFilter([text])
    assert all(name in names and names.means(text, name) for name in meant)
    assert not any(name in names or names.means(text, name) for name in others)
    assert None not in names
    assert names.missing == ()
    assert sorted(names.looked_for) == sorted(meant + others)


@given(st.text(alphabet="ab*?[]!-^\\", max_size=8))
def test_every_name_can_be_reached_and_reached_alone(name: str) -> None:
    assert name in NameFilter([name])
    alone = "".join(f"[{c}]" if c in "*?[" else c for c in name)
    assert name in NameFilter([alone])
    assert not any(other in NameFilter([alone]) for other in (f"{name}x", f"x{name}", name.swapcase() + "_"))


def test_without_a_text_nothing_is_left_out() -> None:
    assert not NameFilter() and Wanted().has_group("g") and Wanted().has_offset("t", 3)
    assert Wanted() == Wanted(NameFilter(), NameFilter()) != Wanted(NameFilter(["g"]))


def test_which_texts_meant_nobody() -> None:
    names = NameFilter(["a", "b*", "c", "a"])
    assert names.missing == ("a", "b*", "c")
    assert "a" in names and "bee" in names and "d" not in names
    assert names.missing == ("c",)
    assert names.meet(["x", "c", None]) and names.missing == ()


def test_a_hostile_pattern_takes_no_time() -> None:
    assert "a" * 30_000 not in NameFilter(["*a" * 40 + "b"])

"""Lines by column are the lines one by one, whatever their pieces, slots and classes are."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lines import Template, classes, cut_at, filled, number_texts, text_of, written

SLOTS = ("a", "b", "c")


def templates() -> st.SearchStrategy[Template]:
    """Return templates of any slots in any order, some of them twice."""
    slots = st.lists(st.sampled_from(SLOTS), max_size=5).map(tuple)
    return slots.flatmap(
        lambda made: st.tuples(
            st.tuples(*[st.sampled_from(("", "x", "é:", "long piece "))] * (len(made) + 1)), st.just(made)
        )
    ).map(lambda parts: Template(*parts))


def alone(template: Template, texts: dict[str, str]) -> str:
    line = template.pieces[0]
    for slot, piece in zip(template.slots, template.pieces[1:], strict=True):
        line += texts[slot] + piece
    return line


@given(st.data())
def test_each_line_is_that_of_its_template(data: st.DataObject) -> None:
    made = data.draw(st.lists(templates(), min_size=1, max_size=4))
    codes = data.draw(st.lists(st.integers(0, len(made) - 1), max_size=12))
    texts = [{slot: f"{slot}{row}" for slot in SLOTS} for row in range(len(codes))]

    def texts_of(slot: str, places: Array) -> pa.Array:
        assert all(slot in made[codes[place]].slots for place in places)
        return pa.array([texts[place][slot] for place in places], pa.string())

    lines = filled(made, np.array(codes, np.int64), texts_of)
    wanted = [alone(made[code], row) for code, row in zip(codes, texts, strict=True)]
    assert lines.to_pylist() == wanted
    assert bytes(text_of(lines)) == "".join(wanted).encode()
    assert bytes(text_of(lines.slice(1, 2))) == "".join(wanted[1:3]).encode()


def test_nothing_to_fill() -> None:
    assert filled([], np.zeros(0, np.int64), lambda *_: pa.nulls(0)).to_pylist() == []


@given(st.lists(st.tuples(*[st.integers(-2, 2)] * 3), max_size=20), st.integers(1, 3))
def test_rows_of_a_class_are_equal_in_all_columns(rows: list[tuple[int, ...]], width: int) -> None:
    rows = [row[:width] for row in rows]
    codes, firsts = classes([np.array([row[place] for row in rows], np.int64) for place in range(width)])
    assert [rows[firsts[code]] for code in codes] == rows
    assert firsts.tolist() == [rows.index(row) for row in dict.fromkeys(rows)]


@pytest.mark.parametrize(
    ("line", "template"),
    [
        ("", Template()),
        ("17 of 1", Template(("", " of 1"), ("number",))),
        ("name=NN 17 NN", Template(("name=", " ", " ", ""), ("name", "number", "name"))),
        ("NNN", Template(("", ""), ("longer",))),
    ],
)
def test_a_line_is_cut_at_its_marks(line: str, template: Template) -> None:
    assert cut_at({"17": "number", "NN": "name", "NNN": "longer"}, line) == template


def test_texts_are_written_once_each_and_numbers_in_digits() -> None:
    asked: list[str] = []

    def write(text: str) -> str:
        asked.append(text)
        return f"<{text}>"

    assert written(pa.array(["a", "é", "a"]), write).to_pylist() == ["<a>", "<é>", "<a>"]
    assert asked == ["a", "é"]
    assert number_texts(np.array([-(2**63), 0, 2**63 - 1])[::-1]).to_pylist() == [
        str(2**63 - 1),
        "0",
        str(-(2**63)),
    ]

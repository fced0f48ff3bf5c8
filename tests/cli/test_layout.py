"""Lines of a table: never wider than the terminal, one a row, what matters whole; and which columns a person may choose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.cli.layout import CUT, cell_width, lay_out, shorten, wrap
from offsets_tool.cli.render import _cell
from offsets_tool.cli.table import Column, PrintedTable
from offsets_tool.errors import UsageError
from offsets_tool.wire.text import ABSENT, from_cell, in_cell

TABLE = PrintedTable.of(
    Column.name("GROUP", 1),
    Column.time("AT", 4),
    Column.number("LAG", 2),
    Column.word("STATE", 3),
    Column.name("METADATA", 5, "note"),
)
AT = "2026-11-21T12:22:55.362Z"
TEXTS = st.text(
    st.characters(categories=("L", "M", "N", "P", "S")), min_size=1, max_size=300
) | st.sampled_from(["g" * 249, "注文" * 120, "🦊" * 80, "e\u0301" * 90, "🇩🇪" * 40, "👍🏽" * 40])


@given(
    st.lists(st.tuples(TEXTS, st.integers(-(2**63), 2**63), TEXTS), min_size=1, max_size=4),
    st.integers(20, 250),
)
def test_no_line_is_wider_than_the_terminal(rows: list[tuple[str, int, str]], width: int) -> None:
    """Numbers, times and words are whole, or their column is not there; every row has its line."""
    cells = [[group, AT, str(lag), "Stable", note] for group, lag, note in rows]
    page = lay_out(TABLE, cells, width)
    assert len(page.lines) == len(rows)
    assert all(cell_width(line) <= width for line in (page.heading, *page.lines))
    assert page.shown[0] == "GROUP"
    for line, (_, lag, _) in zip(page.lines, rows, strict=True):
        assert "LAG" not in page.shown or str(lag) in line
        assert ("AT" in page.shown) == (AT in line) and ("STATE" in page.shown) == ("Stable" in line)


@given(TEXTS, st.integers(1, 60))
def test_what_is_shortened_keeps_its_ends(text: str, width: int) -> None:
    shown = shorten(text, width)
    assert cell_width(shown) <= width
    if shown != text:
        beginning, _, end = shown.partition("…")
        assert text.startswith(beginning) and text.endswith(end)
        assert width < 8 or cell_width(shown) >= width - 4


@given(TEXTS, st.integers(1, 60))
def test_a_text_keeps_its_beginning_alone(text: str, width: int) -> None:
    shown = shorten(text, width, tail=0)
    assert cell_width(shown) <= width and (shown == text or text.startswith(shown.removesuffix("…")))


@given(st.integers(0, 2**63 - 1), st.integers(20, 120))
def test_no_field_shows_the_end_of_another_as_its_value(offset: int, width: int) -> None:
    """`offset=…548361` would be read as an offset."""
    value = f"offset={offset} leaderEpoch=3 metadata='' commitTimestamp=1795264548361"
    line = lay_out(PrintedTable.of(Column.text("value", 1)), [[value]], width).lines[0]
    assert value.startswith(line.removesuffix("…"))


def test_the_least_important_columns_go_first_and_those_without_a_value_before_them() -> None:
    rows = [["orders", AT, "7", "Stable", "x" * 30]]
    assert lay_out(TABLE, rows, 80).shown == ("GROUP", "AT", "LAG", "STATE", "METADATA")
    assert lay_out(TABLE, rows, 50).shown == ("GROUP", "AT", "LAG", "STATE")
    assert lay_out(TABLE, rows, 24).shown == ("GROUP", "LAG", "STATE")
    without_state = [["orders", AT, "7", ABSENT, "x" * 30]]
    assert lay_out(TABLE, without_state, 41).shown == ("GROUP", "AT", "LAG")


def test_without_a_width_everything_is_whole() -> None:
    long = "g" * 2_000
    rows = [[long, AT, "7", "Stable", "注文" * 900]]
    assert long in lay_out(TABLE, rows, None).lines[0]
    assert lay_out(TABLE._replace(is_whole=True), rows, 80) == lay_out(TABLE, rows, None)


def test_numbers_are_flush_right_and_wide_characters_keep_columns_straight() -> None:
    rows = [["注文", AT, "7", "Empty", "a"], ["orders", AT, "1234", "Stable", "b"]]
    page = lay_out(TABLE, rows, 80)
    assert page.lines[0].startswith(f"注文    {AT}     7  Empty   a")
    assert page.lines[1].startswith(f"orders  {AT}  1234  Stable  b")


NAMES = ["", "-", "''", "'-'", "'", " a", "a ", "a", "\u0301", "'a'"]


def test_no_two_values_are_shown_alike_and_none_is_blank() -> None:
    shown = [_cell(value) for value in (None, *NAMES)]
    assert len(set(shown)) == len(shown)
    assert shown[:4] == ["-", "''", "'-'", "''''"]
    assert all(cell_width(cell) and cell == cell.strip() for cell in shown)


@given(st.text(st.sampled_from("'- a\u0301\x00")) | st.text())
def test_what_a_cell_shows_is_read_again(text: str) -> None:
    assert from_cell(in_cell(text)) == text
    assert in_cell(text) in (text, f"'{text}'") and in_cell(text) not in ("", ABSENT)


def chosen(*show: str, format_: str = "table", wide: bool = False) -> PrintedTable:
    return TABLE.chosen(format_, {"show": show, "wide": wide})


def test_show_takes_titles_and_fields_in_any_case_and_in_that_order() -> None:
    assert chosen("lag,Group", "NOTE", format_="csv").titles == ("LAG", "GROUP", "METADATA")
    assert chosen().titles == TABLE.titles and chosen(wide=True).is_whole
    rows = [["1", "g" * 80]]
    assert lay_out(chosen("lag,group"), rows, 40).shown == ("LAG", "GROUP")


@pytest.mark.parametrize(
    ("show", "format_", "said"),
    [
        ("lag,nothing", "table", "'nothing': choose among GROUP, AT, LAG, STATE, METADATA"),
        ("", "csv", "'': choose among GROUP"),
        ("lag", "jsonl", "--format table"),
    ],
)
def test_what_cannot_be_shown_is_refused(show: str, format_: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        chosen(show, format_=format_)


@pytest.mark.parametrize(
    ("values", "is_right"), [(["1", "-", "2.5"], True), (["1", "x"], False), ([AT, "2026-11-21"], False)]
)
def test_the_values_decide_how_an_answer_in_sql_is_laid_out(values: list[str], is_right: bool) -> None:
    page = lay_out(PrintedTable.of_names(["total"]), [[value] for value in values], 40)
    assert page.lines[0].startswith(" ") == (is_right and len(values[0]) < 5)


def test_a_sentence_goes_on_in_lines_of_its_own() -> None:
    table = PrintedTable.of(
        Column.word("KIND", 1), Column.sentence("TITLE", 2), Column.number("PARTITION", 3)
    )
    text = "an offset of group orders moved back, by an admin or a simple client"
    page = lay_out(table, [["rewind", text, "7"], ["reset", "short", "8"]], 56)
    assert page.shown == ("KIND", "TITLE", "PARTITION")
    assert [page.heading, *page.lines] == [
        "KIND    TITLE                                  PARTITION",
        "rewind  an offset of group orders moved back,          7",
        "        by an admin or a simple client",
        "reset   short                                          8",
    ]
    assert lay_out(table, [["rewind", text, "7"]], None).lines == [f"rewind  {text}          7"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("see orders-orders-orders for it", ["see", "orders-", "orders-", "orders for", "it"]),
        ("a  b", ["a  b"]),
        ("x" * 50, ["x" * 10, "x" * 10, "…" + "x" * 9, "x" * 10]),
        ("ask `a b c` now", ["ask", "`a b c`", "now"]),
        ("ask `a b c d e f` now", ["ask `a b c", "d e f` now"]),
        ("an odd ` and so on", ["an odd `", "and so on"]),
        ("注文" * 6, ["注文注文注", "文注文注文", "注文"]),
    ],
)
def test_a_sentence_is_broken_between_words_and_a_command_is_one(text: str, lines: list[str]) -> None:
    assert wrap(text, 10) == lines


@given(st.text(alphabet=" `ab-\u0301注🦊", max_size=60), st.integers(1, 30))
def test_a_sentence_loses_nothing_and_no_line_is_too_wide(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(cell_width(line) <= width for line in lines)
    if CUT not in "".join(lines):
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert " ".join(wrap(text, width, is_rigid=False)) == text

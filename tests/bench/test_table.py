"""Tables come out as Markdown, and into the README between their two comments and nowhere else."""

from pathlib import Path

import pytest

from bench.table import BEGIN, END, Table, number, quoted, times
from offsets_tool.errors import OffsetsToolError


def test_a_table_in_markdown() -> None:
    table = Table("Speeds:", ("", "M records/s", "ratio"), [("ours", "6.0", "2.0x"), ("a|b", "3.0", "1.0x")])
    assert table.markdown() == (
        "Speeds:\n\n"
        "|  | M records/s | ratio |\n| --- | ---: | ---: |\n"
        "| ours | 6.0 | 2.0x |\n| a&#124;b | 3.0 | 1.0x |\n"
    )


def test_a_row_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="1 cells under 2 heads"):
        Table("t", ("", "n"), [("only",)]).markdown()


def test_what_stood_between_the_comments_is_replaced_and_the_rest_stays() -> None:
    before = f"# A\n\n{BEGIN}\nold\n{END}\n\n## B\n"
    once = quoted("new", before)
    assert once == f"# A\n\n{BEGIN}\nnew\n{END}\n\n## B\n"
    assert quoted("new", once) == once


@pytest.mark.parametrize("readme", ["# A\n", f"{BEGIN}\n", f"{END}\n{BEGIN}\n"])
def test_a_readme_without_the_place_is_left_alone(readme: str) -> None:
    with pytest.raises(OffsetsToolError, match="no place for the table"):
        quoted("new", readme)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.123, "0.12"), (0.00345, "0.0034"), (6.04, "6.0"), (99.94, "99.9"), (1234.5, "1,234"), (100.2, "100")],
)
def test_numbers_have_the_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text
    assert times(value) == f"{text}x"


def test_the_readme_has_the_place() -> None:
    readme = (Path(__file__).parent.parent.parent / "README.md").read_text()
    assert (
        quoted("new", readme).count("new")
        == readme.replace(readme[readme.index(BEGIN) : readme.index(END)], "").count("new") + 1
    )

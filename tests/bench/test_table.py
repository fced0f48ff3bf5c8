"""Tables come out as Markdown, and into a document between the two comments of their name and nowhere else."""

import pytest

from bench.table import Table, number, placed, section, times
from offsets_tool.errors import OffsetsToolError


def test_a_table_in_markdown() -> None:
    table = Table(
        "Speeds:", ("", "M records/s", "ratio"), [("ours", "6.0", "2.0x"), ("a|b", "3.0", "1.0x")], {}
    )
    assert table.markdown() == (
        "Speeds:\n\n"
        "|  | M records/s | ratio |\n| --- | ---: | ---: |\n"
        "| ours | 6.0 | 2.0x |\n| a&#124;b | 3.0 | 1.0x |\n"
    )


def test_a_row_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="1 cells under 2 heads"):
        Table("t", ("", "n"), [("only",)], {}).markdown()


BEGIN, END = section("runs")
OTHER = "{}\nof others\n{}\n".format(*section("replay"))


def test_what_stood_between_the_comments_is_replaced_and_the_rest_stays() -> None:
    once = placed("new", "runs", f"# A\n\n{OTHER}{BEGIN}\nold\n{END}\n{OTHER}\n## B\n")
    assert once == f"# A\n\n{OTHER}{BEGIN}\nnew\n{END}\n{OTHER}\n## B\n"
    assert placed("new", "runs", once) == once


@pytest.mark.parametrize("document", ["# A\n", OTHER, f"{BEGIN}\n", f"{END}\n{BEGIN}\n"])
def test_a_document_without_the_section_is_left_alone(document: str) -> None:
    with pytest.raises(OffsetsToolError, match="no section for the table runs: add <!-- bench runs -->"):
        placed("new", "runs", document)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.123, "0.12"), (0.00345, "0.0034"), (6.04, "6.0"), (99.94, "99.9"), (1234.5, "1,234"), (100.2, "100")],
)
def test_numbers_have_the_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text
    assert times(value) == f"{text}x"

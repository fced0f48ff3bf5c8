"""Each answer is computed in one place: the rows of a question are made in one module, which commands and the lake's jobs call.

A row class is made where it is called, or where its `_make` is named. Histories alone are made in two: one record at a time,
which is the reference, and by relations.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from tests.house.test_sizes import PRODUCT, ROOT, modules

_ANSWERS: Final = (
    "as_of",
    "evidence/answers",
    "expiry",
    "findings",
    "history",
    "lag",
    "plans",
    "rebalances",
    "review",
    "sizes",
)
"""The folders that declare the rows of answers."""
REFERENCE: Final = "offsets_tool/history/row_builders.py"
TWICE: Final[Mapping[str, frozenset[str]]] = {
    # The lake has anomalies as rows, which a reader of it takes back.
    "AnomalyRow": frozenset((REFERENCE, "offsets_tool/lake/histories.py")),
    "GroupHistoryRow": frozenset((REFERENCE, "offsets_tool/relations/group_histories.py")),
    "MemberHistoryRow": frozenset((REFERENCE, "offsets_tool/relations/member_rows.py")),
    # relations make columns of offset_history; finders read one row of them at a time.
    "OffsetHistoryRow": frozenset((REFERENCE, "offsets_tool/columns/offset_rows.py")),
}
"""The rows that are made in two modules, and why."""


def declared() -> set[str]:
    """Return the names of row classes that answers have."""
    return {
        node.name
        for module in modules("offsets_tool")
        if module.as_posix().removeprefix("offsets_tool/").startswith(_ANSWERS)
        for node in ast.parse((ROOT / module).read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and (node.name.endswith("Row") or node.name == "Finding")
    }


def made(text: str, rows: set[str]) -> Iterator[str]:
    """Yield the names of row classes that a module makes."""
    for node in ast.walk(ast.parse(text)) if any(row in text for row in rows) else ():
        maker = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Attribute) and node.attr == "_make":
            maker = node.value
        if isinstance(maker, ast.Name) and maker.id in rows:
            yield maker.id


def test_rows_of_an_answer_are_made_in_one_module() -> None:
    rows, makers = declared(), defaultdict[str, set[str]](set)
    assert {"LagRow", "ExpiryRow", "Finding", "RebalanceRow", "PlanRow"} <= rows
    for module in modules(*PRODUCT):
        for row in made((ROOT / module).read_text(encoding="utf-8"), rows):
            makers[row].add(module.as_posix())
    assert {row: found for row, found in makers.items() if len(found) > 1} == TWICE


def test_a_second_maker_is_found() -> None:
    for text in ("LagRow(1)", "rows = map(LagRow._make, facts)", "LagRow._make(facts)"):
        assert list(made(text, {"LagRow"})), text
    assert not list(made("row: LagRow = other(1)\nschema(LagRow)", {"LagRow"}))

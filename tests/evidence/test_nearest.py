"""The names nearest to a mistyped one."""

import pytest

from offsets_tool.evidence.nearest import nearest


@pytest.mark.parametrize(
    ("text", "names", "found"),
    [
        ("ordres", ["orders", "payments", "orders-dlq"], ["orders"]),
        ("ORDERS", ["orders", "x"], ["orders"]),
        ("orders", ["prod-orders-eu-west-1"], ["prod-orders-eu-west-1"]),
        ("ordrs-*", ["orders-1"], ["orders-1"]),
        ("orders ", ["orders"], ["orders"]),
        ("zeta", ["orders", ""], []),
        ("*", ["orders"], []),
        ("", ["orders"], []),
        ("a", ["a\n", "b"], ["a\n"]),
    ],
)
def test_the_nearest_names(text: str, names: list[str], found: list[str]) -> None:
    assert nearest(text, names)[: len(found)] == found and (found or not nearest(text, names))


def test_many_and_long_names_are_looked_at_cheaply() -> None:
    many = {f"team-{number}.service": None for number in range(120_000)}
    assert nearest("team-77.servce", many)[0] == "team-77.service"
    assert nearest("x" * 32_000, ["x" * 32_001, "y"]) == ["x" * 32_001]

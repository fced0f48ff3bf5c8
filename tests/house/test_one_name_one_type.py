"""A public class or alias of the product has a name of its own, so that its name says in any module what it is."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).parents[2]
DECLARATIONS: Final = ROOT / "offsets_tool" / "records"
"""Classes of messages have Kafka's names, which Kafka gives to several."""


def names_of(module: Path) -> Iterator[str]:
    """Yield the public classes and named types of a module: all names that begin with a capital, but for type variables."""
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            made = ast.unparse(node.value) if node.value else ""
            if isinstance(target, ast.Name) and not made.startswith(("TypeVar(", "ParamSpec(", "Annotated[")):
                yield target.id


def test_no_two_public_types_have_one_name() -> None:
    homes = defaultdict(list)
    for package in ("offsets_tool", "spark"):
        for module in sorted((ROOT / package).rglob("*.py")):
            if DECLARATIONS not in module.parents:
                for name in names_of(module):
                    if name[0].isupper() and not name.isupper():
                        homes[name].append(module.relative_to(ROOT).as_posix())
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}

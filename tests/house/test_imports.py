"""What text imports of ours exists: cells of notebooks, and scripts in strings of tests, which no linter reads.

Known on every save, and not only when kernels and processes run them.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import nbformat
import pytest

from tests.notebooks.execute import NOTEBOOKS

pytestmark = pytest.mark.slow

TESTS: Final = Path(__file__).parents[1]
OURS: Final = re.compile(
    r"^\s*from ((?:offsets_tool|spark|oracle|bench|tests)(?:\.\w+)*) import (\([^)]+\)|[^\n#\\;]+)",
    re.MULTILINE,
)
COMMENT: Final = re.compile(r"#.*")


def cells() -> Iterator[tuple[str, str]]:
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                yield path.name, cell.source


def strings() -> Iterator[tuple[str, str]]:
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path.relative_to(TESTS.parent).as_posix(), node.value


@cache
def imports() -> dict[str, set[tuple[str, str]]]:
    """Return the module and name of each import in a text, by the place of that text."""
    found = defaultdict[str, set[tuple[str, str]]](set)
    for where, text in (*cells(), *strings()):
        for module, names in OURS.findall(text):
            for name in COMMENT.sub("", names).strip("()\n ").split(","):
                if name.strip():
                    found[where].add((module, name.strip().partition(" as ")[0]))
    return found


def is_there(module: str, name: str) -> bool:
    imported = import_module(module)
    is_package = hasattr(imported, "__path__")
    return hasattr(imported, name) or (is_package and find_spec(f"{module}.{name}") is not None)


def test_names_are_there() -> None:
    wanted = [(where, module, name) for where, names in imports().items() for module, name in sorted(names)]
    assert [(where, f"{module}.{name}") for where, module, name in wanted if not is_there(module, name)] == []


def test_notebooks_and_scripts_are_looked_at() -> None:
    found = set(imports())
    assert {path.name for path in NOTEBOOKS.glob("*.ipynb")} <= found
    assert "tests/house/test_one_declaration.py" in found

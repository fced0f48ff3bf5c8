"""What the pages for people name is there: every file and folder, every module, function and class, every link and make target."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.corpora import FIXTURES

ROOT = FIXTURES.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
ABOVE = (ROOT, ROOT / "offsets_tool")
"""What a path or a dotted name may begin in."""
MADE = {"_checkpoints/", "_captured/", "_stream/", "build/", "dist/"}
"""Folders that programs make."""
PATH = re.compile(r"[\w.-]+(/[\w.-]+)*/|[\w./-]+\.(py|md|toml|yml|yaml|ipynb)|\.ci/run")
DOTTED = re.compile(r"[a-z_]\w*(\.\w+)+")


def names(page: Path) -> list[str]:
    """Return the texts between backticks on a page, without fenced blocks."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`([^`\n]+)`", text)


def is_there(dotted: str) -> bool:
    """Return whether a dotted name is a module, or a name in a module or class; True for names outside of our packages."""
    parts = dotted.split(".")
    homes = [home for home in ABOVE if (home / parts[0]).is_dir() or (home / f"{parts[0]}.py").is_file()]
    return not homes or any(_found(home, parts) for home in homes)


def _found(folder: Path, parts: list[str]) -> bool:
    for at, part in enumerate(parts):
        if (folder / part).is_dir():
            folder /= part
            continue
        file = folder / f"{part}.py"
        if file.is_file():
            return _has(_definitions(file), parts[at + 1 :])
        return _has(_definitions(folder / "__init__.py"), parts[at:])
    return True


def _has(node: ast.AST, parts: list[str]) -> bool:
    for part in parts:
        found = [inner for inner in _inside(node) if part in _defined(inner)]
        if not found:
            return False
        node = found[0]
    return True


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of a module or class, also those below `if TYPE_CHECKING`."""
    for inner in ast.iter_child_nodes(node):
        yield from _inside(inner) if isinstance(inner, ast.If) else (inner,)


def _defined(node: ast.AST) -> set[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return {node.name}
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name for alias in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


@cache
def _definitions(file: Path) -> ast.Module:
    return ast.parse(file.read_text()) if file.is_file() else ast.Module([], [])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_names_of_a_page_exist(page: Path) -> None:
    paths = [name for name in names(page) if PATH.fullmatch(name) and name not in MADE]
    assert [path for path in paths if not any((home / path).exists() for home in ABOVE)] == []
    dotted = [name for name in names(page) if DOTTED.fullmatch(name) and not PATH.fullmatch(name)]
    assert [name for name in dotted if not is_there(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_targets_of_a_page_exist(page: Path) -> None:
    text = page.read_text()
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [link for link in links if link and not (page.parent / link).exists()] == []
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {one or other for one, other in re.findall(r"^make (\w+)|`make (\w+)[ `]", text, re.MULTILINE)}
    assert named - targets == set()


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("events.decode", True),
        ("replay.coordinator.Coordinator.replay", True),
        ("offsets_tool.events.Event.group", True),
        ("spark.lake.commit", True),
        ("records.RECORD_TYPES", True),
        ("partition.metadata", True),
        ("events.encode_all", False),
        ("replay.coordinator.Coordinator.told", False),
        ("spark.lake.committing", False),
    ],
)
def test_names_are_looked_up_without_importing_them(name: str, there: bool) -> None:
    assert is_there(name) is there

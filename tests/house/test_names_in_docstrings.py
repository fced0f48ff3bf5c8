"""What docstrings name is there: a member of a class, a name of a module by its dotted path, a module's file.

Only names that can be told from Kafka's, and from a variable's in an example, are looked for: a class of ours with a member that is
spelt as Python spells them, a path of two modules or more, and `name.py`.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).parents[2]
PRODUCT: Final = ("offsets_tool", "spark")
_DOTTED: Final = re.compile(r"(?<![\w./-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?!\w|/|\.\w)")
_KAFKAS: Final = re.compile(r"[a-z]+[A-Z]")
_SETTINGS: Final = {"log.segment.bytes"}
"""Settings of brokers that begin as a module of ours is called."""


class Names(NamedTuple):
    """What a class or a module has, and the names of a class's bases."""

    own: set[str]
    bases: set[str]


@cache
def parsed() -> dict[Path, ast.Module]:
    """The modules of the product, by their path in the repository."""
    return {
        path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8"))
        for package in PRODUCT
        for path in sorted((ROOT / package).rglob("*.py"))
    }


def declared(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements bind: definitions, assignments and imports."""
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from (
                    each.id for one in targets for each in ast.walk(one) if isinstance(each, ast.Name)
                )
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((each.asname or each.name).split(".")[0] for each in names)
            case ast.If(body=some, orelse=others) | ast.Try(body=some, orelse=others):
                yield from declared([*some, *others])


def of_instances(found: ast.ClassDef) -> Iterator[str]:
    """Yield the attributes that a class's methods set."""
    for node in ast.walk(found):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


@cache
def classes() -> dict[str, Names]:
    """All classes of the product by name; what those of one name have is put together."""
    found: dict[str, Names] = {}
    for module in parsed().values():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                names = found.setdefault(node.name, Names(set(), set()))
                names.own.update(declared(node.body), of_instances(node))
                names.bases.update(ast.unparse(base).rpartition(".")[2] for base in node.bases)
    return found


@cache
def modules() -> dict[str, set[str]]:
    """The names that modules have, by each path of two parts or more that ends in the module."""
    found: dict[str, set[str]] = {}
    for path, module in parsed().items():
        parts = [part for part in path.with_suffix("").parts if part != "__init__"]
        inside = {other.stem for other in parsed() if other.parent == path.parent and path.stem == "__init__"}
        for first in range(len(parts) - 1):
            found.setdefault(".".join(parts[first:]), set()).update(declared(module.body), inside)
    return found


def has(name: str, member: str) -> bool:
    """Return whether a class of the product, or one of its bases, has a member; a base of others may have any."""
    if name not in classes():
        return name not in {"object", "NamedTuple", "Protocol", "Exception"}
    return member in classes()[name].own or any(has(base, member) for base in classes()[name].bases)


def is_missing(name: str) -> bool:
    """Return whether a dotted name is certainly none of the product's, though it looks like one."""
    of, _, last = name.rpartition(".")
    owner = of.rpartition(".")[2]
    if last == "py":
        return not any(path.name == f"{owner}.py" for path in parsed())
    if owner in classes():
        return not _KAFKAS.match(last) and not has(owner, last)
    return of in modules() and last not in modules()[of] and f"{of}.{last}" not in modules()


def missing(text: str) -> list[str]:
    """Return the names in a docstring that are not there."""
    return [name for name in _DOTTED.findall(text) if name not in _SETTINGS and is_missing(name)]


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("asked of `Coordinator.replay`, and of wire.json.render in walk.py", True),
        ("as ConsumerGroup.preferredServerAssignor does, with `event.group`", True),
        ("asked of `Coordinator.repeat`", False),
        ("as wire.json.rendered does", False),
        ("see written.py", False),
    ],
)
def test_a_name_that_is_not_there_is_found(text: str, is_found: bool) -> None:
    assert (not missing(text)) == is_found


def test_docstrings_name_what_is_there() -> None:
    found = {
        f"{path}:{node.lineno}": names
        for path, module in parsed().items()
        for node in ast.walk(module)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str) and (names := missing(node.value.value))
    }
    assert not found

"""The public API: every name has a docstring with an example that is true, and nothing is loaded before it is used."""

import doctest
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import offsets_tool
from tests.corpora import FIXTURES

ROOT = FIXTURES.parent


@pytest.mark.parametrize("name", offsets_tool.__all__)
def test_the_example_of_each_name_is_true(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = getattr(offsets_tool, name)
    home = import_module(found.__module__)
    (test,) = doctest.DocTestFinder(recurse=False).find(found, name, globs=dict(vars(home)))
    assert test.examples
    printed: list[str] = []
    results = doctest.DocTestRunner().run(test, out=printed.append)
    assert results.failed == 0, "".join(printed)


def test_names_are_no_subpackages_and_all_are_described() -> None:
    modules = {module.name for module in iter_modules([str(Path(offsets_tool.__file__).parent)])}
    assert modules & set(offsets_tool.__all__) == set()
    assert [name for name in offsets_tool.__all__ if name not in (offsets_tool.__doc__ or "")] == []
    assert set(offsets_tool.__all__) <= set(dir(offsets_tool))


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'decode_all'"):
        offsets_tool.decode_all  # noqa: B018


LOADED = "import sys; {}; print(*(name for name in sys.modules if name.startswith(('offsets_tool', 'pyarrow', 'numpy', 'click'))))"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "loaded", "not_loaded"),
    [
        ("import offsets_tool", {"offsets_tool"}, {"offsets_tool.errors", "pyarrow", "numpy", "click"}),
        ("import offsets_tool.wire.cursor", {"offsets_tool.wire"}, {"offsets_tool.events", "pyarrow"}),
        (
            "from offsets_tool import decode",
            {"offsets_tool.events"},
            {"offsets_tool.replay", "pyarrow", "numpy", "click"},
        ),
        ("from offsets_tool import snapshot_of", {"offsets_tool.evidence"}, {"pyarrow", "numpy", "click"}),
        ("from offsets_tool import read_events", {"offsets_tool.arrow_tables", "pyarrow"}, {"click"}),
    ],
)
def test_a_name_loads_what_it_needs_alone(statement: str, loaded: set[str], not_loaded: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(statement)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    there = set(done.stdout.split())
    assert loaded <= there and not there & not_loaded

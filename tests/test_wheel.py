"""The wheel, in an empty environment without the repository and without extras, runs the README's tour; pip's index is asked."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest

from tests.corpora import FIXTURES
from tests.test_readme import check, examples

ROOT = FIXTURES.parent
CORE = {
    "click",
    "cramjam",
    "crc32c",
    "kafka-python",
    "markdown-it-py",
    "mdurl",
    "offsets-tool",
    "pip",
    "pyarrow",
}
CORE |= {"numpy", "pygments", "rich", "setuptools"}
pytestmark = pytest.mark.install


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment's programs, with the wheel in it and what it depends on."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for package in ("offsets_tool", "spark"):
        copytree(ROOT / package, source / package, ignore=ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        copy(ROOT / name, source)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source)
    (wheel,) = folder.glob("*.whl")
    run(sys.executable, "-m", "venv", folder / "venv")
    run(folder / "venv" / "bin" / "pip", "install", "--quiet", wheel)
    return folder / "venv" / "bin"


def run(*command: str | Path) -> str:
    """Run a command outside of the repository, and return what it prints."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd="/", env=kept).stdout


def test_nothing_but_the_core_is_installed(programs: Path) -> None:
    listed = run(programs / "pip", "list", "--format=freeze").lower().splitlines()
    assert {line.split("==")[0] for line in listed} <= CORE


@pytest.mark.parametrize("program", ["offsets-tool", "offsets-spark"])
def test_the_version_is_the_package_s(programs: Path, program: str) -> None:
    version = run(programs / "python", "-c", "import offsets_tool; print(offsets_tool.__version__)")
    assert run(programs / program, "--version") == f"{program}, version {version}"


@pytest.mark.parametrize(
    ("command", "shown"), examples(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_tour_without_extras(
    command: str, shown: list[str], programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What needs an extra says which."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    if command.startswith("offsets-spark"):
        command, shown = f"({command} || true)", ["Error: offsets-spark needs pyspark and deltalake ..."]
    if command.startswith("offsets-tool report"):
        command, shown = (
            f"({command} || true)",
            ["Error: reports are written with Jinja2, Altair and vl-convert ..."],
        )
    check(command, shown, tmp_path, programs)

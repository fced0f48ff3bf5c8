"""The package that executors get: all of ours and nothing else, equal for equal sources, and it runs from the file."""

import json
import os
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner

from offsets_tool.columns import jit
from offsets_tool.log.archive.delta import delta_rows
from spark.cli import main
from spark.runtime.package import package_bytes
from tests.corpora import FIXTURES
from tests.spark.lakes import SEGMENT, comparable, plain

ROOT = FIXTURES.parent


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("package") / "offsets-tool.zip"
    done = CliRunner().invoke(main, ["package", "-o", str(file)])
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == f"{file}: {file.stat().st_size:,} bytes\n"
    return file


def test_it_is_all_of_ours_and_no_machine_code(package: Path) -> None:
    names = set(zipfile.ZipFile(package).namelist())
    ours = {
        path.relative_to(ROOT).as_posix()
        for folder in ("offsets_tool", "spark")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == ours
    assert {"spark/runtime/log4j2.properties", "offsets_tool/py.typed"} < names


def test_equal_sources_make_equal_packages(package: Path) -> None:
    assert package.read_bytes() == package_bytes()
    assert zipfile.ZipFile(BytesIO(package_bytes())).testzip() is None


@pytest.mark.slow
def test_it_runs_from_the_file(package: Path, tmp_path: Path) -> None:
    """As on an executor: away from the sources. What it packs there is itself."""
    kept = Path(jit.__path__[0], "__pycache__")
    environment = {**os.environ, "PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(kept)}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "spark.cli", *arguments]
        return subprocess.run(
            command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    told = [json.loads(line) for line in run("run", str(SEGMENT), "--lake", "lake").splitlines()]
    assert [step["run"] for step in told] == [1] * 5
    assert comparable(tmp_path / "lake") == plain(SEGMENT)
    assert delta_rows(tmp_path / "lake" / "lag").num_rows
    run("package", "-o", "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == package.read_bytes()


def test_where_it_cannot_be_written_is_said(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["package", "-o", str(tmp_path / "nowhere" / "a.zip")])
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1 and "cannot be written" in done.stderr

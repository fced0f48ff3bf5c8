"""`offsets-spark ingest --engine reference` writes the rows of the fast lane without it; `--debug` shows a traceback and times."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from offsets_tool.columns.jit.native import Compiled
from spark.cli import main
from spark.ingest.account import _reader
from tests.spark.lakes import SEGMENT, content


@pytest.fixture(autouse=True)
def a_reader_of_its_own() -> Iterator[None]:
    """No reader of an earlier ingest, which may know all keys already."""
    _reader.cache_clear()
    yield
    _reader.cache_clear()


def ingested(lake: Path, *options: str) -> Result:
    result = CliRunner().invoke(main, ["ingest", str(SEGMENT), "--lake", str(lake), *options])
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.slow
def test_the_same_rows_without_compiled_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ingested(tmp_path / "fast")
    monkeypatch.setattr(Compiled, "__call__", None)
    with pytest.raises(TypeError):
        CliRunner().invoke(
            main, ["ingest", str(SEGMENT), "--lake", str(tmp_path / "none")], catch_exceptions=False
        )
    ingested(tmp_path / "reference", "--engine", "reference")
    fast, reference = (content(tmp_path / name) for name in ("fast", "reference"))
    assert reference == fast and reference["events"]


def test_debug(tmp_path: Path) -> None:
    plain, shown = (
        CliRunner().invoke(main, ["ingest", "nowhere", "--lake", str(tmp_path), *debug])
        for debug in ((), ("--debug",))
    )
    assert plain.exit_code == shown.exit_code == 1
    assert "Traceback" not in plain.stderr and "Traceback" in shown.stderr
    assert plain.stderr.splitlines()[-1] == shown.stderr.splitlines()[-1]
    command = ["run", str(SEGMENT), "--lake", str(tmp_path / "lake"), "--debug"]
    times = CliRunner().invoke(main, command, catch_exceptions=False).stderr.splitlines()[-1]
    asking, showing = (float(re.search(rf"{step} ([\d.]+) s", times)[1]) for step in ("asking", "showing"))  # type: ignore[index]
    assert asking > showing and times.endswith(" s in all")

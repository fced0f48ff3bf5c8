"""`offsets-spark ingest --engine reference` writes the rows of the fast lane without it."""

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

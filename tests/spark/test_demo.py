"""The demonstration runs to its end and answers every question that it asks."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark import demo


@pytest.mark.spark
@pytest.mark.engine
def test_the_demonstration(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OFFSETS_TOOL_CACHE", str(tmp_path))
    assert demo.main() == 0
    shown = capfd.readouterr().out
    for question in demo.QUESTIONS:
        answer = shown.partition(f"{question.text}\n")[2].split("\n\n")[0]
        assert len(answer.splitlines()) > 2, question.text
    assert f"run {len(demo.CLUSTERS)}: " in shown
    assert (tmp_path / "demo-lake" / "events").is_dir()

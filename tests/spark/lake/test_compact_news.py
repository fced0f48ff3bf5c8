"""Compaction costs what is new, keeps all rows, and leaves files of which a question about a cluster, group or day needs few."""

from pathlib import Path
from typing import Any

import pytest

from offsets_tool.lake.scan import FileFacts, facts_of, is_within
from offsets_tool.log.archive.delta import open_delta
from spark.check.check import check
from spark.lake.compact import compact
from tests.evidence.copies import copy
from tests.replay.story import commit
from tests.replay.story_segments import in_order
from tests.spark.lakes import content, ingest_here, no_session
from tests.spark.replay.test_copies import replay_here

DAY = 86_400_000
CLUSTERS = 8
DAYS = 4
RECORDS = 80


def events(lake: Path) -> list[FileFacts]:
    return facts_of(open_delta(lake / "events"))


def needed(files: list[FileFacts], **values: Any) -> int:
    """Return how many files may have rows with these values, by their statistics."""
    return sum(all(is_within(file, name, value) for name, value in values.items()) for file in files)


def night(lake: Path, folder: Path, day: int) -> None:
    """Ingest a day of each cluster, in which forty groups commit in turn."""
    told = (commit(f"g{at % 40:02}", "t", 0, at) for at in range(RECORDS))
    log = in_order(*told, start=RECORDS * day, timestamp=DAY * (1 + day))
    for number in range(CLUSTERS):
        directory = copy(folder / str(day) / str(number), log, base=RECORDS * day)
        (directory / "meta.properties").write_text(f"version=0\nbroker.id=1\ncluster.id=c{number}\n")
    ingest_here(lake, folder / str(day))


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make limits so small that tables of kilobytes behave as those of gigabytes do: many files, small ones merged."""
    for module in ("compact", "merge"):
        monkeypatch.setattr(f"spark.lake.{module}.FILE_BYTES", 2 << 10)


@pytest.mark.usefixtures("small_files")
def test_a_night_costs_what_is_new_and_questions_need_few_files(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for day in range(DAYS):
        night(lake, tmp_path, day)
        before, there = content(lake), {file["path"]: file for file in events(lake)}
        compact(str(lake), no_session)
        assert content(lake) == before
        after = {file["path"]: file for file in events(lake)}
        written = sum(file["num_records"] for path, file in after.items() if path not in there)
        assert written <= RECORDS * CLUSTERS * 1.5, "rows of a night, and few of the night before"
    files = events(lake)
    assert len(files) >= 3 * DAYS
    cluster, day = {"cluster": "c5"}, {"timestamp": DAY * 2 + 7_000}
    assert needed(files, **day) <= len(files) / DAYS + 2
    of_each = [needed(files, cluster=f"c{number}") for number in range(CLUSTERS)]
    assert sum(of_each) / CLUSTERS <= len(files) * 0.45, "only clusters at the seams are in two files a day"
    assert needed(files, **cluster, group="g07", **day) <= 2
    compact(str(lake), no_session)
    assert events(lake) == files
    replay_here(lake)
    assert [each for each in check(str(lake)) if not each.is_ok] == []

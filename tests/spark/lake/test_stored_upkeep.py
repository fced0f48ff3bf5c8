"""A lake in object storage is checked and compacted as one on disk is: same defects, same rows, same files left."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from offsets_tool.errors import OffsetsToolError
from offsets_tool.findings.rows import Severity
from offsets_tool.lake.tables import EVENTS, LOG, SOURCES
from offsets_tool.log import buckets
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.log.storage import as_path
from spark.check.check import check
from spark.check.checked import Checked
from spark.lake.compact import compact
from spark.lake.lease import leased
from spark.lake.scan import facts_of
from tests.log.object_store import SECRET, ObjectStore, object_store
from tests.spark.lake.test_stored_lake import SEGMENTS, assert_same, bring, run
from tests.spark.lakes import no_session

pytestmark = pytest.mark.server
STORED = "s3://evidence/{}"


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    buckets._bucket.cache_clear()
    with object_store() as server:
        server.upload(SEGMENTS, "dump")
        yield server
    buckets._bucket.cache_clear()


def nights(lake: str | Path) -> None:
    """Bring the segments partition by partition, so that each table has several files."""
    for folder in sorted(SEGMENTS.iterdir()):
        bring(lake, folder)


def said(found: list[Checked]) -> list[tuple[object, ...]]:
    """Return what a check says, but for where the lake is."""
    return [(each.what, each.is_ok, each.looked_at, each.severity, each.problem) for each in found]


def without_sizes(found: Checked) -> tuple[str, str]:
    """Return what is wrong without numbers of bytes: the same rows differ in their sources' names."""
    return found.what, re.sub(r"\d+ bytes|says \d+", "", found.problem or "")


def file_of(lake: str | Path, table: str) -> Path:
    root = as_path(str(lake))
    return root / table / min(file["path"] for file in facts_of(open_delta(root / table)))


def test_a_sound_lake_in_storage_has_nothing_wrong(server: ObjectStore, tmp_path: Path) -> None:
    for lake, source in ((STORED.format("sound"), "s3://evidence/dump"), (str(tmp_path), SEGMENTS)):
        run(lake, source)
    stored, here = (
        list(check(lake, reads_rows=True, reads_sources=True))
        for lake in (STORED.format("sound"), str(tmp_path))
    )
    assert said(stored) == said(here)
    assert all(each.is_ok for each in stored)


@pytest.mark.parametrize("table", [LOG.name, EVENTS.name, SOURCES.name])
@pytest.mark.parametrize("is_gone", [True, False])
def test_damage_in_storage_is_named_as_on_disk(
    server: ObjectStore, tmp_path: Path, table: str, is_gone: bool
) -> None:
    lakes = STORED.format(f"damaged-{table}-{is_gone}"), str(tmp_path)
    for lake in lakes:
        nights(lake)
        path = file_of(lake, table)
        if is_gone:
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:-7])
    stored, here = ([each for each in check(lake) if not each.is_ok] for lake in lakes)
    assert [without_sizes(each) for each in stored] == [without_sizes(each) for each in here]
    assert stored[0].severity == Severity.CRITICAL and SECRET not in str(stored)
    assert stored[0].where == f"{table}/{file_of(lakes[0], table).name}"


def test_a_lake_that_is_written_to_is_not_checked(server: ObjectStore) -> None:
    lake = STORED.format("written")
    bring(lake, SEGMENTS)
    with leased(as_path(lake)), pytest.raises(OffsetsToolError, match=f"is writing to {lake} since 20"):
        list(check(lake))
    checking = check(lake)
    assert next(checking).is_ok
    with leased(as_path(lake)):
        pass
    with pytest.raises(OffsetsToolError, match=f"a job wrote to {lake} meanwhile"):
        list(checking)


@pytest.mark.parametrize("is_full", [False, True])
def test_compaction_in_storage_leaves_the_rows_and_one_file(
    server: ObjectStore, tmp_path: Path, is_full: bool
) -> None:
    lake = STORED.format(f"compacted-{is_full}")
    nights(lake)
    nights(tmp_path)
    done = compact(lake, no_session, days_kept=0, is_full=is_full)
    assert_same(lake, tmp_path)
    assert all(each.files_after == 1 for each in done if each.files_before)
    assert all(each.files_deleted >= each.files_before - 1 for each in done)
    assert [each for each in check(lake, reads_rows=True) if not each.is_ok] == []
    if not is_full:
        assert all(each.files_deleted == 0 for each in compact(lake, no_session, days_kept=0))

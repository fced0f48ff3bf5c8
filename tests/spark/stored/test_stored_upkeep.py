"""A lake in object storage is checked and compacted as one on disk is: same defects, same rows, same files left."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from offsets_tool.errors import OffsetsToolError
from offsets_tool.findings.rows import Severity
from offsets_tool.lake.scan import facts_of
from offsets_tool.lake.tables import EVENTS, LOG, SOURCES
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.log.storage import as_path
from spark.check.check import check
from spark.check.checked import Checked
from spark.lake.compact import compact
from spark.lake.lease import leased
from tests.log.object_store import SECRET, ObjectStore, object_store
from tests.spark.lakes import no_session
from tests.spark.stored.test_stored_lake import SEGMENTS, assert_same, bring

pytestmark = pytest.mark.server
STORED = "s3://evidence/{}"


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with object_store() as server:
        server.upload(SEGMENTS, "dump")
        yield server


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake on disk to which the segments were brought partition by partition, so that each table has several files."""
    lake = tmp_path_factory.mktemp("nights")
    for folder in sorted(SEGMENTS.iterdir()):
        bring(lake, folder)
    return lake


@pytest.fixture(scope="module")
def damaged(server: ObjectStore, nights: Path) -> Iterator[tuple[str, Path]]:
    """The lake of `nights` in storage and on disk: whoever damages a file there mends it."""
    yield server.upload(nights, "damaged"), nights


@contextmanager
def damage(path: Path, *, is_gone: bool) -> Iterator[None]:
    """Take a file, or its last bytes, away inside of a `with` block."""
    content = path.read_bytes()
    path.unlink()
    if not is_gone:
        path.write_bytes(content[:-7])
    yield
    path.write_bytes(content)


def without_sizes(found: Checked) -> tuple[str, str]:
    """Return what is wrong without numbers of bytes: the same rows differ in their sources' names."""
    return found.what, re.sub(r"\d+ bytes|says \d+", "", found.problem or "")


def file_of(lake: str | Path, table: str) -> Path:
    root = as_path(str(lake))
    return root / table / min(file["path"] for file in facts_of(open_delta(root / table)))


@pytest.mark.parametrize("table", [LOG.name, EVENTS.name, SOURCES.name])
@pytest.mark.parametrize("is_gone", [True, False])
def test_damage_in_storage_is_named_as_on_disk(damaged: tuple[str, Path], table: str, is_gone: bool) -> None:
    found, names = [], []
    for lake in damaged:
        names.append(file_of(lake, table))
        with damage(names[-1], is_gone=is_gone):
            found.append([each for each in check(str(lake)) if not each.is_ok])
    stored, here = found
    assert [without_sizes(each) for each in stored] == [without_sizes(each) for each in here]
    assert stored[0].severity == Severity.CRITICAL and SECRET not in str(stored)
    assert stored[0].where == f"{table}/{names[0].name}"


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
    server: ObjectStore, nights: Path, is_full: bool
) -> None:
    lake = server.upload(nights, f"compacted-{is_full}")
    done = compact(lake, no_session, days_kept=0, is_full=is_full)
    assert_same(lake, nights)
    assert all(each.files_after == 1 for each in done if each.files_before)
    assert all(each.files_deleted >= each.files_before - 1 for each in done)
    assert [each for each in check(lake, reads_rows=True) if not each.is_ok] == []
    if not is_full:
        assert all(each.files_deleted == 0 for each in compact(lake, no_session, days_kept=0))

"""Azure's storage and Google's are as good as S3: logs and lakes there are those on disk, and one job at a time writes.

Their servers are stand-ins on 127.0.0.1, which refuse a put that must not replace anything, as the real ones do.
"""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner
from deltalake.exceptions import CommitFailedError

from offsets_tool.cli import main as offsets_tool
from offsets_tool.errors import SetupError, SourceError
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.log.files.mapping import map_file
from offsets_tool.log.storage import as_path
from spark.check.check import check
from spark.cli import main as offsets_spark
from spark.lake import lease
from spark.lake.compact import compact
from tests.log import azure_store
from tests.log.environment import environment
from tests.log.stores import STORES
from tests.spark.lakes import no_session
from tests.spark.stored.test_stored_lake import SEGMENTS, assert_same, assert_same_answer, bring

pytestmark = pytest.mark.server
_QUESTION: Final = "SELECT `group`, topic, lag, worst_topic FROM group_lag JOIN current_offsets USING (`group`) ORDER BY 1, 2, 3"


@pytest.fixture(scope="module", params=["gs", pytest.param("abfs", marks=pytest.mark.deep)])
def root(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URI of a store with a log in it."""
    with STORES[request.param]() as store:
        store.upload(SEGMENTS, "dump")
        yield store.root


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake on disk after all jobs."""
    lake = tmp_path_factory.mktemp("lake")
    run(lake, SEGMENTS)
    return lake


def run(lake: str | Path, source: str | Path) -> None:
    done = CliRunner().invoke(offsets_spark, ["run", str(source), "--lake", str(lake), "--format", "jsonl"])
    assert done.exit_code == 0, done.stderr


def asked(lake: str) -> str:
    done = CliRunner().invoke(offsets_tool, ["sql", "--lake", lake, _QUESTION, "--format", "jsonl"])
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_a_command_answers_as_on_disk(root: str) -> None:
    assert_same_answer("inspect", f"{root}/dump")


def test_a_log_is_read_by_range(root: str) -> None:
    content = bytes(range(256)) * 40_000
    there = as_path(f"{root}/large/00000000000000000000.log")
    there.write_bytes(content)
    log = map_file(there)
    log.fetch(9_000_000, 9_000_061)
    assert bytes(log.data[9_000_000:9_000_061]) == content[9_000_000:9_000_061]
    there.unlink()
    assert not there.exists()


def test_all_jobs_and_answers_are_those_of_a_lake_on_disk(root: str, local: Path) -> None:
    lake = f"{root}/whole"
    for _ in range(2):
        run(lake, f"{root}/dump")
        assert_same(lake, local)
    assert asked(lake) == asked(str(local))
    assert [each for each in check(lake, reads_rows=True, reads_sources=True) if not each.is_ok] == []
    assert all(each.files_after == 1 for each in compact(lake, no_session, days_kept=0) if each.files_before)
    assert_same(lake, local)


def test_of_two_commits_of_a_version_one_is_refused(root: str) -> None:
    """The lease rests on it: whoever opened the table before another took the lease cannot take it too."""
    table = as_path(f"{root}/two") / lease.LEASE
    lease._create(table)
    first, second = open_delta(table), open_delta(table)
    lease._put(table, first, lease.Holding("first", "job", "2026", "2026"))
    with pytest.raises(CommitFailedError):
        lease._put(table, second, lease.Holding("second", "job", "2026", "2026"))


def test_a_bucket_that_is_not_there_is_said(root: str) -> None:
    with pytest.raises(SourceError, match="there is no such bucket; check the name"):
        bring(f"{root}/none", root.replace("evidence", "nowhere") + "/dump")


@pytest.mark.deep
def test_a_key_that_is_not_accepted_is_said() -> None:
    with azure_store.azure_store() as store:
        for other in (base64.b64encode(store.key.encode()).decode(), "!"):
            with (
                environment({"AZURE_STORAGE_ACCOUNT_KEY": other}),
                pytest.raises(SetupError, match="not accepted; check AZURE_STORAGE_ACCOUNT_KEY") as error,
            ):
                bring(f"{azure_store.ROOT}/none", f"{azure_store.ROOT}/dump")
            assert other not in str(error.value)

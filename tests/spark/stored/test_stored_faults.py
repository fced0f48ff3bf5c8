"""Whatever S3, Google's and Azure's storage do meanwhile, the same command run again ends with the lake on disk, row for row."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest
from click.testing import CliRunner

from offsets_tool.errors import LakeInUse, OffsetsToolError
from offsets_tool.lake.tables import LOG
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.log.storage import as_path
from spark.cli import main
from spark.lake import lease
from spark.lake.commit import ArrowLake
from spark.lake.failures import in_one_sentence
from tests.log.faults import CUT, CUT_AFTER, CUT_INSIDE, LATE, FaultyStore
from tests.log.object_store import SECRET
from tests.log.stores import STORES, in_each
from tests.spark.ingest.test_side_files import BESIDE, with_files_beside
from tests.spark.stored.test_stored_lake import SEGMENTS, assert_same, content
from tests.spark.stored.test_stored_lake import bring as bring_raw

pytestmark = pytest.mark.server
PARTS: Final = sorted(SEGMENTS.iterdir())


@pytest.fixture(scope="module")
def store(request: pytest.FixtureRequest) -> Iterator[FaultyStore]:
    """A server of storage of the kind that is asked for, with a log in it."""
    with STORES[request.param]() as store:
        store.upload(SEGMENTS, "dump")
        yield store


@pytest.fixture(autouse=True)
def sound(store: FaultyStore) -> Iterator[None]:
    yield
    store.mend()


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake on disk with all of the log."""
    lake = tmp_path_factory.mktemp("lake")
    bring(lake, SEGMENTS)
    return lake


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake on disk with all partitions of the log but the last, one after another."""
    lake = tmp_path_factory.mktemp("begun")
    for part in PARTS[:-1]:
        bring(lake, part)
    return lake


@pytest.fixture
def lake(store: FaultyStore, begun: Path) -> str:
    """A lake in storage with all partitions of the log but the last, for one test."""
    return store.upload(begun, f"lake-{uuid4()}")


def bring(lake: str | Path, source: str | Path) -> None:
    """Ingest as a command does: whatever it meets becomes one sentence."""
    with in_one_sentence(str(lake)):
        bring_raw(lake, source)


CODES: Final = ("SlowDown", "TooManyRequests", "InternalError")
"""S3 and Azure throttle by 503 alone, Google by 429 too, and Arrow tries nothing else again there."""


@pytest.mark.parametrize(
    "store, code",
    [(store, code) for store, code in in_each(CODES, 2) if store == "gs" or code != "TooManyRequests"],
    indirect=["store"],
)
def test_faults_that_pass_leave_no_trace(store: FaultyStore, lake: str, local: Path, code: str) -> None:
    store.fail(code, times=2, method="PUT", part="/log/")
    store.fail(code, times=2, method="PUT", part="/sources/")
    store.fail(code, times=2, method="GET")
    bring(lake, SEGMENTS)
    assert store.mend() == 6
    assert_same(lake, local)


CUTS: Final = [
    (code, part)
    for code in (CUT, CUT_AFTER)
    for part in ("/log/part", "/log/_delta_log/0000", "/sources/_delta_log/0000")
]


@pytest.mark.parametrize("store, case", in_each(CUTS, 2), indirect=["store"])
def test_a_connection_that_is_cut_in_a_put_is_made_up_for(
    store: FaultyStore, lake: str, local: Path, case: tuple[str, str]
) -> None:
    code, part = case
    store.fail(code, times=1, method="PUT", part=part)
    # Where a put is not made again by itself, nobody knows whether it was done.
    with suppress(OffsetsToolError):
        bring(lake, SEGMENTS)
    assert store.mend() == 1
    bring(lake, SEGMENTS)
    assert_same(lake, local)


PUTS: Final = ("/events/part", "/events/_delta_log/0000", "/sources/part")


@pytest.mark.parametrize("store, part", in_each(PUTS, 2), indirect=["store"])
def test_a_put_that_fails_for_good_is_made_up_for_by_the_next_run(
    store: FaultyStore, lake: str, local: Path, part: str
) -> None:
    for method in ("PUT", "POST"):
        store.fail("AccessDenied", times=999, method=method, part=part)
    with pytest.raises(OffsetsToolError) as error:
        bring(lake, SEGMENTS)
    assert SECRET not in str(error.value)
    store.mend()
    bring(lake, SEGMENTS)
    assert_same(lake, local)


@pytest.mark.parametrize("store, _", in_each([None], 1), indirect=["store"])
def test_what_a_listing_of_the_sources_lacks_is_brought_by_the_next_run(
    store: FaultyStore, local: Path, _: None
) -> None:
    lake = f"{store.root}/late"
    store.fail(LATE, times=1, part=PARTS[-1].name)
    bring(lake, f"{store.root}/dump")
    assert store.mend()
    assert 0 < len(content(lake, LOG)) < len(content(local, LOG))
    bring(lake, f"{store.root}/dump")
    assert_same(lake, local)


@pytest.mark.parametrize("store, table", in_each(("log", "events", "sources"), 2), indirect=["store"])
def test_a_listing_that_lacks_the_newest_commit_loses_nothing(
    store: FaultyStore, lake: str, local: Path, table: str
) -> None:
    version = open_delta(as_path(lake) / table).version()
    store.fail(LATE, times=1, part=f"/{table}/_delta_log/{version:020}.json")
    assert open_delta(as_path(lake) / table).version() < version
    with suppress(OffsetsToolError):
        bring(lake, SEGMENTS)
    assert store.mend()
    bring(lake, SEGMENTS)
    assert_same(lake, local)


@pytest.mark.parametrize("store, name", in_each(sorted(BESIDE), 2), indirect=["store"])
def test_a_file_beside_the_log_is_asked_for_again(store: FaultyStore, tmp_path: Path, name: str) -> None:
    """It has less bytes than the error that comes in its place, which Arrow's client does not take for one that passes."""
    data = with_files_beside(tmp_path / "data")
    source, lake = store.upload(data, f"beside-{uuid4()}"), f"{store.root}/lake-{uuid4()}"
    bring(tmp_path / "lake", data)
    store.fail("InternalError", times=2, method="GET", part=name)
    bring(lake, source)
    assert store.mend() == 2
    assert_same(lake, tmp_path / "lake")
    store.fail("AccessDenied", times=99, method="GET", part=name)
    with pytest.raises(OffsetsToolError, match=name):
        bring(f"{lake}-2", source)
    store.mend()
    bring(f"{lake}-2", source)
    assert_same(f"{lake}-2", tmp_path / "lake")


@pytest.mark.parametrize("store, code", in_each((*CODES, CUT, CUT_AFTER, CUT_INSIDE), 3), indirect=["store"])
def test_a_lake_is_given_back_though_storage_fails_meanwhile(
    store: FaultyStore, lake: str, code: str
) -> None:
    with in_one_sentence(lake), lease.leased(as_path(lake)):
        for method in ("GET", "PUT"):
            store.fail(code, times=3, method=method, part=f"/{lease.LEASE}/_delta_log/")
    assert store.mend()
    with lease.leased(as_path(lake)):
        pass


@pytest.mark.parametrize("store, _", in_each([None], 1), indirect=["store"])
def test_what_was_committed_counts_though_its_lease_is_not_given_back(
    store: FaultyStore, lake: str, local: Path, monkeypatch: pytest.MonkeyPatch, _: None
) -> None:
    given_back = lease._give_back

    def fail(held: lease._Lease) -> None:
        store.fail("AccessDenied", times=999, part=f"/{lease.LEASE}/")
        given_back(held)

    monkeypatch.setattr(lease, "_give_back", fail)
    monkeypatch.setattr(lease, "_PAUSES", (0.0, 0.0))
    bring(lake, SEGMENTS)
    assert store.mend()
    assert_same(lake, local)


@pytest.mark.parametrize("store, _", in_each([None], 1), indirect=["store"])
def test_a_second_writer_is_refused(store: FaultyStore, _: None) -> None:
    root = as_path(f"{store.root}/held")
    with lease.leased(root), pytest.raises(OffsetsToolError, match=f"is writing to {root} since 20"):
        bring(str(root), SEGMENTS)


@pytest.mark.parametrize("store, _", in_each([None], 1), indirect=["store"])
def test_a_job_that_was_killed_keeps_others_waiting_until_its_lease_ends(
    store: FaultyStore, lake: str, local: Path, monkeypatch: pytest.MonkeyPatch, _: None
) -> None:
    """It was killed while it gave the lake back: what it committed counts, and the next is told that it may try again."""
    command = ["ingest", str(SEGMENTS), "--lake", lake, "--format", "jsonl"]
    with monkeypatch.context() as patch:
        patch.setattr(lease, "_give_back", lambda held: held.prolong(timedelta(seconds=10)))
        bring(lake, SEGMENTS)
    refused = CliRunner().invoke(main, command)
    assert refused.exit_code == os.EX_TEMPFAIL and refused.stderr.count("\n") == 1, refused.output
    assert "is writing to" in refused.stderr and "--wait 10m waits for it" in refused.stderr
    done = CliRunner().invoke(main, [*command, "--wait", "2m"])
    assert done.exit_code == 0 and done.stderr.count("waiting for it") == 1, done.output
    assert_same(lake, local)


@pytest.mark.parametrize("store, _", in_each([None], 1), indirect=["store"])
def test_of_two_jobs_at_once_one_does_all_and_the_other_nothing_or_is_refused(
    store: FaultyStore, lake: str, local: Path, _: None
) -> None:
    def end(_: int) -> LakeInUse | None:
        try:
            bring(lake, SEGMENTS)
        except LakeInUse as error:
            return error
        return None

    with ThreadPoolExecutor(2) as pool:
        assert None in list(pool.map(end, range(2)))
    assert_same(lake, local)


@pytest.mark.parametrize("store, code", in_each((*CODES, CUT, CUT_AFTER), 3), indirect=["store"])
def test_a_lease_is_taken_or_refused_whatever_its_put_meets(store: FaultyStore, code: str) -> None:
    """A put that was done, though nobody was told, leaves a lease that ends; it never gives the lake to two."""
    root = as_path(f"{store.root}/lease-{code.replace(' ', '-')}")
    lease._create(root / lease.LEASE)
    store.fail(code, times=1, method="PUT", part=f"{root.name}/{lease.LEASE}/_delta_log")
    with suppress(OffsetsToolError), lease.leased(root), pytest.raises(LakeInUse), lease.leased(root):
        raise AssertionError("it was given to two")
    assert store.mend() == 1


@pytest.mark.parametrize("store, _", in_each([None], 1), indirect=["store"])
def test_a_job_that_lost_its_lease_counts_for_nothing_until_it_runs_again(
    store: FaultyStore, local: Path, monkeypatch: pytest.MonkeyPatch, _: None
) -> None:
    """Nobody renewed the lease; another job took it, and was done before the first one committed."""
    lake, others = f"{store.root}/lost", list[int]()
    bring(lake, PARTS[0])
    commit = ArrowLake.commit

    def outrun(self: ArrowLake, *args: Any, **options: Any) -> Any:
        if not others:
            others.append(args[0])
            bring(lake, PARTS[1])
        return commit(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(lease, "LASTS", timedelta(seconds=-1))
        patch.setattr(ArrowLake, "commit", outrun)
        with pytest.raises(OffsetsToolError, match=f"another job wrote to {lake}"):
            bring(lake, SEGMENTS)
    assert others
    bring(lake, SEGMENTS)
    assert_same(lake, local)

"""Tables whose logs deltalake does not reach: of two who commit one is refused, and no log is longer or shorter than it is.

Another process is one with mirrors of its own.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest
from deltalake.exceptions import CommitFailedError

from offsets_tool.errors import SetupError, SourceError
from offsets_tool.lake.scan import FileFacts
from offsets_tool.lake.tables import SOURCES
from offsets_tool.log.archive import delta_mirror
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.log.archive.delta_mirror import committing
from offsets_tool.log.buckets import bucket_of
from offsets_tool.log.storage import as_path
from spark.lake import lease, log_checkpoints
from spark.lake.commit import ArrowLake, Lake
from spark.lake.parquet import TableWriter
from spark.lake.replaced import Replacing
from tests.log.mount_table import MOUNTED, Mounted
from tests.spark.stored.test_stored_lake import SEGMENTS, bring

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("mounted")]


def test_the_log_of_leases_has_checkpoints(root: str) -> None:
    table = as_path(f"{root}/lakes/leased") / lease.LEASE
    for _ in range(6):
        with lease.leased(table.parent):
            pass
    assert open_delta(table).version() == 12
    assert "_last_checkpoint" in {each.name for each in (table / "_delta_log").iterdir()}


@contextmanager
def another_process(folder: Path) -> Iterator[None]:
    """Inside of this block, have mirrors of logs of one's own, as another process has."""
    with mock.patch.multiple(delta_mirror, _folder=lambda: folder, _OF_TABLES={}):
        yield


def put(table: Path, job: str) -> None:
    lease._put(table, open_delta(table), lease.Holding(job, "job", "2026", "2026"))


def log_of(table: Path) -> set[str]:
    return {each.name for each in (table / "_delta_log").iterdir()}


@pytest.mark.parametrize("place", ["hdfs", "disk"])
def test_of_two_commits_of_a_version_one_is_refused(place: str, tmp_path: Path) -> None:
    table = as_path(f"{MOUNTED}/{place}/lakes/two") / lease.LEASE
    lease._create(table)
    mine = open_delta(table)
    with another_process(tmp_path):
        put(table, "other")
    with pytest.raises(CommitFailedError):
        lease._put(table, mine, lease.Holding("mine", "job", "2026", "2026"))
    last = lease._last_holding(table, open_delta(table))
    assert last is not None and last.job == "other"
    assert not [each for each in log_of(table) if not each.endswith(".json")]


def test_a_commit_whose_answer_was_lost_is_done(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = as_path(f"{root}/lakes/unanswered") / lease.LEASE
    lease._create(table)
    client = bucket_of(table).system.base_fs.handler.client
    rename = client.rename

    def unanswered(src: str, dst: str, overwrite: bool = False) -> None:
        rename(src, dst, overwrite)
        if not overwrite:
            raise FileExistsError(17, "it was asked twice")

    monkeypatch.setattr(client, "rename", unanswered)
    put(table, "mine")
    last = lease._last_holding(table, open_delta(table))
    assert last is not None and last.job == "mine"


def test_a_log_of_which_the_end_is_a_checkpoint_is_read_while_it_is_made(
    root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that is cleaned between its listing and its reading."""
    table = as_path(f"{root}/lakes/beside") / lease.LEASE
    lease._create(table)
    for _ in range(9):
        put(table, "a")
    listed, times = delta_mirror._Mirror._listed, []

    def outdated(mirror: delta_mirror._Mirror) -> dict[str, delta_mirror._Facts]:
        found = listed(mirror)
        times.append(len(found))
        if len(times) == 1:
            with monkeypatch.context() as now:
                now.setattr(delta_mirror._Mirror, "_listed", listed)
                with another_process(tmp_path / "writer"):
                    put(table, "b")
                    (table / "_delta_log" / f"{1:020d}.json").unlink()
        return found

    (tmp_path / "writer").mkdir()
    (tmp_path / "reader").mkdir()
    monkeypatch.setattr(delta_mirror._Mirror, "_listed", outdated)
    with another_process(tmp_path / "reader"):
        assert open_delta(table).version() == 10
    assert len(times) == 2
    assert "_last_checkpoint" in log_of(table)


def test_a_mirror_that_has_lost_commits_is_no_shorter_log(root: str, tmp_path: Path) -> None:
    """Whoever is refused, after what he did has cleaned his mirror, reads all of the log again."""
    table = as_path(f"{root}/lakes/lost") / lease.LEASE
    lease._create(table)
    for _ in range(4):
        put(table, "a")
    mine = open_delta(table)
    with pytest.raises(ZeroDivisionError), committing(table) as mirror:
        for number in range(3):
            Path(mirror, "_delta_log", f"{number:020d}.json").unlink()
        raise ZeroDivisionError
    assert len(open_delta(table).history()) == 5
    with another_process(tmp_path):
        put(table, "other")
    with pytest.raises(CommitFailedError):
        lease._put(table, mine, lease.Holding("mine", "job", "2026", "2026"))
    assert len(open_delta(table).history()) == 6
    (table / "_delta_log" / f"{2:020d}.json").unlink()
    with pytest.raises(SourceError, match="is missing, though later commits are there"):
        open_delta(table)


def test_a_long_log_is_cleaned_and_read_from_its_checkpoint(mounted: Mounted, tmp_path: Path) -> None:
    """By the times that its files have, whoever's mirror it is."""
    table = as_path(f"{MOUNTED}/disk/lakes/long") / lease.LEASE
    lease._create(table)
    for _ in range(11):
        put(table, "a")
    own = mounted.on_disk(table)
    for path in (own / "_delta_log").iterdir():
        os.utime(path, (1, 1))
    with another_process(tmp_path):
        for _ in range(11):
            put(table, "b")
    assert {f"{number:020d}.json" for number in range(10)}.isdisjoint(log_of(table))
    assert open_delta(table).version() == 22


def test_the_log_of_a_table_is_cleaned(mounted: Mounted, monkeypatch: pytest.MonkeyPatch) -> None:
    """deltalake, which does it elsewhere, does not see what is old."""
    lake = as_path(f"{MOUNTED}/disk/lakes/cleaned")
    monkeypatch.setattr(log_checkpoints, "_BETWEEN_CLEANINGS", 20)
    bring(str(lake), next(SEGMENTS.rglob("*.log")))
    mine = ArrowLake(lake)
    for number in range(12):
        mine.lake.rewrite(SOURCES, lambda _, number=number: new_file(lake, str(number)))  # type: ignore[misc]
    for path in (mounted.on_disk(lake) / "sources" / "_delta_log").iterdir():
        os.utime(path, (1, 1))
    while open_delta(lake / "sources").version() < 21:
        mine.lake.rewrite(SOURCES, lambda _: new_file(lake, "more"))
    assert f"{0:020d}.json" not in log_of(lake / "sources")
    assert {"0", "11", "more"} < {row["source"] for row in ArrowLake(lake).sources()}


def test_a_lake_that_was_removed_is_made_anew(mounted: Mounted) -> None:
    lake = f"{MOUNTED}/disk/lakes/anew"
    for _ in range(2):
        assert bring(lake, SEGMENTS).run == 1
        shutil.rmtree(mounted.on_disk(as_path(lake)))


def test_a_commit_counts_without_its_checkpoint(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = as_path(f"{root}/lakes/unchecked") / lease.LEASE
    lease._create(table)
    there = open_delta(table)
    client = bucket_of(table).system.base_fs.handler.client
    create = client.create

    def refused(path: str) -> object:
        if "checkpoint" in path:
            raise OSError("QuotaExceeded")
        return create(path)

    monkeypatch.setattr(client, "create", refused)
    with committing(table):
        there.create_write_transaction([], "append", there.schema())
        there.create_checkpoint()
    assert open_delta(table).version() == 1
    with pytest.raises(SetupError, match="its quota is used up"), committing(table):
        there.create_checkpoint()


def test_who_opened_a_table_long_ago_goes_on_with_it(
    root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what others committed meanwhile, a mirror that begins at the newest checkpoint would have a part."""
    monkeypatch.setattr(delta_mirror, "_BEFORE", 2)
    table = as_path(f"{root}/lakes/behind") / lease.LEASE
    lease._create(table)
    mine = open_delta(table)
    with another_process(tmp_path):
        for _ in range(15):
            put(table, "other")
    assert open_delta(table).version() == 15
    mine.create_write_transaction([], "append", mine.schema())
    with another_process(tmp_path):
        assert len(open_delta(table, with_history=True).history()) == 16


@pytest.mark.parametrize("said", ["No space left on device", "Generic error: (os error 28)"])
def test_a_disk_that_is_full_is_said(root: str, said: str) -> None:
    table = as_path(f"{root}/lakes/full") / lease.LEASE
    lease._create(table)
    with pytest.raises(SetupError, match="no room for a mirror"), committing(table):
        raise OSError(said)


def test_checkpoints_of_another_kind_are_refused(mounted: Mounted) -> None:
    table = as_path(f"{MOUNTED}/disk/lakes/second") / lease.LEASE
    lease._create(table)
    (mounted.on_disk(table) / "_delta_log" / "_sidecars").mkdir()
    with pytest.raises(SourceError, match="kind V2"):
        open_delta(table)


def test_a_mirror_without_room_is_said(root: str) -> None:
    table = as_path(f"{root}/lakes/crowded") / lease.LEASE
    lease._create(table)
    with another_process(Path("/proc/full")), pytest.raises(SetupError, match="make room, or set TMPDIR"):
        open_delta(table)


def new_file(lake: Path, source: str) -> Replacing:
    """Write a row of `sources` for a source of another name, as a change of the table that nobody has committed."""
    row = ArrowLake(lake).sources()[0] | {"source": source}
    with TableWriter(lake, SOURCES) as writer:
        writer.write(pa.RecordBatch.from_pylist([row], schema=SOURCES.schema))
        return Replacing([], writer.close())


def test_who_was_slower_commits_to_what_the_other_made(root: str, tmp_path: Path) -> None:
    """As each commit of a run is tried again where another writer, such as Spark's OPTIMIZE, came first."""
    lake = as_path(f"{root}/lakes/three")
    bring(str(lake), next(SEGMENTS.rglob("*.log")))
    tried = []

    def meanwhile(files: list[FileFacts]) -> Replacing:
        tried.append(len(files))
        mine = new_file(lake, "mine")
        if len(tried) == 1:
            with another_process(tmp_path):
                Lake(lake).rewrite(SOURCES, lambda _: new_file(lake, "other"))
        return mine

    mine = ArrowLake(lake)
    mine.lake.rewrite(SOURCES, meanwhile)
    assert tried == [1, 2]
    assert {row["source"] for row in mine.sources()} > {"mine", "other"}

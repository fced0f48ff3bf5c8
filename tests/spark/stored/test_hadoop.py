"""Logs and a lake on a file system that only Hadoop's own classes know are those on disk, and one job at a time writes.

It is a mount table of Hadoop's (viewfs), which has a folder of HDFS and one of a disk.
"""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from deltalake import WriterProperties, write_deltalake

from offsets_tool.errors import LakeInUse, SetupError, SourceError
from offsets_tool.lake.scan import facts_of
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.log.buckets import bucket_of
from offsets_tool.log.storage import as_path
from spark.check.check import check
from spark.cli import main as jobs
from spark.lake import lease
from spark.lake.compact import compact
from tests.depth import DEEP
from tests.log.mount_table import MOUNTED, Mounted
from tests.spark.lakes import no_session
from tests.spark.stored.test_hdfs import NAMES
from tests.spark.stored.test_other_stores import asked
from tests.spark.stored.test_stored_lake import SEGMENTS, assert_same, assert_same_answer, bring, run

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("mounted")]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake on disk after all jobs."""
    lake = tmp_path_factory.mktemp("lake")
    run(lake, SEGMENTS)
    return lake


@pytest.mark.parametrize("command", ["groups", "decode", "inspect"])
def test_commands_read_it(root: str, command: str) -> None:
    assert_same_answer(command, f"{root}/dump")


@pytest.mark.parametrize("place", ["disk", pytest.param("hdfs", marks=pytest.mark.deep)])
def test_all_jobs_and_answers_are_those_of_a_lake_on_disk(place: str, local: Path) -> None:
    lake = f"{MOUNTED}/{place}/lakes/whole"
    for _ in range(2):
        run(lake, f"{MOUNTED}/{place}/dump")
        assert_same(lake, local)
    assert asked(lake) == asked(str(local))
    assert [each for each in check(lake, reads_rows=True, reads_sources=True) if not each.is_ok] == []
    upgraded = CliRunner().invoke(jobs, ["upgrade", "--lake", lake])
    assert upgraded.exit_code == 0, upgraded.stderr


def test_files_that_no_version_needs_are_deleted(mounted: Mounted, tmp_path: Path) -> None:
    lake = f"{MOUNTED}/disk/lakes/compacted"
    for source in sorted(SEGMENTS.iterdir())[:2]:
        bring(lake, source)
        bring(tmp_path, source)
    compacted = compact(lake, no_session, days_kept=0)
    assert [each.files_after for each in compacted if each.files_before > 1]
    assert all(each.files_after == 1 for each in compacted if each.files_before)
    for each in compacted:
        path = as_path(f"{lake}/{each.table}")
        named = {file["path"] for file in facts_of(open_delta(path))}
        assert {file.name for file in path.iterdir()} == {"_delta_log", *named}
        assert each.files_deleted in (0, each.files_before)
    assert_same(lake, tmp_path)
    stray = [as_path(f"{lake}/log/{name}.parquet") for name in ("young", "old")]
    for path in stray:
        path.write_bytes(b"of a run that was killed")
    os.utime(mounted.on_disk(stray[1]), (1, 1))
    assert sum(each.files_deleted for each in compact(lake, no_session, days_kept=7)) == 1
    assert [path.exists() for path in stray] == [True, False]


def test_a_second_writer_is_refused() -> None:
    lake = f"{MOUNTED}/disk/lakes/one"
    with lease.leased(as_path(lake)), pytest.raises(LakeInUse, match="is writing to"):
        bring(lake, SEGMENTS)
    assert bring(lake, SEGMENTS).run == 1


def test_what_cannot_be_read_is_one_sentence(root: str) -> None:
    with pytest.raises(SourceError, match="of a scheme that Hadoop's settings do not know"):
        as_path("nofs://all/a").exists()
    with pytest.raises(SetupError, match="Empty Mount table in config for viewfs://nobody"):
        as_path("viewfs://nobody/a").exists()
    with pytest.raises(SourceError, match="names no file system; give viewfs://AUTHORITY/PATH"):
        as_path("viewfs:///hdfs/dump")
    with pytest.raises(SourceError, match="credentials or options in its URI"):
        as_path("ofs://user:secret@all/a")
    with pytest.raises(FileNotFoundError):
        as_path(f"{root}/nothing").stat()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_what_it_says(root: str, name: str) -> None:
    path = as_path(f"{root}/names/{name}.log")
    for content in (name.encode(), b"another"):
        path.write_bytes(content)
        assert path.read_bytes() == content
    assert name in {each.stem for each in path.parent.iterdir()}


def test_a_large_file_is_read_by_range(root: str) -> None:
    content = os.urandom(9 << 20)
    path = as_path(f"{root}/large")
    path.write_bytes(content)
    bucket = bucket_of(path)
    with bucket.system.open_input_file(bucket.name(path)) as file:
        assert file.read_at(8 << 20, 77) == content[77 : (8 << 20) + 77]


_EIGHT_THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from offsets_tool.log.storage import as_path

def read(number):
    path = as_path(f"{sys.argv[1]}/threads/{number}")
    path.write_bytes(b"abc")
    return path.read_bytes(), path.stat().st_size

with ThreadPoolExecutor(8) as threads:
    assert list(threads.map(read, range(16))) == [(b"abc", 3)] * 16
"""


def ended(program: str, argument: str) -> tuple[int, str]:
    """Run a program of Python's as a process, and return how it ended, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", program, argument], capture_output=True, text=True, check=False, timeout=120
    )
    return done.returncode, done.stdout + done.stderr[-500:]


def test_threads_that_meet_it_first_at_the_same_time_read_it() -> None:
    """Their process ends too, though Java is never told that they did."""
    assert ended(_EIGHT_THREADS, f"{MOUNTED}/disk") == (0, "")


_ENDING = """
import sys
from offsets_tool.log.archive.delta import delta_dataset
from offsets_tool.log.storage import as_path
print(delta_dataset(as_path(sys.argv[1])).to_table(columns=["log_offset"]).num_rows)
"""


@pytest.mark.parametrize("is_mounted", [False, pytest.param(True, marks=pytest.mark.deep)])
def test_threads_that_hold_files_do_not_abort_the_end_of_a_process(
    mounted: Mounted, is_mounted: bool
) -> None:
    """Half of them did, of those that read HDFS, where a thread of Arrow's let go of a file after Python's end."""
    table = as_path(f"{mounted.hdfs}/lakes/large/log")
    if not table.exists():
        write_rows(table, 400_000)
    named = f"{MOUNTED}/hdfs/lakes/large/log" if is_mounted else str(table)
    assert {ended(_ENDING, named) for _ in range(8 if DEEP else 4)} == {(0, "400000\n")}


def write_rows(table: Path, count: int) -> None:
    offsets = pa.table({"log_offset": pa.array(range(count), pa.int64()), "key": ["k" * 60] * count})
    write_deltalake(str(table), offsets, writer_properties=WriterProperties(max_row_group_size=20_000))

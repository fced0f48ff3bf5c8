"""Evidence and a lake in HDFS are those on disk, row for row, and one job at a time writes to the lake."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError
from hdfs_native import Client, FileStatus
from pyarrow import fs

from offsets_tool.errors import LakeInUse, SetupError, SourceError
from offsets_tool.log.buckets import bucket_of
from offsets_tool.log.hadoop.system import Handler
from offsets_tool.log.storage import StoredPath, as_path
from offsets_tool.log.stored_bytes import StoredBytes, open_binary
from spark.check.check import check
from spark.lake.lease import leased
from tests.log.environment import environment
from tests.log.hdfs_store import hdfs_store, upload
from tests.spark.stored.test_stored_lake import SEGMENTS, assert_same, assert_same_answer, bring, run

pytestmark = pytest.mark.server
NAMES = ("a", "a#b", "a;b", "a b", "a%20b", "a+b", "pagamenti-è")


@pytest.fixture(scope="module")
def root() -> Iterator[str]:
    with hdfs_store() as root:
        upload(SEGMENTS, f"{root}/dump")
        yield root


@pytest.mark.parametrize("command", ["groups", "decode", "inspect"])
def test_commands_read_it(root: str, command: str) -> None:
    assert_same_answer(command, f"{root}/dump")


def test_all_tables_are_those_of_a_lake_on_disk(root: str, tmp_path: Path) -> None:
    for _ in range(2):
        run(tmp_path / "lake", SEGMENTS)
        run(f"{root}/lakes/whole", f"{root}/dump")
        assert_same(f"{root}/lakes/whole", tmp_path / "lake")
    assert all(each.is_ok for each in check(f"{root}/lakes/whole", reads_rows=True, reads_sources=True))


def test_a_second_writer_is_refused(root: str) -> None:
    lake = f"{root}/lakes/one"
    with leased(as_path(lake)), pytest.raises(LakeInUse, match="is writing to"):
        bring(lake, f"{root}/dump")
    assert bring(lake, f"{root}/dump").run == 1


def test_of_two_commits_of_one_version_one_is_refused(root: str) -> None:
    table, schema = f"{root}/lakes/two", Schema.from_arrow(pa.schema([("a", pa.int64())]))
    DeltaTable.create(table, schema)
    once = CommitProperties(app_transactions=[Transaction("test", 1)], max_commit_retries=0)
    first, second = (DeltaTable(table) for _ in range(2))
    first.create_write_transaction([], "append", schema, commit_properties=once)
    with pytest.raises(CommitFailedError):
        second.create_write_transaction([], "append", schema, commit_properties=once)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_what_it_says(root: str, name: str) -> None:
    path = as_path(f"{root}/names/{name}.log")
    path.write_bytes(name.encode())
    assert path.read_bytes() == name.encode()
    assert name in {each.stem for each in path.parent.iterdir()}
    with open_binary(path) as file:
        assert file.read() == name.encode()


def test_a_file_is_there_once_it_is_complete(root: str) -> None:
    path = as_path(f"{root}/complete")
    bucket = bucket_of(path)
    with bucket.system.open_output_stream(bucket.name(path)) as file:
        file.write(b"the beginning")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == b"the beginning"
    path.write_bytes(b"another")
    assert path.read_bytes() == b"another"


class Vanishing:
    """A client that is told of a folder which is gone when it looks into it."""

    def __init__(self, client: Client, base: str) -> None:
        self._client, self._base = client, base

    def list_status(self, path: str, recursive: bool) -> Iterator[FileStatus]:
        yield from self._client.list_status(path, recursive)
        raise FileNotFoundError(f"{path}/gone")

    def get_file_info(self, path: str) -> FileStatus:
        return self._client.get_file_info(self._base)


def test_a_folder_that_goes_away_is_no_empty_listing(root: str) -> None:
    system = bucket_of(as_path(root)).system
    client = system.base_fs.handler.client
    asked = fs.FileSelector("/dump", recursive=True, allow_not_found=True)
    assert Handler(client).get_file_info_selector(asked)
    with pytest.raises(OSError, match="went away"):
        Handler(Vanishing(client, "/dump")).get_file_info_selector(asked)
    with pytest.raises(FileNotFoundError):
        Handler(Vanishing(client, "/nothing")).get_file_info_selector(fs.FileSelector("/dump"))


def test_a_file_that_is_replaced_is_another(root: str) -> None:
    path = as_path(f"{root}/replaced/00000000000000000000.log")
    assert isinstance(path, StoredPath)
    versions = set()
    for content in (b"one", b"two"):
        path.write_bytes(content)
        found = StoredBytes(path)
        versions.add(found.version)
        assert found.read(0, 9) == content
    assert len(versions) == 2
    path.unlink()
    assert not path.exists()


def test_what_cannot_be_read_is_one_sentence(root: str) -> None:
    with pytest.raises(SetupError, match="cannot be reached"):
        as_path("hdfs://nowhere.invalid/a").exists()
    private = as_path(f"{root}/private/a")
    private.write_bytes(b"a")
    system = bucket_of(private).system
    system.base_fs.handler.client.set_permission("/private", 0o700)
    with environment({"HADOOP_USER_NAME": "somebody"}), pytest.raises(SourceError, match="access is denied"):
        private.read_bytes()
    with environment({"HADOOP_USER_NAME": "somebody"}), pytest.raises(SourceError, match="access is denied"):
        list(private.parent.iterdir())

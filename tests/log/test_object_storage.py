"""Logs in object storage are read as those on disk: the same answers, by range, in few requests; faults are retried or said."""

import gzip
import hashlib
import io
import json
import random
import tarfile
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from deltalake import write_deltalake

from offsets_tool.cli import main
from offsets_tool.errors import OffsetsToolError
from offsets_tool.evidence.sources import records_of
from offsets_tool.log import buckets
from offsets_tool.log.discover import find_segments
from offsets_tool.log.files.mapping import map_file, sha256
from offsets_tool.log.files.open_file import open_file
from offsets_tool.log.segment import read_segment
from offsets_tool.log.storage import StoredPath, as_path, one_listing
from offsets_tool.log.stored_bytes import open_binary
from offsets_tool.log.topics import find_topics
from offsets_tool.log.unread_files import find_unread
from offsets_tool.rows import LogRecord
from tests.corpora import FIXTURES
from tests.log.environment import environment
from tests.log.faults import CUT
from tests.log.object_store import SECRET, ObjectStore, object_store

pytestmark = pytest.mark.server
CORPUS = "corpora/3.9.2-txn"
COPIES = "corpora-replicated/4.1.2-unclean"
MB = 1 << 20


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with object_store() as server:
        for folder in (CORPUS, COPIES):
            server.upload(FIXTURES / folder, folder)
        yield server


@pytest.fixture(autouse=True)
def sound(server: ObjectStore) -> Iterator[None]:
    yield
    server.mend()


def answer(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, list(arguments))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert SECRET not in done.output + done.stderr
    return done.exit_code, done.stdout, done.stderr


FIRST = FIXTURES / CORPUS / "segments" / "__consumer_offsets-3" / f"{0:020}.log"


def _row(record: LogRecord) -> dict[str, object]:
    key, value = (None if each is None else b64encode(each).decode() for each in (record.key, record.value))
    return {
        "partition": 3,
        "offset": record.log_offset,
        "timestamp": record.timestamp,
        "key": key,
        "value": value,
    }


ASKED = [
    ("inspect", f"{CORPUS}/segments/__consumer_offsets-3/00000000000000000000.log"),
    ("copies", COPIES),
    ("groups", CORPUS),
    ("findings", COPIES),
]


@pytest.mark.parametrize("command, folder", ASKED)
def test_a_command_answers_as_on_disk(server: ObjectStore, command: str, folder: str) -> None:
    root = FIXTURES.as_posix()
    here = answer(command, f"{root}/{folder}", "--format", "jsonl")
    there = answer(command, f"s3://evidence/{folder}", "--format", "jsonl")
    assert there == (here[0], *(text.replace(root, "s3://evidence") for text in here[1:]))
    assert here[0] == 0


def test_tables_name_the_folder_once(server: ObjectStore) -> None:
    _, out, err = answer("inspect", f"s3://evidence/{CORPUS}/segments", "--format", "table")
    assert f"files in s3://evidence/{CORPUS}/segments" in err
    assert "s3:/" not in out


def test_archives_answer_as_on_disk(server: ObjectStore, tmp_path: Path) -> None:
    (tmp_path / "archive" / "deep").mkdir(parents=True)
    rows = [_row(record) for item in read_segment(FIRST) for record in records_of(item)]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (tmp_path / "archive" / "a.jsonl").write_bytes(lines)
    (tmp_path / "archive" / "deep" / "b.jsonl.gz").write_bytes(gzip.compress(lines))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "archive" / "c.parquet")
    write_deltalake(tmp_path / "archive" / "d", pa.Table.from_pylist(rows))
    server.upload(tmp_path / "archive", "archive")
    for name in ("archive", "archive/c.parquet", "archive/deep/b.jsonl.gz", "archive/d"):
        here, there = answer("inspect", f"{tmp_path}/{name}"), answer("inspect", f"s3://evidence/{name}")
        assert there == (here[0], *(text.replace(str(tmp_path), "s3://evidence") for text in here[1:]))
        assert here[0] == 0
        assert json.loads(here[1].splitlines()[0])["records"] == len(rows)


def test_a_tar_is_read_where_it_is(server: ObjectStore, tmp_path: Path) -> None:
    for name, mode in (("plain.tar", "w"), ("packed.tar.gz", "w:gz")):
        with tarfile.open(tmp_path / name, mode) as tar:
            tar.add(FIXTURES / CORPUS / "segments", "segments")
        uri = server.put(name, (tmp_path / name).read_bytes())
        here, there = answer("inspect", str(tmp_path / name)), answer("inspect", uri)
        assert there[:2] == (here[0], here[1].replace(str(tmp_path), "s3://evidence"))


def test_folders_are_listed_once(server: ObjectStore) -> None:
    server.counts()
    with one_listing():
        here = find_segments([FIXTURES / COPIES])
        there = find_segments([f"s3://evidence/{COPIES}"])
        topics = find_topics([f"s3://evidence/{COPIES}"])
        find_unread([f"s3://evidence/{COPIES}"], set())
    root = FIXTURES.as_posix()
    assert [s.source for s in there] == [s.source.replace(root, "s3://evidence") for s in here]
    assert [(s.size, s.cluster_id, s.broker_id, s.next_offset) for s in there] == [
        (s.size, s.cluster_id, s.broker_id, s.next_offset) for s in here
    ]
    assert [t.topic_id for t in topics] == [t.topic_id for t in find_topics([FIXTURES / COPIES])]
    listings = [
        path for method, path in server.asked() if method == "GET" and path.rstrip("/") == "/evidence"
    ]
    # One of everything below, and one for each place that is looked at before.
    assert len(listings) <= 4


def test_what_is_read_is_fetched_once_by_range(server: ObjectStore) -> None:
    content = random.Random(7).randbytes(20 * MB + 12_345)
    uri = server.put("large/00000000000000000000.log", content)
    server.counts()
    log = map_file(uri)
    log.fetch(19 * MB, 19 * MB + 61)
    assert bytes(log.data[19 * MB : 19 * MB + 61]) == content[19 * MB : 19 * MB + 61]
    assert server.counts() == {"HEAD": 1, "GET": 1}
    for start in range(0, len(content), MB):
        log.fetch(start, start + MB)
        assert bytes(log.data[start : start + MB]) == content[start : start + MB]
    assert sha256(uri) == hashlib.sha256(content).hexdigest()
    assert server.counts()["GET"] <= 10
    opened = open_file(uri)
    assert opened.size == opened.size_now() == len(content)
    assert opened.read(len(content) - 5, 100) == content[-5:]
    assert opened.read(len(content), 100) == b""


def test_an_object_is_a_file_of_pythons(server: ObjectStore) -> None:
    content = random.Random(3).randbytes(5 * MB)
    there = as_path(server.put("file", content))
    with open_binary(there) as file:
        assert file.read(10) == content[:10]
        assert file.seek(-7, io.SEEK_END) == 5 * MB - 7
        assert file.read() == content[-7:]
        file.seek(MB)
        assert file.read(3 * MB) == content[MB : 4 * MB]
    assert open_binary(there).read() == content


def test_an_object_that_was_replaced_is_read_anew(server: ObjectStore) -> None:
    uri = server.put("replaced", b"before")
    assert open_file(uri).read(0, 10) == b"before"
    server.put("replaced", b"after!")
    assert open_file(uri).read(0, 10) == b"after!"


MISSING = {
    "s3://no-such-bucket/a": "s3://no-such-bucket/a: there is no such bucket; check the name",
    "s3://evidence/nothing": "s3://evidence/nothing: does not exist; check the path",
    "s3://evidence/nothing/0.log": "s3://evidence/nothing/0.log: does not exist; check the path",
}


@pytest.mark.parametrize("uri", MISSING)
def test_what_is_not_there_is_said(server: ObjectStore, uri: str) -> None:
    code, _, said = answer("groups", uri)
    assert (code, said.strip()) == (1, f"Error: {MISSING[uri]}")


def test_a_key_that_no_path_can_say_is_named(server: ObjectStore) -> None:
    server.put("odd/__consumer_offsets-1/00000000000000000000.log", b"x")
    server.put("odd/a//b/__consumer_offsets-2.tar", b"x")
    sound, odd = sorted(find_segments(["s3://evidence/odd"]), key=lambda segment: segment.unreadable)
    assert (sound.log_partition, sound.size) == (1, 1)
    assert odd.source == "s3://evidence/odd/a/b/__consumer_offsets-2.tar"
    assert "empty part" in odd.unreadable


@pytest.mark.parametrize("code", ["SlowDown", "InternalError", CUT])
def test_faults_that_pass_are_passed_over(server: ObjectStore, code: str) -> None:
    folder = f"s3://evidence/{CORPUS}/segments"
    before = answer("offsets", folder, "--format", "jsonl")
    server.fail(code, times=3)
    assert answer("offsets", folder, "--format", "jsonl") == before


LASTING = {"AccessDenied": "access is denied", "InvalidAccessKeyId": "not accepted"}


@pytest.mark.parametrize("code", LASTING)
def test_faults_that_last_are_said(server: ObjectStore, code: str) -> None:
    opened = open_file(server.put("fault", b"x" * 1000))
    server.fail(code, times=99, method="GET")
    with pytest.raises(OffsetsToolError, match=r"access is denied|not accepted"):
        opened.read(0, 1000)
    status, _, said = answer("groups", f"s3://evidence/{CORPUS}")
    assert (status, said.startswith(f"Error: s3://evidence/{CORPUS}")) == (1, True)
    assert LASTING[code] in said


def test_storage_that_cannot_be_reached_is_said(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "_ATTEMPTS", 1)
    with environment({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}):
        code, _, said = answer("groups", "s3://evidence/unreachable")
    assert code == 1
    assert "cannot be reached; check the network and AWS_ENDPOINT_URL" in said


def test_a_stored_path_is_not_on_disk(server: ObjectStore) -> None:
    there = StoredPath("s3:/", "evidence", CORPUS)
    assert there.exists()
    assert there.is_dir()
    assert not (there / "nothing").exists()
    assert not Path("s3:").exists()

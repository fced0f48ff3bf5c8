"""One bad file among others: the others are read, it is named, its bytes are in the ledger; given itself, it is an error."""

import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cramjam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from tests.corpora import FIXTURES

LOG = FIXTURES / "corpora" / "4.3.1-txn" / "segments" / "__consumer_offsets-1" / f"{0:020}.log"
ROW = {"partition": 0, "offset": 1, "timestamp": 5, "key": "AAIAAWc=", "value": None}


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, [*map(str, args)])


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with one sound segment."""
    folder = tmp_path / "data" / "__consumer_offsets-1"
    folder.mkdir(parents=True)
    shutil.copy(LOG, folder)
    return tmp_path / "data"


def cut_gzip(data: Path) -> Path:
    path = data / "__consumer_offsets-1" / f"{999:020}.log.gz"
    path.write_bytes(gzip.compress(LOG.read_bytes())[:-20])
    return path


def cut_zstd(data: Path) -> Path:
    path = data / "__consumer_offsets-1" / f"{999:020}.log.zst"
    path.write_bytes(bytes(cramjam.zstd.compress(LOG.read_bytes()))[:-20])
    return path


def cut_parquet(data: Path) -> Path:
    path = data / "a.parquet"
    pq.write_table(pa.table({"offset": [1], "key": [b"k"], "value": [b"v"]}), path)
    path.write_bytes(path.read_bytes()[:-20])
    return path


def foreign_parquet(data: Path) -> Path:
    path = data / "a.parquet"
    pq.write_table(pa.table({"name": ["a"]}), path)
    return path


def cut_archive(data: Path) -> Path:
    """An archive that is cut before its first line ends."""
    path = data / "nightly.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(ROW).encode())[:30])
    return path


def tar(data: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as opened:
        for number in range(4):
            opened.add(LOG, f"__consumer_offsets-{number}/{LOG.name}")
    return packed.getvalue()


def tar_cut_between_members(data: Path) -> Path:
    path = data / "night.tar"
    path.write_bytes(tar(data)[: 512 + -(-LOG.stat().st_size // 512) * 512])
    return path


def tar_with_a_damaged_header(data: Path) -> Path:
    path = data / "night.tar"
    whole = bytearray(tar(data))
    whole[512 + -(-LOG.stat().st_size // 512) * 512] ^= 0xFF
    path.write_bytes(whole)
    return path


def two_tars_in_one(data: Path) -> Path:
    path = data / "night.tar"
    path.write_bytes(tar(data) * 2)
    return path


def no_tar(data: Path) -> Path:
    path = data / "__consumer_offsets-3.tar.gz"
    path.write_bytes(b"no gzip at all")
    return path


def link_to_nothing(data: Path) -> Path:
    path = data / "__consumer_offsets-1" / f"{999:020}.log"
    path.symlink_to(data / "nowhere")
    return path


def archive_link_to_nothing(data: Path) -> Path:
    path = data / "a.parquet"
    path.symlink_to(data / "nowhere")
    return path


BAD = (
    cut_gzip,
    cut_zstd,
    cut_parquet,
    foreign_parquet,
    cut_archive,
    no_tar,
    link_to_nothing,
    archive_link_to_nothing,
)


@pytest.mark.parametrize("make", BAD)
def test_it_does_not_hide_the_others(data: Path, make: Callable[[Path], Path]) -> None:
    sound = lines(invoke("decode", data))
    bad = make(data)
    decoded = invoke("decode", data)
    assert decoded.exit_code == 0 and lines(decoded) == sound
    assert bad.as_posix() in decoded.stderr and "the whole file: " in decoded.stderr

    inspected = invoke("inspect", data)
    assert inspected.exit_code == 0 and "2 file(s)" in inspected.stderr
    assert "the ledger adds up" in inspected.stderr
    (row,) = [row for row in lines(inspected) if row["source"] == bad.as_posix()]
    size = bad.stat().st_size if bad.exists() else 0
    assert (row["bytes"], row["bytes_unreadable"], row["adds_up"]) == (size, size, True)
    assert [u["size"] for u in row["unreadable"]] == [size]
    if bad.exists():
        assert row["sha256"] == hashlib.sha256(bad.read_bytes()).hexdigest()
    for command in ("decode", "inspect"):
        assert invoke(command, data, "--strict").exit_code == 3


@pytest.mark.parametrize("make", BAD)
def test_named_itself_it_is_an_error_in_one_sentence(data: Path, make: Callable[[Path], Path]) -> None:
    result = invoke("inspect", make(data))
    assert result.exit_code == 1 and result.stdout == ""
    assert result.stderr.startswith("Error: ") and "the whole file" not in result.stderr


@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize("make", [tar_cut_between_members, tar_with_a_damaged_header, two_tars_in_one])
def test_of_a_tar_that_is_broken_off_the_members_before_are_read(
    data: Path, make: Callable[[Path], Path], is_named: bool
) -> None:
    path = make(data)
    given = path if is_named else data
    decoded = invoke("decode", given)
    assert decoded.exit_code == 0 and {row["partition"] for row in lines(decoded)} >= {0}
    assert path.as_posix() in decoded.stderr and "members after the " in decoded.stderr
    rows = {row["source"]: row for row in lines(invoke("inspect", given))}
    assert rows[f"{path.as_posix()}!/__consumer_offsets-0/{LOG.name}"]["records"] > 0
    (rest,) = rows[path.as_posix()]["unreadable"]
    assert "the whole file" not in rest["reason"] and rows[path.as_posix()]["adds_up"]
    assert invoke("decode", given, "--strict").exit_code == 3


def test_a_bad_member_does_not_hide_the_tars_others(data: Path) -> None:
    path = data.parent / "night.tar"
    packed = cut_gzip(data)
    with tarfile.open(path, "w") as opened:
        opened.add(data)
        gone = tarfile.TarInfo(f"__consumer_offsets-2/{LOG.name}")
        gone.type, gone.linkname = tarfile.LNKTYPE, "not/there"
        opened.addfile(gone)
    result = invoke("inspect", path)
    assert result.exit_code == 0
    sizes = [(row["records"] > 0, row["bytes_unreadable"]) for row in lines(result)]
    assert sorted(sizes) == [(False, 0), (False, packed.stat().st_size), (True, 0)]
    assert "not/there" in result.stderr


def test_labels_that_cannot_be_read_are_no_labels(data: Path) -> None:
    (data / "meta.properties").write_text("version=x\ncluster.id=c\n")
    (data / "__consumer_offsets-1" / "partition.metadata").write_bytes(b"\xff\xfe")
    result = invoke("inspect", data, "--strict")
    assert result.exit_code == 0 and "cluster_id" not in lines(result)[0]
    with tarfile.open(data.parent / "night.tar", "w") as opened:
        opened.add(data, "data")
    (row,) = lines(invoke("inspect", data.parent / "night.tar", "--strict"))
    assert row["records"] > 0 and "cluster_id" not in row


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.json", '{"by": "me", "offset": 3}\n'),
        ("topics.json", json.dumps([{"key": 1, "value": 2, "offset": 3}])),
        ("settings.json", '{\n  "offset": 1\n}\n'),
    ],
)
def test_foreign_json_beside_the_partitions_is_ignored(data: Path, name: str, content: str) -> None:
    (data / name).write_text(content)
    result = invoke("inspect", data, "--strict")
    assert result.exit_code == 0 and [row["source"] for row in lines(result)] == [
        (data / "__consumer_offsets-1" / LOG.name).as_posix()
    ]


@pytest.mark.parametrize("options", [(), ("--raw",)])
def test_our_own_output_is_no_evidence(data: Path, options: tuple[str, ...]) -> None:
    before = invoke("inspect", data)
    for command in ("decode", "inspect"):
        mine = options if command == "decode" else ()
        assert invoke(command, data, "--output", data / f"{command}.jsonl", *mine).exit_code == 0
    after = invoke("inspect", data, "--strict")
    assert after.exit_code == 0 and after.stdout == before.stdout


def test_an_archive_beside_the_partitions_is_read(data: Path) -> None:
    """Also where its first line is bad, and where by-hand columns are what makes it one."""
    (data / "a.jsonl").write_text("no row\n" + json.dumps(ROW) + "\n")
    (row,) = [row for row in lines(invoke("inspect", data)) if row["source"].endswith("a.jsonl")]
    assert (row["records"], row["bytes"], row["bytes_unreadable"]) == (
        1,
        (data / "a.jsonl").stat().st_size,
        7,
    )
    (data / "a.jsonl").write_text(json.dumps({"o": 1, "k": "AAIAAWc=", "v": None}) + "\n")
    assert len(lines(invoke("inspect", data))) == 1
    assert len(lines(invoke("inspect", data, "--columns", "offset=o,key=k,value=v"))) == 2


def test_json_lines_named_like_a_log_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(json.dumps(ROW) + "\n")
    (row,) = lines(invoke("decode", tmp_path / "a.log", "--strict"))
    assert row["key"]["data"] == {"group": "g"}


def test_a_file_and_its_folder_are_one(data: Path) -> None:
    (data / "a.jsonl").write_text(json.dumps(ROW) + "\n")
    assert len(lines(invoke("inspect", data, data / "a.jsonl"))) == 2
    bad = cut_parquet(data)
    assert invoke("inspect", data, bad).exit_code == 1


def test_bytes_of_archives_are_bytes(tmp_path: Path) -> None:
    """Compressed JSON lines count what they hold; rows of Parquet have no place in bytes."""
    text = json.dumps(ROW) + "\n\nbad\n" + json.dumps([ROW, {"offset": "x"}, ROW]) + "\n"
    for path, content in (
        (tmp_path / "a.jsonl", text.encode()),
        (tmp_path / "a.jsonl.gz", gzip.compress(text.encode())),
    ):
        path.write_bytes(content)
        (row,) = lines(invoke("inspect", path))
        assert (row["bytes"], row["bytes_unreadable"]) == (len(text), 4)
        assert (row["records"], len(row["unreadable"]), row["adds_up"]) == (3, 2, True)
    table = pa.table({"offset": [1, None], "key": [b"\0\2\0\1g"] * 2, "value": [None, b"v"]})
    pq.write_table(table, tmp_path / "a.parquet")
    result = invoke("inspect", tmp_path / "a.parquet")
    (row,) = lines(result)
    assert (row["bytes"], row["bytes_unreadable"]) == ((tmp_path / "a.parquet").stat().st_size, 0)
    assert (row["records"], row["adds_up"]) == (1, True)
    assert row["unreadable"][0]["reason"].startswith("row 1: a row that is no record: offset")
    assert "byte(s) at" not in result.stderr and "a.parquet: unreadable: row 1" in result.stderr


@pytest.mark.parametrize(
    "column", [pa.string(), pa.binary(), pa.large_binary(), pa.dictionary(pa.int8(), pa.binary())]
)
def test_a_topic_may_be_bytes(tmp_path: Path, column: pa.DataType) -> None:
    topics = pa.array(["__consumer_offsets", "other"]).cast(pa.binary()).cast(column)
    table = pa.table({"offset": [1, 2], "key": [b"\0\2\0\1g"] * 2, "value": [b"v"] * 2, "topic": topics})
    pq.write_table(table, tmp_path / "a.parquet")
    (row,) = lines(invoke("inspect", tmp_path / "a.parquet"))
    assert (row["records"], row["foreign_rows"]) == (1, 1)


@pytest.mark.parametrize("where", ["log", "folder", "missing"])
def test_columns_without_an_archive_are_refused(data: Path, where: str) -> None:
    place = {"log": data / "__consumer_offsets-1" / LOG.name, "folder": data, "missing": data / "nothing"}[
        where
    ]
    result = invoke("inspect", place, "--columns", "offset=x")
    assert result.exit_code == (1 if where == "missing" else 2)
    assert ("does not exist" if where == "missing" else "no archive with such columns") in result.stderr
    assert invoke("inspect", data, "--columns", "nope=x").exit_code == 2


def test_a_pipe_or_device_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.log")
    for path in ("/dev/null", tmp_path / "pipe.log"):
        result = invoke("inspect", path)
        assert result.exit_code == 1 and "neither a file nor a folder" in result.stderr


def test_a_pipe_in_a_folder_is_passed_by(data: Path) -> None:
    for name in ("a.json", "a.parquet", "a.tar", f"__consumer_offsets-1/{7:020}.log"):
        os.mkfifo(data / name)
    assert len(lines(invoke("inspect", data, "--strict"))) == 1


def test_a_cut_archive_is_said_to_be_cut(data: Path) -> None:
    path = data / "a.jsonl.zst"
    path.write_bytes(bytes(cramjam.zstd.compress(json.dumps(ROW).encode() * 99))[:30])
    result = invoke("inspect", path)
    assert result.exit_code == 1 and "cut off" in result.stderr and "not named like" not in result.stderr


def test_an_empty_text_is_not_the_folder_where_one_is(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a variable of the shell that is not set gives it."""
    monkeypatch.chdir(data)
    for command in ("inspect", "groups", "lag"):
        for paths in ([""], [".", ""]):
            result = invoke(command, *paths)
            assert result.exit_code == 2 and "LOG is an empty text" in result.stderr


OTHER_FORMS = {
    "sink/__consumer_offsets-0-0.gz": (gzip.compress(b"AAIAAWc=,,0,1\n"), "CSV is not read"),
    "sink/0/rows.txt": (
        b'{"k": "AAIAAWc=", "o": 0}\n',
        "JSON lines with k, o: give the file itself, with --columns",
    ),
    "sink/partition=0/__consumer_offsets+0+0.bin": (b"\0\3\0\0", "keys or values alone"),
    "sink/a.avro": (b"Obj\1\2\x16avro.schema", "Avro, which is not read"),
    "sink/a.zip": (b"PK\3\4\n\0\0\0", "a ZIP, which is not read: unpack it"),
    "sink/zipped.jsonl": (b"PK\3\4\n\0\0\0", "a ZIP, which is not read: unpack it"),
    "sink/empty.jsonl": (b"", "an empty file"),
    "sink/empty.csv": (b"", "an empty file"),
    "sink/a.orc": (b"ORC\1\2\3", "ORC, which is not read"),
    "sink/a.parquet.gz": (gzip.compress(b"PAR1"), "Parquet that was compressed as a whole: unpack it"),
    "kafka/__consumer_offsets/2_10/0-1-v1.log": (b"\1\2\3\4" * 20, "a segment of Redpanda"),
}


@pytest.mark.parametrize("is_named", [False, True], ids=["in a folder", "itself"])
@pytest.mark.parametrize("path", OTHER_FORMS)
def test_what_is_no_log_is_named_with_what_would_read_it(tmp_path: Path, path: str, is_named: bool) -> None:
    content, words = OTHER_FORMS[path]
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_bytes(content)
    result = invoke("groups", tmp_path / (path if is_named else path.split("/", 1)[0]))
    assert result.exit_code == 1 and (tmp_path / path).as_posix() in result.stderr
    assert words in result.stderr or (is_named and path.endswith("rows.txt"))
    assert "None" not in result.stderr


class TestRowsOfACopyUnderAnotherName:
    """MirrorMaker 2 copies internal topics under a prefix if it is asked to."""

    @pytest.fixture
    def archive(self, tmp_path: Path) -> Path:
        path = tmp_path / "export.jsonl"
        rows = [{**ROW, "topic": "eu.__consumer_offsets"}, {**ROW, "offset": 2, "topic": "eu.orders"}]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    @pytest.mark.parametrize("command", ["inspect", "groups", "diagnose", "decode"])
    def test_are_left_out_with_a_note(self, archive: Path, command: str) -> None:
        result = invoke(command, archive)
        assert (
            "1 row(s) are left out, as they are of topic eu.__consumer_offsets; to read them as this topic, add --columns"
            in result.stderr
        )
        assert "complete" not in result.stdout

    def test_are_read_where_their_name_is_given(self, archive: Path) -> None:
        result = invoke("decode", archive, "--columns", "topic=eu.__consumer_offsets")
        assert [row["offset"] for row in lines(result)] == [1]
        assert "left out" not in result.stderr

    def test_are_not_missed_where_rows_of_this_topic_stand_beside_foreign_ones(self, archive: Path) -> None:
        archive.write_text(archive.read_text().replace("eu.__consumer_offsets", "__consumer_offsets"))
        result = invoke("decode", archive)
        assert [row["offset"] for row in lines(result)] == [1] and "left out" not in result.stderr


def test_rows_without_a_partition_are_told_what_is_missing(tmp_path: Path) -> None:
    rows = [{**ROW, "partition": None}, {**ROW, "partition": None, "key": "AAIAAWg="}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = invoke("groups", tmp_path)
    assert result.exit_code == 2 and "None" not in result.stderr
    assert "do not say of which partition" in result.stderr and "--log-partition N" in result.stderr

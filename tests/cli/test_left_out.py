"""What lies among the evidence and is not read is named by `inspect`; what is Kafka's own, or counted, does not flood it."""

import bz2
import gzip
import io
import json
import lzma
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cramjam
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from deltalake import DeltaTable, write_deltalake

from offsets_tool.cli import main
from tests.log import encoded_batches
from tests.log.samples import SMALL

pytestmark = pytest.mark.slow

NAME = f"{0:020}.log"
CONTENT = SMALL[0].read_bytes()
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": encoded_batches.zstd_frame,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "lz4": lambda data: bytes(cramjam.lz4.compress(data)),
}


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def rows(*arguments: object) -> list[dict[str, Any]]:
    result = invoke("inspect", *arguments)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def not_read(*arguments: object) -> dict[str, str]:
    return {row["source"]: row["not_read"] for row in rows(*arguments) if "not_read" in row}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory: a partition with Kafka's files, and others that a broker has."""
    folder = tmp_path / "data"
    for name in ("__consumer_offsets-3", "orders-0", "orders-1"):
        (folder / name).mkdir(parents=True)
        (folder / name / NAME).write_bytes(CONTENT)
    partition = folder / "__consumer_offsets-3"
    own = [f"{0:020}.{end}" for end in ("index", "timeindex", "txnindex", "snapshot", "index.deleted")]
    for name in (*own, "leader-epoch-checkpoint", "partition.metadata", f"{7:020}.timeindex.swap"):
        (partition / name).touch()
    for name in (".lock", "meta.properties", "cleaner-offset-checkpoint", ".kafka_cleanshutdown"):
        (folder / name).touch()
    return folder


def test_kafkas_own_files_are_not_named(data: Path) -> None:
    result = invoke("inspect", data)
    assert len(result.stdout.splitlines()) == 1
    assert [line for line in result.stderr.splitlines() if "not read" in line] == [
        f"{data.as_posix()}: not read: 2 partition(s) of other topics in it"
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("__consumer_offsets-3/0.log", "none of Kafka's"),
        (f"__consumer_offsets-3/{0:020} (copy).log", "none of Kafka's"),
        (f"__consumer_offsets-3/{0:020}.log.bak", "none of Kafka's"),
        (f"__consumer_offsets-3/{0:020}.log.7z", "none of Kafka's"),
        ("__consumer_offsets-3/notes", "none of Kafka's"),
        (f"{0:020}.log", "outside of a partition's directory"),
        ("old.log.1", "none of Kafka's"),
        (f"__consumer_offsets-3/old/{NAME}", "a folder inside"),
    ],
)
def test_it_is_named_with_the_reason(data: Path, name: str, reason: str) -> None:
    path = data / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(CONTENT)
    named = path.parent if path.parent.name == "old" else path
    ((source, said),) = not_read(data).items()
    assert source == named.as_posix() and reason in said
    assert f"{source}: not read: {said}" in invoke("inspect", data, "--format", "table").stderr
    assert invoke("inspect", data, "--strict").exit_code == 0


def test_what_is_no_file_is_named_too(data: Path) -> None:
    os.mkfifo(data / "__consumer_offsets-3" / f"{9:020}.log")
    (data / "__consumer_offsets-3" / "link").symlink_to("nowhere")
    assert list(not_read(data).values()) == ["it is a link that leads nowhere, or to itself"]
    assert ".log: not read: it is neither a file nor a folder" in invoke("inspect", data).stderr


def test_many_foreign_files_are_counted(data: Path) -> None:
    for number in range(50):
        (data / f"report-{number}.txt").touch()
    assert not not_read(data)
    assert "50 file(s) in it, no logs by their names" in invoke("inspect", data).stderr


@pytest.mark.parametrize("packing", PACK)
def test_compressed_copies_are_read(data: Path, packing: str) -> None:
    (data / "__consumer_offsets-3" / f"{100:020}.log.{packing}").write_bytes(PACK[packing](CONTENT))
    plain, copy = rows(data)
    assert copy["source"].endswith(packing) and copy["records"] == plain["records"] > 0
    inside = io.BytesIO()
    with tarfile.open(fileobj=inside, mode="w") as opened:
        opened.add(data, "data")
        noise = tarfile.TarInfo("noise")
        noise.size = 2 << 20
        opened.addfile(noise, io.BytesIO(os.urandom(noise.size)))
    whole = PACK[packing](inside.getvalue())
    tar = data.parent / f"night.tar.{packing}"
    tar.write_bytes(whole)
    assert [row["records"] for row in rows(tar)] == [plain["records"]] * 2
    tar.write_bytes(whole[: len(whole) * 3 // 4])
    cut = rows(tar)
    (rest,) = [row for row in cut if row["source"] == tar.as_posix()]
    assert len(cut) == 3 and "members after the" in rest["unreadable"][0]["reason"]
    lines = data.parent / f"rows.json.{packing}"
    row = {"key": "AAEAAWcAAXQAAAAA", "value": None, "offset": 3, "partition": 1}
    lines.write_bytes(PACK[packing](json.dumps(row).encode() + b"\n"))
    assert [found["records"] for found in rows(lines)] == [1]


@pytest.mark.parametrize("has_damage", [False, True])
def test_files_of_a_delta_table_are_none(tmp_path: Path, has_damage: bool) -> None:
    """Its log says which of its files have rows; of that log's own files, none is taken for a segment."""
    table = tmp_path / "raw"
    write_deltalake(table, pa.table({"offset": [1], "key": [b"\0\2\0\1g"], "value": [b""]}))
    DeltaTable(table).create_checkpoint()
    (table / f"{0:020}.parquet").write_bytes(b"of no commit")
    if has_damage:
        for path in table.glob("part-*.parquet"):
            path.write_bytes(b"PAR1")
    for path in (table, tmp_path):
        (row,) = rows(path)
        assert row["source"] == table.as_posix() and len(row["unreadable"]) == has_damage
        assert "not read" not in invoke("inspect", path).stderr


def test_members_that_are_none(data: Path) -> None:
    path = data.parent / "night.tar"
    partition = "__consumer_offsets-3"
    shutil.copy(SMALL[0], data / partition / "x.bak")
    with tarfile.open(path, "w") as opened:
        opened.add(data, "data")
        opened.add(SMALL[1], f"./data/{partition}/{NAME}")
        link = tarfile.TarInfo(f"data/{partition}/{5:020}.log")
        link.type, link.linkname = tarfile.SYMTYPE, NAME
        opened.addfile(link)
    said = not_read(path)
    assert {source.rpartition("/")[2]: reason.split(",")[0] for source, reason in said.items()} == {
        NAME: "a later member of the tar has the same name; unpack it by hand to read both",
        "x.bak": "its name is none of Kafka's (20 digits and .log); give the file itself if it is a segment",
    }
    last, lost = [row for row in rows(path) if "not_read" not in row]
    assert last["bytes"] == SMALL[1].stat().st_size and last["records"]
    assert "a symbolic link" in lost["unreadable"][0]["reason"]
    assert invoke("inspect", path, "--strict").exit_code == 3


def header(name: bytes, kind: bytes, size: bytes) -> bytes:
    block = bytearray(512)
    block[: len(name)] = name
    block[100:108], block[124 : 124 + len(size)], block[156:157] = b"0000644\0", size, kind
    block[257:265] = b"ustar\x0000"
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


@pytest.mark.parametrize(
    "content",
    [
        (header(b"long", b"L", b"00000000004\0") + b"name".ljust(512, b"\0")) * 3000,
        header(b"a", b"0", b"\xff" * 12) * 3,
        header(b"a", b"x", b"\xff" * 12),
        header(b"a", b"x", b"77777777777\0"),
        header(b"a", b"0", b"\x80" + b"\x7f" * 11),
        header(b"a", b"x", b"00000001000\0") + b"12 size=".ljust(512, b"9"),
    ],
    ids=[
        "headers of headers",
        "leads back",
        "a header that leads back",
        "a long header",
        "a size beyond",
        "digits",
    ],
)
def test_tars_that_lie(data: Path, content: bytes) -> None:
    """They end; a segment before the lie is read."""
    first = header(f"__consumer_offsets-1/{NAME}".encode(), b"0", b"%011o\0" % len(CONTENT))
    path = data / "night.tar"
    path.write_bytes(first + CONTENT + bytes(-len(CONTENT) % 512) + content)
    found = {row["source"]: row for row in rows(data)}
    assert found[f"{path.as_posix()}!/__consumer_offsets-1/{NAME}"]["records"] > 0
    assert path.as_posix() in found

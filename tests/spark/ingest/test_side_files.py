"""Kafka's files beside the log: one that is not there says nothing; one that cannot be read ends the run, and loses nothing."""

import shutil
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main as tool
from offsets_tool.errors import SourceError
from offsets_tool.lake.tables import COPIES
from offsets_tool.log.archive.delta import delta_rows
from offsets_tool.log.topics import topic_names_below
from offsets_tool.rows import Row
from spark.ingest.ingest import Request, ingest
from tests.corpora import CORPORA
from tests.log.files.unreadable import DENIED, REASONS, hide
from tests.spark.lakes import no_session

PARTITION: Final = "__consumer_offsets-3"
SEGMENT: Final = CORPORA / "3.9.2-txn" / "segments" / PARTITION
BESIDE: Final = {
    f"{PARTITION}/leader-epoch-checkpoint": "0\n1\n0 0\n",
    f"{PARTITION}/partition.metadata": "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
    "cleaner-offset-checkpoint": "0\n1\n__consumer_offsets 3 2\n",
    "log-start-offset-checkpoint": "0\n1\n__consumer_offsets 3 0\n",
    "meta.properties": "version=1\ncluster.id=night\nnode.id=1\n",
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return with_files_beside(tmp_path / "data")


def with_files_beside(data: Path) -> Path:
    """Make the data directory of a broker, with what it writes beside the log."""
    shutil.copytree(SEGMENT, data / PARTITION)
    for name, text in BESIDE.items():
        (data / name).write_text(text)
    return data


def copies_of(data: Path, lake: Path) -> Row:
    """Bring a data directory into a new lake, and return what that says of the copy."""
    ingest(Request(paths=[str(data)], lake=str(lake)), no_session)
    (row,) = delta_rows(lake / COPIES.name).to_pylist()
    return {
        name: row[name]
        for name in ("cluster", "log_start_offset", "cleaned_to_offset", "leader_epochs", "topic_id")
    }


def test_what_is_beside_the_log_is_in_the_lake(data: Path, tmp_path: Path) -> None:
    assert copies_of(data, tmp_path / "lake") == {
        "cluster": "night",
        "log_start_offset": 0,
        "cleaned_to_offset": 2,
        "leader_epochs": [{"leader_epoch": 0, "start_offset": 0}],
        "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ",
    }


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("name", BESIDE)
def test_one_that_cannot_be_read_ends_the_run_and_loses_nothing(
    data: Path, tmp_path: Path, name: str, reason: str
) -> None:
    lake = tmp_path / "lake"
    with pytest.MonkeyPatch.context() as patch:
        hide(patch, Path(name).name, reason)
        with pytest.raises(SourceError, match=reason) as error:
            copies_of(data, lake)
    assert Path(error.value.path).resolve() == data / name
    assert copies_of(data, lake) == copies_of(data, tmp_path / "other")


@pytest.mark.parametrize("text", [None, b"", b"\xff\xfe", b"0\n9\n0 0\n"])
@pytest.mark.parametrize("name", BESIDE)
def test_one_that_is_not_there_or_says_nothing_leaves_the_others(
    data: Path, tmp_path: Path, name: str, text: bytes | None
) -> None:
    (data / name).unlink()
    whole = copies_of(data, tmp_path / "without")
    if text is not None:
        (data / name).write_bytes(text)
    assert copies_of(data, tmp_path / "lake") == whole
    assert sum(not value and value != 0 for value in whole.values()) == (
        name != "log-start-offset-checkpoint" or 1
    )


def test_commands_on_files_say_so_too(data: Path, tmp_path: Path) -> None:
    other = shutil.copytree(data, tmp_path / "other")
    for name in BESIDE:
        with pytest.MonkeyPatch.context() as patch:
            hide(patch, Path(name).name, DENIED)
            done = CliRunner().invoke(tool, ["offsets", str(data), str(other), "--format", "jsonl"])
        is_label = name == "meta.properties"
        assert done.exit_code == (0 if is_label else 1)
        assert f"{name}: " in done.stderr and DENIED in done.stderr


def test_a_topic_that_cannot_be_named_is_said(data: Path) -> None:
    orders = data / "orders-0"
    shutil.copytree(SEGMENT, orders)
    (orders / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAg")
    assert topic_names_below([str(data)])["AAAAAAAAAAAAAAAAAAAAAg"] == "orders"
    with pytest.MonkeyPatch.context() as patch:
        hide(patch, "partition.metadata", DENIED)
        with pytest.raises(SourceError, match=DENIED):
            topic_names_below([str(data)])

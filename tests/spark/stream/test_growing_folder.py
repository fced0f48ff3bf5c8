"""What the data source says of folders, asked as Spark asks it: an offset for a listing, rows for two offsets."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from offsets_tool.errors import SourceError
from spark.stream.growing_folder import FolderReader, GrowingFolder, Watched, why_nothing
from tests.log.files.unreadable import DENIED, hide
from tests.spark.lakes import SEGMENT, ingest_here, rows_end, write_segment

DATA = SEGMENT.read_bytes()
ALL = ReadAllAvailable()


def reader(*folders: Path, lake: str = "/nowhere") -> FolderReader:
    name, value = Watched(list(map(str, folders)), None, {}, lake).option
    return GrowingFolder({name: value}).streamReader(None)


def changed(asked: FolderReader, start: dict[str, Any], end: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [row for part in asked.partitions(start, end) for row in asked.read(part)]


def test_a_row_for_each_folder_that_changed(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    half = rows_end(DATA)
    path = write_segment(one, DATA[:half])
    write_segment(other, DATA)
    asked = reader(one, other)
    first = asked.latestOffset(asked.initialOffset(), ALL)
    assert changed(asked, {}, first) == [(str(one), 1, half), (str(other), 1, len(DATA))]
    assert asked.latestOffset(first, ALL) == first and not asked.partitions(first, first)
    write_segment(one, DATA)
    grown = asked.latestOffset(first, ALL)
    assert changed(asked, first, grown) == [(str(one), 1, len(DATA))]
    path.write_bytes(DATA[half:] + DATA[:half])
    os.utime(path, (1, 1))
    rewritten = asked.latestOffset(grown, ALL)
    assert changed(asked, grown, rewritten) == [(str(one), 1, len(DATA))], "by its time"
    (one / "other.txt").write_text("of another kind")
    assert asked.latestOffset(rewritten, ALL) == rewritten
    assert changed(reader(one, other), first, grown) == changed(asked, first, grown), "by the offsets alone"


def test_a_lake_in_the_folder_that_it_is_made_of_is_nothing_new(tmp_path: Path) -> None:
    lake, path = tmp_path / "lake", write_segment(tmp_path, DATA)
    asked = reader(tmp_path, lake=str(lake))
    first = asked.latestOffset({}, ALL)
    ingest_here(lake, path)
    assert asked.latestOffset(first, ALL) == first


def test_an_empty_folder_is_waited_for(tmp_path: Path) -> None:
    asked = reader(tmp_path)
    assert "no segment" in str(why_nothing(Watched([], None, {}, "/nowhere"), str(tmp_path)))
    assert asked.latestOffset({}, ALL) == {}
    path = write_segment(tmp_path, DATA)
    first = asked.latestOffset({}, ALL)
    shutil.rmtree(path.parent)
    assert asked.latestOffset(first, ALL) == first, "what it had is in the lake"


def test_a_folder_that_is_gone_is_no_folder_to_wait_for(tmp_path: Path) -> None:
    """Its row lets the ingest meet the same and say it."""
    with pytest.raises(SourceError, match="does not exist"):
        why_nothing(Watched([], None, {}, "/nowhere"), str(tmp_path / "nowhere"))
    asked = reader(tmp_path / "nowhere")
    gone = asked.latestOffset({}, ALL)
    assert "does not exist" in gone[str(tmp_path / "nowhere")]["problem"]
    assert len(changed(asked, {}, gone)) == 1


def test_what_cannot_be_read_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    """An ingest ends by it: nobody knows whose log that is. A stream would wait for ever, and not say so."""
    folder = tmp_path / "data"
    write_segment(folder, DATA)
    (folder / "meta.properties").write_text("version=1\ncluster.id=night\nnode.id=1\n")
    link = tmp_path / "link"
    link.symlink_to(folder)
    asked = reader(link)
    with pytest.MonkeyPatch.context() as patch:
        hide(patch, "meta.properties", DENIED)
        with pytest.raises(SourceError, match=f"meta.properties.*{DENIED}"):
            why_nothing(Watched([], None, {}, "/nowhere"), str(link))
        hidden = asked.latestOffset({}, ALL)
    assert DENIED in hidden[str(link)]["problem"] and len(changed(asked, {}, hidden)) == 1
    assert why_nothing(Watched([], None, {}, "/nowhere"), str(link)) is None
    assert why_nothing(Watched([], 9, {}, "/nowhere"), str(link)) is not None

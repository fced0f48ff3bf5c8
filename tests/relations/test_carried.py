"""What a checkpoint carries for relations: left at once it is as it was, and damage is refused or comes to other numbers."""

import gzip
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.errors import SourceError
from offsets_tool.relations.histories import Histories
from offsets_tool.relations.replays import Start
from tests.relations.test_histories import random_log, rows_of, sorted_rows

Lines = list[bytes]


def left_after(rows: pa.RecordBatch) -> bytes:
    """Return the checkpoint of a replay of these rows."""
    histories = Histories(Start(3))
    histories.replay(rows)
    return histories.leave().checkpoint


def go_on(lines: Lines, rows: pa.RecordBatch) -> None:
    """Go on from a checkpoint of these lines."""
    histories = Histories(Start(3, checkpoint=gzip.compress(b"\n".join(lines), 1), source="s3://b/c"))
    histories.replay(rows)
    histories.leave()


@pytest.fixture(scope="module")
def before_and_after(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lines, pa.RecordBatch]:
    """Return the lines of a checkpoint of half a log, the last of what is carried, and the rows of the other half."""
    rows = rows_of(random_log(tmp_path_factory.mktemp("log"), "4.1.2", 6, size=300))
    half = rows.num_rows // 2
    return gzip.decompress(left_after(rows.slice(0, half))).split(b"\n", 2), rows.slice(half)


def test_left_at_once_it_is_as_it_was(tmp_path: Path) -> None:
    histories = Histories(Start(3))
    histories.replay(rows_of(random_log(tmp_path, "4.1.2", 5)))
    left = histories.leave()
    again = Histories(Start(3, checkpoint=left.checkpoint)).leave()
    assert sorted_rows([again.rows]) == sorted_rows([left.rows])
    assert again._replace(ended=left.ended, rows=left.rows, checkpoint=left.checkpoint) == left


@pytest.mark.parametrize(
    ("part", "instead"),
    [
        (b'"owners":[', b'"owners":[[null],'),
        (b'"owners":[', b'"owners":[["none",null,null,null,null,null,null,null,true],'),
        (b'"owners":[', b'"others":['),
        (b'"topic_ids":[', b'"topic_ids":["x",'),
        (b'"transactions":[', b'"transactions":[[1,2],'),
        (b'"changed":{', b'"changed":{"no":"x",'),
        (b'"removals":"', b'"removals":"['),
        (b"committed_offset", b"committed_offer_"),
    ],
)
def test_content_of_another_shape(
    part: bytes, instead: bytes, before_and_after: tuple[Lines, pa.RecordBatch]
) -> None:
    (first, second, carried), rows = before_and_after
    go_on([first, second, carried], rows)
    assert part in carried
    with pytest.raises(SourceError, match=r"s3://b/c: .* from its start"):
        go_on([first, second, carried.replace(part, instead, 1)], rows)


@given(st.data())
def test_bytes_that_are_others_are_refused_or_are_other_numbers(
    before_and_after: tuple[Lines, pa.RecordBatch], data: st.DataObject
) -> None:
    """As gzip's checksum finds nothing wrong: whatever they are, replay goes on in its bounds."""
    (first, second, carried), rows = before_and_after
    content = bytearray(carried)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    del content[data.draw(st.just(len(content)) | st.integers(0, len(content))) :]
    with suppress(SourceError):
        go_on([first, second, bytes(content)], rows)

"""Files as Delta must find them: refused if a row is not as declared, described by statistics that hold."""

import json
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from offsets_tool.lake.tables import RowRefused, Sum, Table
from offsets_tool.wire.arrow import record_batch
from offsets_tool.wire.schema import Bytes, Int64, String
from spark.lake.parquet import GROUP_BYTES, STATISTIC_LENGTH, NewFile, TableWriter


class Row(NamedTuple):
    """A row."""

    name: String
    total: Int64
    first: Int64 | None
    second: Int64


class Valued(NamedTuple):
    """A row with a value."""

    value: Bytes


TABLE = Table("table", Row, ("name",), ("name",), checks=(Sum("adds_up", "total", ("first", "second")),))


def write(lake: Path, *groups: list[Row]) -> list[NewFile]:
    writer = TableWriter(lake, TABLE)
    for group in groups:
        writer.write(record_batch(Row, group))
    return writer.close()


def test_a_file_and_its_statistics(tmp_path: Path) -> None:
    (file,) = write(tmp_path, [Row("b", 3, 1, 2)], [Row("a", 9, 4, 5), Row("é", 0, 0, 0)])
    path = tmp_path / "table" / file.path
    assert (file.table, file.rows, file.size) == ("table", 3, path.stat().st_size)
    assert pq.read_table(path).column("name").to_pylist() == ["b", "a", "é"]
    assert json.loads(file.statistics) == {
        "numRecords": 3,
        "minValues": {"name": "a", "total": 0, "first": 0, "second": 0},
        "maxValues": {"name": "é", "total": 9, "first": 4, "second": 5},
        "nullCount": {"name": 0, "total": 0, "first": 0, "second": 0},
    }


def test_no_row_is_no_file(tmp_path: Path) -> None:
    assert write(tmp_path) == write(tmp_path, []) == []
    assert not list(tmp_path.rglob("*.parquet"))


def test_large_values_make_smaller_row_groups(tmp_path: Path) -> None:
    table = Table("table", Valued, ("value",), ("value",))
    writer = TableWriter(tmp_path, table)
    for _ in range(3):
        writer.write(record_batch(Valued, [Valued(bytes(GROUP_BYTES))]))
    (file,) = writer.close()
    metadata = pq.read_metadata(tmp_path / "table" / file.path)
    assert (file.rows, metadata.num_row_groups) == (3, 3)


def test_the_least_of_a_few_names(tmp_path: Path) -> None:
    """Dictionaries hold more than the rows of a group use."""
    (file,) = write(tmp_path, [Row("b", 0, 0, 0), Row("c", 0, 0, 0)], [Row("b", 0, 0, 0)])
    told = json.loads(file.statistics)
    assert (told["minValues"]["name"], told["maxValues"]["name"]) == ("b", "c")


def test_what_fails_beside_is_raised(tmp_path: Path) -> None:
    (tmp_path / "table").write_bytes(b"no folder")
    with pytest.raises(OSError, match="table"):
        write(tmp_path, [Row("a", 0, 0, 0)])


def test_what_an_exception_leaves_is_no_file(tmp_path: Path) -> None:
    table = Table("table", Valued, ("value",), ("value",))
    rows = record_batch(Valued, [Valued(bytes(GROUP_BYTES))])
    with pytest.raises(RowRefused), TableWriter(tmp_path, table) as writer:
        writer.write(rows)
        writer.write(rows)
        assert list(tmp_path.rglob("*.parquet"))
        writer.write(record_batch(Row, []))
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize(
    "name", ["x" * 40, "é" * 40, "x" * STATISTIC_LENGTH, "x" * 32 + "\U0010ffff" * 3, "\U0010ffff" * 40]
)
def test_a_long_text_lies_between_its_bounds(tmp_path: Path, name: str) -> None:
    (file,) = write(tmp_path, [Row(name, 0, 0, 0)])
    statistics = json.loads(file.statistics)
    low, high = statistics["minValues"]["name"], statistics["maxValues"]["name"]
    assert low.encode() <= name.encode() <= high.encode()
    assert len(low) <= STATISTIC_LENGTH


def test_columns_without_values_have_no_bounds(tmp_path: Path) -> None:
    table = Table("table", Row, ("name",), ("name",))
    writer = TableWriter(tmp_path, table)
    writer.write(record_batch(Row, [Row("a", 1, None, 1)]))
    statistics = json.loads(writer.close()[0].statistics)
    assert "first" not in statistics["minValues"] and statistics["nullCount"]["first"] == 1


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (pa.RecordBatch.from_pylist([{"name": "a"}]), "columns"),
        (record_batch(Row, [Row("a", 4, 1, 2)]), "total = first [+] second does not hold"),
        (record_batch(Row, [Row("a", 1, None, 2)]), "does not hold"),
        (
            pa.RecordBatch.from_arrays(
                [pa.array([None], "string"), *(pa.array([0], "int64") for _ in range(3))],
                schema=TABLE.schema,
            ),
            r"table\.name: null",
        ),
    ],
)
def test_what_delta_would_refuse_is_refused(tmp_path: Path, rows: pa.RecordBatch, why: str) -> None:
    with pytest.raises(RowRefused, match=why):
        TableWriter(tmp_path, TABLE).write(rows)
    assert not list(tmp_path.rglob("*.parquet"))

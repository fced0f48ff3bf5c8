"""Rows of some partitions of topics give way, whatever file they are in; files that have none of them stay as they are."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.lake.scan import FileFacts
from offsets_tool.lake.tables import LAG
from spark.lake.parquet import NewFile, TableWriter
from spark.lake.replaced import ReplacedPartitions, Replacing, count_replaced, replace

LONG = "t" * 40
Place = tuple[str, str, int]
"""Cluster, topic and partition."""
places = st.tuples(
    st.sampled_from(("a", "b")), st.sampled_from(("s", LONG, LONG + "u", "ü", "z")), st.integers(-1, 2)
)
files = st.lists(st.lists(places, min_size=1, max_size=6), min_size=1, max_size=4)


def write(lake: Path, rows: list[Place]) -> NewFile:
    """Write a file of `lag` with these rows."""
    many = len(rows)
    known = dict(zip(("cluster", "topic", "partition"), zip(*rows, strict=True), strict=True))
    columns = [
        pa.array(known[field.name], field.type)
        if field.name in known
        else pa.nulls(many, field.type)
        if field.nullable
        else pa.array([{pa.string(): "x", pa.bool_(): False}.get(field.type, 0)] * many, field.type)
        for field in LAG.schema
    ]
    with TableWriter(lake, LAG) as writer:
        writer.write(pa.record_batch(columns, schema=LAG.schema))
        return writer.close()[0]


def facts(file: NewFile, *, are_known: bool) -> FileFacts:
    """Return what Delta knows of a file; without statistics as other writers may leave it."""
    rows = {"path": file.path, "num_records": file.rows}
    if not are_known:
        return rows
    told = pa.json.read_json(pa.py_buffer(file.statistics.encode())).to_pylist()[0]
    least = {f"min.{name}": value for name, value in told["minValues"].items()}
    return rows | least | {f"max.{name}": value for name, value in told["maxValues"].items()}


def read(lake: Path, paths: list[str]) -> Counter[Place]:
    found: Counter[Place] = Counter()
    for path in paths:
        columns = pq.read_table(lake / LAG.name / path, columns=["cluster", "topic", "partition"])
        found.update(tuple(row.values()) for row in columns.to_pylist())
    return found


@given(files, st.sets(places.map(lambda place: place[1:])), st.booleans())
def test_partitions_of_topics_give_way(
    tmp_path_factory: pytest.TempPathFactory,
    written: list[list[Place]],
    gone: set[tuple[str, int]],
    are_known: bool,
) -> None:
    lake = tmp_path_factory.mktemp("lake")
    there = [facts(write(lake, rows), are_known=are_known) for rows in written]
    columns = {"topic": [t for t, _ in gone], "partition": [p for _, p in gone]}
    types = pa.schema([("topic", pa.string()), ("partition", pa.int32())])
    replaced = [ReplacedPartitions("a", pa.table(columns, types))]
    stays = [[row for row in rows if row[0] != "a" or row[1:] not in gone] for rows in written]
    assert count_replaced(lake, LAG, there, replaced) == sum(map(len, written)) - sum(map(len, stays))
    done: Replacing = replace(lake, LAG, there, replaced)
    touched = [file["path"] for file, rows, left in zip(there, written, stays, strict=True) if rows != left]
    assert done.gone == touched
    untouched = [file["path"] for file in there if file["path"] not in touched]
    left = read(lake, [*untouched, *(file.path for file in done.kept)])
    assert left == Counter(row for rows in stays for row in rows)

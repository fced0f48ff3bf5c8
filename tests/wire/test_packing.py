"""Rows that travel as bytes are the same afterwards, also slices of others."""

import pyarrow as pa
import pytest

from offsets_tool.wire.arrow import pack, unpack

ROWS = pa.record_batch(
    {
        "text": pa.array(["a", None, "", "é" * 1000, "b"] * 200),
        "number": pa.array([None, 0, -(1 << 63), (1 << 63) - 1, 7] * 200, pa.int64()),
        "flag": pa.array([True, None, False, True, True] * 200),
        "time": pa.array([None, 0, 1, -1, 1 << 52] * 200, pa.timestamp("ms", "UTC")),
        "list": pa.array([[], None, ["x", None], ["y"], []] * 200, pa.list_(pa.string())),
    }
)


@pytest.mark.parametrize(("begin", "count"), [(0, 1000), (0, 0), (3, 1), (997, 3), (129, 640)])
def test_rows_come_back(begin: int, count: int) -> None:
    rows = ROWS.slice(begin, count)
    assert unpack(pack(rows), ROWS.schema) == rows


def test_a_slice_takes_its_own_bytes_alone_and_less_than_they_were() -> None:
    assert len(pack(ROWS.slice(0, 100))) < ROWS.slice(0, 100).serialize().size / 2

"""Rows are sorted as Python sorts them, nulls first, whatever the columns hold."""

from itertools import pairwise

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.columns.sorting import places_in_order

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(("b", "a", "", "é", "\U0001f600", "\uffff")) | st.none(),
        st.integers(-2, 3) | st.none(),
        INT64 | st.sampled_from((0, 1)) | st.none(),
        st.integers(0, 5).map(lambda seconds: seconds * 1_000_000) | st.none(),
    ),
    max_size=30,
)
SCHEMA = pa.schema(
    [("text", pa.string()), ("small", pa.int32()), ("large", pa.int64()), ("at", pa.timestamp("us", "UTC"))]
)


def less(value: str | int | None) -> tuple[bool, str | int | bytes]:
    """Return what Python sorts a value by: nulls first, texts by their bytes."""
    return value is not None, value.encode() if isinstance(value, str) else value or 0


@given(ROWS, st.permutations(SCHEMA.names), st.lists(st.integers(0, 30), max_size=2), st.booleans())
def test_order(
    rows: list[tuple[str | int | None, ...]], order: list[str], cuts: list[int], encodes: bool
) -> None:
    whole = pa.table(
        [pa.array(column, field.type) for field, column in zip(SCHEMA, columns(rows), strict=True)],
        schema=SCHEMA,
    )
    if encodes:
        whole = whole.set_column(0, "text", whole["text"].dictionary_encode())
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    parts = [whole.slice(begin, end - begin) for begin, end in pairwise(edges)]
    table = pa.concat_tables(parts or [whole]).unify_dictionaries()
    places = [SCHEMA.names.index(name) for name in order]
    wanted = sorted(range(len(rows)), key=lambda row: [less(rows[row][place]) for place in places])
    assert places_in_order(table, order).tolist() == wanted


def columns(rows: list[tuple[str | int | None, ...]]) -> list[tuple[str | int | None, ...]]:
    return list(zip(*rows, strict=True)) or [()] * len(SCHEMA)

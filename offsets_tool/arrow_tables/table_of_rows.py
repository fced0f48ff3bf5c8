"""Rows of a declared class as one Arrow table, with their texts as tables show them."""

import os
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from offsets_tool.wire.arrow import shown_batch

AnyPath = str | os.PathLike[str]
"""What names a file or a folder."""


def table_of(row: type, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    """Return rows, tuples in the declared order of `row`, as a table with the columns that it declares."""
    return pa.Table.from_batches([shown_batch(row, list(rows))])

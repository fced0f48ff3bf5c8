"""Checks whether a table of a lake has the columns that this version declares, or lacks only columns added since. Changes nothing.

Columns are identified by their names; their order is that in which releases added them.
"""

from collections.abc import Collection

import pyarrow as pa

from offsets_tool.errors import UsageError
from offsets_tool.lake.tables import Table
from offsets_tool.log.archive.delta import OpenDelta


def added_since(columns: Collection[str], table: Table) -> list[pa.Field] | None:
    """Return the columns that a table lacks, given the names of those that it has; None for a layout that cannot be mended.

    Columns that may be null can be added, as rows from before then have null; no others can, and none can be taken away.
    """
    lacking = [field for field in table.schema if field.name not in columns]
    is_mended = set(columns) <= set(table.schema.names) and all(field.nullable for field in lacking)
    return lacking if is_mended else None


def other_columns(path: str) -> UsageError:
    """Return the error for a table, by its path, that another version of this program made."""
    return UsageError(
        f"{path} has other columns than this version writes: ingest into a new lake, from the same sources"
    )


def layout_error(path: str, columns: Collection[str], table: Table) -> UsageError | None:
    """Return the error for a table that does not have the declared columns, given its path and the columns that it has."""
    lacking = added_since(columns, table)
    if lacking is None:
        return other_columns(path)
    if not lacking:
        return None
    names = ", ".join(field.name for field in lacking)
    return UsageError(
        f"{path} was made by an earlier version, and has no column {names}: run offsets-spark upgrade on the lake, which adds "
        "what it lacks"
    )


def require_columns(path: str, opened: OpenDelta, table: Table) -> None:
    """Raise UsageError for an open table with other columns than are declared; their order and their comments may differ."""
    there, declared = opened.schema(), type(opened.schema()).from_arrow(table.schema)
    fields = {field.name: field for field in there.fields}
    if error := layout_error(path, list(fields), table):
        raise error
    if any((f.type, f.nullable) != (fields[f.name].type, fields[f.name].nullable) for f in declared.fields):
        raise other_columns(path)

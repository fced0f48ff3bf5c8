"""Bring a lake that an earlier version made up to date: add the columns that its tables lack, which are null in the rows there are.

A change of Delta's metadata, table by table: no data file is written, and who is killed can begin again. Tables that are missing
are made by the job that writes them.
"""

from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from deltalake import DeltaTable, Schema

from offsets_tool.lake.layout import added_since, other_columns
from offsets_tool.lake.tables import ALL_TABLES, SOURCES, Table
from offsets_tool.lake.whole import is_table, no_lake
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.log.archive.delta_mirror import committing
from spark.lake.folder import opened, root_of


class Upgraded(NamedTuple):
    """A table that was upgraded, and the columns that it lacked before."""

    table: str
    added: list[str]


def upgrade(lake: str) -> list[Upgraded]:
    """Add the columns that the tables of a lake lack, and return those of each table that lacked some.

    UsageError where there is no lake, or one of a layout that cannot be brought up to date; then nothing was changed.
    """
    root = root_of(lake)
    if not is_table(root, SOURCES):
        raise no_lake(root)
    with opened(root):
        tables = {table: open_delta(root / table.name) for table in ALL_TABLES if is_table(root, table)}
        lacking = {table: _lacking(there, table, root) for table, there in tables.items()}
        for table, fields in lacking.items():
            with committing(root / table.name):
                if fields:
                    tables[table].alter.add_columns(list(Schema.from_arrow(pa.schema(fields)).fields))
                _set_properties(tables[table], table)
    return [
        Upgraded(table.name, [each.name for each in fields]) for table, fields in lacking.items() if fields
    ]


def _lacking(there: DeltaTable, table: Table, root: Path) -> list[pa.Field]:
    fields = added_since([field.name for field in there.schema().fields], table)
    if fields is None:
        raise other_columns(f"{root}/{table.name}")
    return fields


def _set_properties(there: DeltaTable, table: Table) -> None:
    has = there.metadata().configuration
    if missing := {name: value for name, value in table.properties.items() if has.get(name) != value}:
        there.alter.set_table_properties(missing)

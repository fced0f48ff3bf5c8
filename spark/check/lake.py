"""The lake that is checked: its tables' files as Delta's logs have them, and the rows of its small tables. Writes nothing."""

import shlex
from collections import Counter
from functools import cached_property
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from offsets_tool.errors import SourceError
from offsets_tool.lake.layout import added_since
from offsets_tool.lake.scan import FileFacts, LakeTables, file_rows
from offsets_tool.lake.tables import COPIES, DERIVATIONS, REPLAYS, SOURCES, Table
from spark.lake.replaced import is_only

Fields = dict[str, Any]
"""A row of a small table, by column."""


class LakeToCheck(LakeTables):
    """A lake whose tables may have any columns. Everything raises SourceError for files that do not read.

    Of a table that an earlier version made, columns that it lacks are null.
    """

    @cached_property
    def sources(self) -> list[Fields]:
        return self._of(SOURCES)

    @cached_property
    def copies(self) -> list[Fields]:
        return self._of(COPIES)

    @cached_property
    def replays(self) -> list[Fields]:
        return self._of(REPLAYS)

    @cached_property
    def derivations(self) -> list[Fields]:
        return self._of(DERIVATIONS)

    def _check_columns(self, opened: DeltaTable, table: Table) -> None:
        """Take a table as it is: which columns it has is a check of its own."""

    def files(self, table: Table) -> list[FileFacts]:
        """Return what Delta knows of each file of a table; nothing of one that is not there."""
        return super().files(table) if self.has(table) else []

    def count(self, table: Table, *columns: str) -> Counter[tuple[Any, ...]]:
        """Return how many rows of a table have which values in these columns; files with one value are not opened."""
        found: Counter[tuple[Any, ...]] = Counter()
        for file in self.files(table):
            values = tuple(file.get(f"min.{name}") for name in columns)
            is_told = file.get("num_records") is not None and None not in values
            if is_told and all(map(is_only, [file] * len(columns), columns, values)):
                found[values] += file["num_records"]
                continue
            for rows in file_rows(self.root / table.name / file["path"], table, columns):
                of_each = pa.table(rows).group_by(list(columns)).aggregate([([], "count_all")])
                for *some, count in zip(*(column.to_pylist() for column in of_each.columns), strict=True):
                    found[tuple(some)] += count
        return found

    def command(self, name: str, *arguments: str) -> str:
        """Return a command of offsets-spark on this lake, to be copied into a shell."""
        return shlex.join(["offsets-spark", name, *arguments, "--lake", self.root.as_posix()])

    def _of(self, table: Table) -> list[Fields]:
        if not self.has(table):
            return []
        columns = [field.name for field in self.opened(table).schema().fields]
        if added_since(columns, table) is None:
            raise SourceError(f"{self.root}/{table.name}", "has other columns than this version writes")
        return self.rows(table)

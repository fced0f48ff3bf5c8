"""Delta tables read without a JVM: the one place that opens and reads them, of a lake as of an archive.

Rows come through Arrow's own file systems. deltalake's, which `to_pyarrow_table` takes unasked, is written in Python, and a thread
of Arrow's that still holds a file of it when the interpreter ends aborts the process. What does not read is named, file by file
(delta_log). Knows no table's meaning, and writes nothing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from offsets_tool.errors import SetupError, SourceError
from offsets_tool.log.archive.delta_log import (
    UNREADABLE,
    Damage,
    damage_of_data,
    damage_of_log,
    first_line,
)

if TYPE_CHECKING:
    from deltalake import DeltaTable


def open_delta(table: str | Path) -> "DeltaTable":
    """A Delta table, by its folder or URI, as of its newest version.

    SetupError without deltalake; SourceError for what is no Delta table, or has a log that does not read.
    """
    try:
        from deltalake import DeltaTable  # noqa: PLC0415 - of an extra, and heavy
    except ImportError as error:
        raise SetupError(
            f"{table} is a Delta table, and deltalake is not installed: pip install 'offsets-tool[delta]'"
        ) from error
    with reading_delta(table):
        return DeltaTable(table)


def delta_dataset(table: str | Path) -> ds.Dataset:
    """A Delta table's rows for Arrow, DuckDB, pandas or Polars, which then read the columns and the files that they need.

    Errors as `open_delta` has them, and SourceError for a table that Arrow cannot read (with deletion vectors, say); what does not
    read later is for who reads it, as in `delta_rows`.
    """
    opened = open_delta(table)
    with reading_delta(table):
        return opened.to_pyarrow_dataset(filesystem=_files_of(table))


def delta_rows(
    table: str | Path, columns: list[str] | None = None, where: ds.Expression | None = None
) -> pa.Table:
    """The rows of a table small enough to be held. Errors as `open_delta` has them, SourceError for damaged data too."""
    rows = delta_dataset(table)
    with reading_delta(table):
        return rows.to_table(columns=columns, filter=where)


def delta_batches(table: Path, opened: "DeltaTable", columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """All rows of a table that others wrote, batch by batch, without those that its deletion vectors take away.

    SourceError where it cannot be read any further.
    """
    from deltalake import QueryBuilder  # noqa: PLC0415

    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    with reading_delta(table):
        answer = QueryBuilder().register("archive", opened).execute(f"select {quoted} from archive")
        batches = pa.RecordBatchReader.from_stream(answer)
    while True:
        with reading_delta(table):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _files_of(table: str | Path) -> fs.FileSystem:
    """Arrow's file system, with the table's folder as its root."""
    if "://" in str(table):
        system, folder = fs.FileSystem.from_uri(str(table))
    else:
        system, folder = fs.LocalFileSystem(), Path(table).absolute().as_posix()
    return fs.SubTreeFileSystem(folder, system)


@contextmanager
def reading_delta(table: str | Path) -> Iterator[None]:
    """What deltalake and Arrow raise becomes a SourceError that names what is damaged."""
    from deltalake.exceptions import DeltaError  # noqa: PLC0415

    try:
        yield
    except (DeltaError, *UNREADABLE) as error:
        found = None if "://" in str(table) else damage(Path(table))
        if found:
            raise SourceError(found.path.as_posix(), found.reason) from error
        raise SourceError(str(table), f"not a Delta table that can be read: {first_line(error)}") from error


def damage(table: Path) -> Damage | None:
    """The first file of a Delta table's folder that is not as it must be, its log before its data; None where all of it reads."""
    from deltalake import DeltaTable  # noqa: PLC0415
    from deltalake.exceptions import DeltaError  # noqa: PLC0415

    if found := damage_of_log(table):
        return found
    try:
        actions = pa.table(DeltaTable(table).get_add_actions())
    except (DeltaError, *UNREADABLE):
        return None
    return damage_of_data(
        table, zip(actions["path"].to_pylist(), actions["size_bytes"].to_pylist(), strict=True)
    )

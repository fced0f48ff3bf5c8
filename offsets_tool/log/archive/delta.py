"""Delta tables read without a JVM: the one place that opens and reads them, of a lake as of an archive.

Rows come through Arrow's own file systems. deltalake's, which `to_pyarrow_table` takes unasked, is written in Python, and a thread
of Arrow's that still holds a file of it when the interpreter ends aborts the process. What does not read is named, file by file
(delta_log). Knows no table's meaning, and writes nothing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from offsets_tool.errors import SetupError, SourceError
from offsets_tool.log.archive.delta_log import (
    DELTA_LOG,
    UNREADABLE,
    Damage,
    damage_of_data,
    damage_of_log,
    first_line,
    is_file,
    lost_commit,
    rows_at_once,
    why_inflated,
    why_no_parquet,
)
from offsets_tool.log.archive.delta_mirror import (
    changed,
    delta_options,
    is_listed_once,
    small_files,
    within_reach,
)
from offsets_tool.log.batches.limits import LIMITS, REMEDY, Limits
from offsets_tool.log.buckets import bucket_of
from offsets_tool.log.refusals import answer_of, meant_refusal
from offsets_tool.log.storage import StoredPath, as_path, is_of_hadoop, is_stored

if TYPE_CHECKING:
    import pyarrow.dataset as ds
    from deltalake import DeltaTable


OpenDelta: TypeAlias = "DeltaTable"
"""A Delta table that is open, as of a version."""
_FEW_FILES: Final = 64
"""Of up to so many files no statistics are asked which of them have rows that are wanted."""
_ONLY_ITS_OWN: Final = {"deletionVectors", "columnMapping"}
"""What only deltalake's own engine reads, of what tables may have."""


def open_delta(table: str | Path, version: int | None = None, *, with_history: bool = False) -> OpenDelta:
    """Open a Delta table, by its folder or URI, as of a version, or its newest; `with_history` where all its commits are asked for.

    SetupError without deltalake; SourceError for what is no Delta table, or has a log that does not read.
    """
    try:
        from deltalake import DeltaTable  # noqa: PLC0415 - of an extra, and heavy
    except ImportError as error:
        raise SetupError(
            f"{table} is a Delta table, and deltalake is not installed: pip install 'offsets-tool[delta]'"
        ) from error
    with within_reach(table, with_history=with_history or version is not None) as place:
        if not is_stored(place) and (found := _lost_commit(table, place, version)):
            raise SourceError((as_path(table) / DELTA_LOG / found.path.name).as_posix(), found.reason)
        options = delta_options(table) if is_stored(place) else None
        with reading_delta(table):
            return answer_of(lambda: DeltaTable(place, version, storage_options=options))


def _lost_commit(table: str | Path, place: str, version: int | None) -> Damage | None:
    found = lost_commit(as_path(place), version)
    if found is None or not is_stored(table):
        return found
    changed(table)
    # A listing is of no moment: it may have a commit, and not the one that was made before it.
    with within_reach(table, with_history=version is not None):
        return lost_commit(as_path(place), version)


def history_of(table: str | Path, opened: OpenDelta, limit: int | None = None) -> list[dict[str, Any]]:
    """Return what the commits of an open table say of themselves, so many as `limit` says, the newest first."""
    with reading_delta(table):
        return answer_of(lambda: opened.history(limit))


def parquet_files(opened: OpenDelta) -> list[str] | None:
    """Return a table's data files, as paths or URIs; None where its rows are not just theirs (deletion vectors, partitions)."""
    if not has_plain_files(opened) or opened.metadata().partition_columns:
        return None
    # Of a folder they are paths, which deltalake writes as they stand in a URL.
    return [each if "://" in each else unquote(each) for each in opened.file_uris()]


def delta_dataset(table: str | Path) -> "ds.Dataset":
    """Return a Delta table's rows for Arrow, DuckDB, pandas or Polars, which then read the columns and the files that they need.

    Errors as `open_delta` has them, and SourceError for a table that Arrow cannot read (with deletion vectors, say); what does not
    read later is for who reads it, as in `delta_rows`.
    """
    return dataset_of(table, open_delta(table))


def dataset_of(table: str | Path, opened: OpenDelta) -> "ds.Dataset":
    """Return the rows of a Delta table as of the version that it is open at, as `delta_dataset` does of its newest."""
    with reading_delta(table):
        rows = opened.to_pyarrow_dataset(filesystem=_files_of(table))
        return _of_whole_files(as_path(table), rows) if is_listed_once(table) else rows


def _of_whole_files(table: Path, rows: "ds.Dataset") -> "ds.Dataset":
    """Return the rows of a lake's table, of which small files are read at once, as a whole: if they are few, all are needed."""
    fragments = list(rows.get_fragments())
    if len(fragments) > _FEW_FILES:
        return rows
    found = small_files(table, [each.path for each in fragments])
    whole = [
        each.format.make_fragment(
            pa.BufferReader(found[each.path]), partition_expression=each.partition_expression
        )
        if each.path in found
        else each
        for each in fragments
    ]
    return type(rows)(whole, rows.schema, rows.format, rows.filesystem) if found else rows


def has_plain_files(opened: OpenDelta) -> bool:
    """Return whether a table's rows are all rows of its files; if not, only deltalake's engine or Spark can read it."""
    return not _ONLY_ITS_OWN.intersection(opened.protocol().reader_features or ())


def delta_rows(
    table: str | Path, columns: list[str] | None = None, where: "ds.Expression | None" = None
) -> pa.Table:
    """Return the rows of a table that is small enough to be held; SourceError for one that does not open or has damaged data."""
    rows = delta_dataset(table)
    with reading_delta(table):
        return answer_of(lambda: rows.to_table(columns=columns, filter=where))


def delta_batches(
    table: Path, opened: OpenDelta, columns: Sequence[str], limits: Limits = LIMITS
) -> Iterator[pa.RecordBatch | str]:
    """Yield the rows of a table that another program wrote, in batches; for rows that cannot be read, or inflate to more than
    `limits`, a text that says why.

    Rows of other files are yielded even if one file is damaged.
    """
    if not has_plain_files(opened):
        yield from _queried(table, opened, columns)
        return
    try:
        rows = delta_dataset(table)
    except SourceError as error:
        yield str(error)
        return
    for file in rows.get_fragments():
        name = Path(file.path).name
        # A pipe would be waited for, and a log may name a hundred thousand files that are not there.
        if not is_stored(table) and not is_file(table / file.path):
            yield f"{name}: is not a file that is there, though the table's log names it"
            continue
        try:
            if too_much := why_inflated(file.metadata, limits, columns):
                yield f"{name}: {too_much}, {REMEDY}"
            else:
                yield from _held_batches(file, pa.schema([rows.schema.field(name) for name in columns]))
        except UNREADABLE as error:
            yield f"{name}: {first_line(error)}"


def _held_batches(file: "ds.ParquetFileFragment", schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table's file with the columns of a schema, few at a time where a dictionary's value is long.

    Arrow's data sets hold a row group as a whole. Columns that the file lacks are null, or have the value of its partition.
    """
    from pyarrow.dataset import get_partition_keys  # noqa: PLC0415 - heavy

    values = get_partition_keys(file.partition_expression)
    with pq.ParquetFile(file.open()) as opened:
        names = [name for name in schema.names if name in opened.schema_arrow.names and name not in values]
        for group in range(opened.num_row_groups):
            rows = rows_at_once(opened.metadata.row_group(group), names)
            for batch in opened.iter_batches(rows, row_groups=[group], columns=names, use_threads=False):
                arrays = [
                    batch.column(field.name).cast(field.type)
                    if field.name in names
                    else pa.repeat(pa.scalar(values.get(field.name)).cast(field.type), batch.num_rows)
                    for field in schema
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _queried(table: Path, opened: OpenDelta, columns: Sequence[str]) -> Iterator[pa.RecordBatch | str]:
    """Yield the rows of a table by deltalake's own engine, which leaves out rows that deletion vectors delete.

    Some damaged files make that engine end the process, so Arrow reads all files first. A text in the place of rows says why
    they cannot be read.
    """
    from deltalake import QueryBuilder  # noqa: PLC0415

    if not is_stored(table) and (found := _damage(table)):
        yield f"{found.path}: {found.reason}"
        return
    if is_of_hadoop(table):
        yield f"{table}: rows of it are deleted by deletion vectors, which are not read there; copy the table to disk"
        return
    if is_stored(table):
        opened = _itself(table)
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    try:
        with reading_delta(table):
            answer = QueryBuilder().register("archive", opened).execute(f"select {quoted} from archive")
            batches = pa.RecordBatchReader.from_stream(answer)
            batch = next(batches, None)
        while batch is not None:
            yield batch
            with reading_delta(table):
                batch = next(batches, None)
    except SourceError as error:
        yield str(error)


def _itself(table: str | Path) -> OpenDelta:
    """Open a table in storage, and no mirror of its log: deltalake's own engine reads files where the log is."""
    from deltalake import DeltaTable  # noqa: PLC0415

    with reading_delta(table):
        return answer_of(lambda: DeltaTable(str(table), storage_options=delta_options(table)))


def _files_of(table: str | Path) -> fs.FileSystem:
    """Return Arrow's file system with the table's folder as its root."""
    there = as_path(table)
    if isinstance(there, StoredPath):
        bucket = bucket_of(there)
        return fs.SubTreeFileSystem(bucket.name(there), bucket.system)
    return fs.SubTreeFileSystem(there.absolute().as_posix(), fs.LocalFileSystem())


@contextmanager
def reading_delta(table: str | Path) -> Iterator[None]:
    """Turn what deltalake and Arrow raise inside of a `with` block into a SourceError that names what is damaged."""
    from deltalake.exceptions import DeltaError  # noqa: PLC0415

    try:
        yield
    except (DeltaError, *UNREADABLE) as error:
        if is_stored(table) and (known := meant_refusal(str(table), str(error))):
            raise known from error
        # All bytes of a table in storage are too many for a better sentence.
        if found := (damage_of_files if is_stored(table) else _damage)(as_path(table)):
            raise SourceError(found.path.as_posix(), found.reason) from error
        raise SourceError(str(table), f"not a Delta table that can be read: {first_line(error)}") from error


def _damage(table: Path) -> Damage | None:
    """Return the first damaged file of a table; read its files as a whole where sizes and footers show nothing."""
    if found := damage_of_files(table):
        return found
    for name, _ in _files(table):
        if reason := why_no_parquet(table / name):
            return Damage(table / name, reason)
    return None


def damage_of_files(table: Path) -> Damage | None:
    """Return the first damaged file of a Delta table's folder: of its log all bytes are read, of its data sizes and footers."""
    return damage_of_log(table) or damage_of_data(table, _files(table))


def _files(table: Path) -> list[tuple[str, int]]:
    """Return the names and sizes of a table's files, as its log has them; none where the log cannot be read."""
    from deltalake import DeltaTable  # noqa: PLC0415
    from deltalake.exceptions import DeltaError  # noqa: PLC0415

    try:
        with within_reach(table) as place:
            options = delta_options(table) if is_stored(place) else None
            return _files_of_version(DeltaTable(place, storage_options=options))
    except (DeltaError, *UNREADABLE):
        return []


def _files_of_version(opened: OpenDelta) -> list[tuple[str, int]]:
    actions = pa.table(opened.get_add_actions())
    # Delta's log has them as URLs.
    names = map(unquote, actions["path"].to_pylist())
    return list(zip(names, actions["size_bytes"].to_pylist(), strict=True))

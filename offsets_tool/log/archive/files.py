"""Finds the files of an archive, by content: what is JSON lines, Parquet or Delta, and what is none of them.

A file that was itself given is an archive if it holds rows at all. A JSON file of a folder, only if it has a column for offset, key
and value too, and a key that is text (of bytes) in its first lines: settings, reports and what `decode` wrote there are foreign,
and ignored like any other file. A file that cannot be opened is listed, and its reader will say why. Knows nothing of rows.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.errors import SourceError, UsageError
from offsets_tool.log.archive.columns import check_fields, match_columns
from offsets_tool.log.archive.lines import first_rows, names_of
from offsets_tool.log.files.folders import Entry, PathKind, look_at, walk
from offsets_tool.log.files.open_file import why
from offsets_tool.log.names import NO_FILE, OFFSETS_TOPIC, segment_name, tar_name
from offsets_tool.log.storage import as_path, one_listing
from offsets_tool.log.stored_bytes import open_binary

_JSON_NAME: Final = re.compile(
    rf".*\.(?:json|jsonl|ndjson|txt)(?:\.(?:gz|zst|bz2|xz|lz4))?|{OFFSETS_TOPIC}[-+]\d+[-+]\d+.*"
)
_DELTA_LOG: Final = "_delta_log"
_PARQUET_MAGIC: Final = b"PAR1"


class ArchiveKind(StrEnum):
    """The format in which an archive keeps its rows."""

    JSON_LINES = "json lines"
    PARQUET = "parquet"
    DELTA = "delta"


class ArchiveFile(NamedTuple):
    """A file of an archive, or a whole Delta table. `named`: the path itself was given, and not found in a folder."""

    path: Path
    kind: ArchiveKind
    is_named: bool = False


@one_listing()
def archive_files(path: str | Path, columns: Mapping[str, str] | None = None) -> list[ArchiveFile]:
    """Return the archives at a path: the file itself, or the files and Delta tables of a folder and the folders in it.

    What is no archive (log segments, markers, checksums, foreign JSON) is not among them. `columns` as for `read_archive`.
    Raises SourceError when nothing is there or it cannot be opened, UsageError for columns of fields that there are not.
    """
    there = as_path(path)
    chosen = columns or {}
    check_fields(chosen)
    given = look_at(there)
    if given.kind is PathKind.FOLDER:
        return [file._replace(is_named=file.path == there) for file in sorted(_folder(there, chosen))]
    if given.kind is PathKind.OTHER:
        raise SourceError(there.as_posix(), NO_FILE)
    try:
        return list(_file(there))
    except OSError as error:
        reason = f"cannot be opened ({why(error)}); check the path and its permissions"
        raise SourceError(there.as_posix(), reason) from error


def _folder(top: Path, chosen: Mapping[str, str]) -> Iterator[ArchiveFile]:
    if is_delta(top):
        yield ArchiveFile(top, ArchiveKind.DELTA)
        return
    for entry in walk(top, _may_hold_archives):
        if entry.kind is not PathKind.FOLDER:
            yield from _in_folder(entry, chosen)
        elif not _hidden(entry.path.name) and is_delta(entry.path):
            yield ArchiveFile(entry.path, ArchiveKind.DELTA)


def _may_hold_archives(folder: Entry) -> bool:
    # The files of a Delta table are only what its log says they are.
    return not _hidden(folder.path.name) and not is_delta(folder.path)


def is_delta(folder: Path) -> bool:
    """Return whether a folder is a Delta table."""
    return look_at(folder / _DELTA_LOG).kind is PathKind.FOLDER


def is_lake(folder: str | Path) -> bool:
    """Return whether a folder has the tables that every lake has."""
    try:
        return all(is_delta(as_path(folder) / name) for name in ("log", "sources"))
    except SourceError:
        # Whoever opens the folder meets the same, and says it of the folder.
        return False


def _hidden(name: str) -> bool:
    """Return whether a name is no data by Spark's rule: _SUCCESS, _temporary, .part-0.crc; not _partition=3 or the topic's name."""
    is_data = "=" in name or name.startswith(OFFSETS_TOPIC)
    return name.startswith(".") or (name.startswith("_") and not is_data)


def _in_folder(entry: Entry, chosen: Mapping[str, str]) -> Iterator[ArchiveFile]:
    """Yield an entry of a folder if it is an archive; only files with an archive's name are opened."""
    path = entry.path
    if _hidden(path.name) or entry.kind is PathKind.OTHER:
        return
    if path.suffix == ".parquet":
        # Even without Parquet's magic: a file that is cut off must be reported, not passed over.
        yield ArchiveFile(path, ArchiveKind.PARQUET)
    elif _JSON_NAME.fullmatch(path.name):
        try:
            if _is_parquet(path):
                yield ArchiveFile(path, ArchiveKind.PARQUET)
                return
            is_archive = _has_records(path, chosen)
        except (OSError, SourceError):
            # Its reader meets the same, and says it.
            is_archive = True
        if is_archive:
            yield ArchiveFile(path, ArchiveKind.JSON_LINES)


def _has_records(path: Path, chosen: Mapping[str, str]) -> bool:
    rows = first_rows(path)
    try:
        columns = match_columns(names_of(rows), chosen)
    except UsageError:
        return False
    return not columns.missing and any(isinstance(columns.get(row, "key"), str) for row in rows)


def _file(path: Path) -> Iterator[ArchiveFile]:
    if _is_parquet(path):
        yield ArchiveFile(path, ArchiveKind.PARQUET, is_named=True)
        return
    try:
        has_rows = bool(names_of(first_rows(path)))
    except SourceError:
        if segment_name(path.name) or tar_name(path.name):
            return
        raise
    if has_rows:
        yield ArchiveFile(path, ArchiveKind.JSON_LINES, is_named=True)


def _is_parquet(path: Path) -> bool:
    with open_binary(path) as file:
        return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC

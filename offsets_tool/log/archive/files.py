"""Finds the files of an archive, by content: what is JSON lines, Parquet or Delta, and what is none of them.

A file that was itself given is an archive if it holds rows at all. A JSON file of a folder, only if it has a column for offset, key
and value too, and a key that is text (of bytes) in its first lines: settings, reports and what `decode` wrote there are foreign,
and ignored like any other file. What cannot be looked into is listed, for its reader to say why. Knows not what rows mean.
"""

import os
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.errors import SourceError, UsageError
from offsets_tool.log.archive.columns import check_fields, match_columns
from offsets_tool.log.archive.lines import first_rows, names_of
from offsets_tool.log.names import NO_FILE, OFFSETS_TOPIC, segment_name, tar_name

_JSON_NAME: Final = re.compile(rf".*\.(?:json|jsonl|ndjson)(?:\.(?:gz|zst))?|{OFFSETS_TOPIC}[-+]\d+[-+]\d+.*")
_PARQUET_MAGIC: Final = b"PAR1"


class ArchiveKind(StrEnum):
    """How an archive keeps its rows."""

    JSON_LINES = "json lines"
    PARQUET = "parquet"
    DELTA = "delta"


class ArchiveFile(NamedTuple):
    """One file of an archive, or a whole Delta table. `named`: it was itself given, not found in a folder."""

    path: Path
    kind: ArchiveKind
    named: bool = False


def archive_files(path: str | Path, columns: Mapping[str, str] | None = None) -> list[ArchiveFile]:
    """What there is to read at a path: the file itself, or the files and Delta tables of a folder and the folders in it.

    What is no archive (log segments, markers, checksums, foreign JSON) is not among them. `columns` as for `read_archive`.
    Raises SourceError when nothing is there or it cannot be opened, UsageError for columns of fields that there are not.
    """
    place = Path(path)
    chosen = columns or {}
    check_fields(chosen)
    try:
        if place.is_dir():
            return [file._replace(named=file.path == place) for file in sorted(_folder(place, chosen))]
        if place.exists() and not place.is_file():
            raise SourceError(place.as_posix(), NO_FILE)
        return list(_file(place))
    except OSError as error:
        reason = f"cannot be opened ({error.strerror}); check the path and its permissions"
        raise SourceError(place.as_posix(), reason) from error


def _folder(top: Path, chosen: Mapping[str, str]) -> Iterator[ArchiveFile]:
    seen = set()
    for root, folders, names in os.walk(top, followlinks=True):
        folder = Path(root)
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        if "_delta_log" in folders:
            # Its files are only what the table's log says they are.
            folders.clear()
            yield ArchiveFile(folder, ArchiveKind.DELTA)
            continue
        folders[:] = [name for name in folders if not _hidden(name)]
        for name in names:
            yield from _in_folder(folder / name, chosen)


def _hidden(name: str) -> bool:
    """Spark's rule for what is not data (_SUCCESS, _temporary, .part-0.crc), but for the topic's own name."""
    return name.startswith(("_", ".")) and not name.startswith(OFFSETS_TOPIC)


def _in_folder(path: Path, chosen: Mapping[str, str]) -> Iterator[ArchiveFile]:
    """A file of a folder, if its name is one of an archive's: not every file is opened to see what it is."""
    if _hidden(path.name) or not (path.is_file() or path.is_symlink()):
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
        yield ArchiveFile(path, ArchiveKind.PARQUET, named=True)
        return
    try:
        has_rows = bool(names_of(first_rows(path)))
    except SourceError:
        if segment_name(path.name) or tar_name(path.name):
            return
        raise
    if has_rows:
        yield ArchiveFile(path, ArchiveKind.JSON_LINES, named=True)


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC

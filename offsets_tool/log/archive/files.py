"""Finds the files of an archive, by content: what is JSON lines, Parquet or Delta, and what is none of them.

Knows nothing about columns or rows.
"""

import os
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.errors import SourceError
from offsets_tool.log.archive.lines import line_names
from offsets_tool.log.names import OFFSETS_TOPIC

_JSON_NAME: Final = re.compile(rf".*\.(?:json|jsonl|ndjson)(?:\.(?:gz|zst))?|{OFFSETS_TOPIC}[-+]\d+[-+]\d+.*")
_PARQUET_MAGIC: Final = b"PAR1"


class ArchiveKind(StrEnum):
    """How an archive keeps its rows."""

    JSON_LINES = "json lines"
    PARQUET = "parquet"
    DELTA = "delta"


class ArchiveFile(NamedTuple):
    """One file of an archive, or a whole Delta table."""

    path: Path
    kind: ArchiveKind


def archive_files(path: str | Path) -> list[ArchiveFile]:
    """What there is to read at a path: the file itself, or the files and Delta tables of a folder and the folders in it.

    What is no archive (log segments, markers, checksums) is not among them. Raises SourceError when nothing is there.
    """
    place = Path(path)
    try:
        return sorted(_folder(place)) if place.is_dir() else list(_file(place))
    except OSError as error:
        reason = f"cannot be opened ({error.strerror}); check the path and its permissions"
        raise SourceError(place.as_posix(), reason) from error


def is_archive(path: str | Path) -> bool:
    """Whether there is anything for `read_archive` at a path. Raises SourceError when nothing is there."""
    return bool(archive_files(path))


def _folder(top: Path) -> Iterator[ArchiveFile]:
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
            yield from _named(folder / name)


def _hidden(name: str) -> bool:
    """Spark's rule for what is not data (_SUCCESS, _temporary, .part-0.crc), but for the topic's own name."""
    return name.startswith(("_", ".")) and not name.startswith(OFFSETS_TOPIC)


def _named(path: Path) -> Iterator[ArchiveFile]:
    """A file of a folder, if its name is one of an archive's: not every file is opened to see what it is."""
    if _hidden(path.name):
        return
    if path.suffix == ".parquet":
        # Even without Parquet's magic: a file that is cut off must be reported, not passed over.
        yield ArchiveFile(path, ArchiveKind.PARQUET)
    elif _JSON_NAME.fullmatch(path.name):
        yield from _file(path)


def _file(path: Path) -> Iterator[ArchiveFile]:
    with path.open("rb") as file:
        magic = file.read(len(_PARQUET_MAGIC))
    if magic == _PARQUET_MAGIC:
        yield ArchiveFile(path, ArchiveKind.PARQUET)
    elif line_names(path):
        yield ArchiveFile(path, ArchiveKind.JSON_LINES)

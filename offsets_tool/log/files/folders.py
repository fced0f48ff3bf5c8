"""Looks at paths and into folders, on disk or in storage, in a fixed order, each real folder once.

What cannot be looked at is an entry too. Deep folders and links that fan out end like any others. Knows nothing about what
names mean.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from offsets_tool.errors import SourceError
from offsets_tool.log.files.open_file import why
from offsets_tool.log.storage import StoredEntry, StoredPath, as_path, stored_in


class PathKind(Enum):
    """The kind of thing that a path leads to, links followed."""

    FILE = "a file"
    FOLDER = "a folder"
    OTHER = "neither a file nor a folder"
    """A pipe, a device, a socket."""
    NOWHERE = "a link that leads nowhere, or to itself"
    MISSING = "missing"
    CLOSED = "closed"
    """It cannot be told, or not be listed; `problem` says why."""


class Entry(NamedTuple):
    """A path and the kind of thing that it leads to, with a `problem` if the kind is not known, or no such path can be."""

    path: Path
    kind: PathKind
    problem: str = ""


def look_at(path: str | Path) -> Entry:
    """Return the entry for a path: the kind of thing that it leads to, or the `problem` that hides it."""
    there = as_path(path)
    try:
        return Entry(there, _kind(there.stat().st_mode))
    except FileNotFoundError:
        return Entry(there, PathKind.NOWHERE if there.is_symlink() else PathKind.MISSING)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ELOOP:
            return Entry(there, PathKind.NOWHERE)
        if isinstance(error, NotADirectoryError):
            return Entry(there, PathKind.MISSING)
        closed = _closed(there, error)
        is_too_long = isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG
        return closed._replace(kind=PathKind.MISSING) if is_too_long else closed


def is_file(path: str | Path) -> bool:
    """Return whether a path leads to a file; SourceError where its kind cannot be found out."""
    entry = look_at(path)
    if entry.kind is PathKind.CLOSED:
        raise SourceError(entry.path.as_posix(), entry.problem)
    return entry.kind is PathKind.FILE


def size_of(path: Path) -> int:
    """Return how many bytes a file has; 0 for what is no file or cannot be looked at."""
    return as_path(path).stat().st_size if look_at(path).kind is PathKind.FILE else 0


def listing(folder: Path) -> list[Entry]:
    """Return the entries of a folder in the order of their names. SourceError if it cannot be listed."""
    if isinstance(folder, StoredPath):
        return [_of_storage(stored) for stored in stored_in(folder)]
    try:
        with os.scandir(folder) as entries:
            return [
                _entry(folder / entry.name, entry) for entry in sorted(entries, key=lambda entry: entry.name)
            ]
    except OSError as error:
        reason = f"cannot be listed ({why(error)}); check its permissions"
        raise SourceError(folder.as_posix(), reason) from error


def walk(top: Path, enters: Callable[[Entry], bool]) -> Iterator[Entry]:
    """Yield every entry below a folder, depth first; folders are entered where `enters` says so. SourceError if `top` cannot be
    listed.

    A folder that is met again, by another name, is not entered again. One that cannot be listed is yielded again, as CLOSED.
    """
    seen = {_identity(top)}
    waiting = listing(top)[::-1]
    while waiting:
        entry = waiting.pop()
        yield entry
        if entry.kind is not PathKind.FOLDER or not enters(entry):
            continue
        try:
            identity = _identity(entry.path)
            if identity not in seen:
                seen.add(identity)
                waiting += listing(entry.path)[::-1]
        except SourceError as error:
            yield Entry(entry.path, PathKind.CLOSED, error.reason)


def _identity(folder: Path) -> tuple[int, int] | Path:
    if isinstance(folder, StoredPath):
        return folder
    try:
        found = folder.stat()
    except OSError as error:
        raise SourceError(
            folder.as_posix(), f"cannot be listed ({why(error)}); check its permissions"
        ) from error
    return found.st_dev, found.st_ino


def _entry(path: Path, entry: os.DirEntry[str]) -> Entry:
    """Return the entry at a path. The path is looked at only if the folder does not tell its kind: it may be slow or forbidden."""
    if entry.is_file(follow_symlinks=False):
        return Entry(path, PathKind.FILE)
    if entry.is_dir(follow_symlinks=False):
        return Entry(path, PathKind.FOLDER)
    return look_at(path)


def _of_storage(stored: StoredEntry) -> Entry:
    if stored.problem:
        return Entry(stored.path, PathKind.CLOSED, stored.problem)
    return Entry(stored.path, PathKind.FOLDER if stored.is_folder else PathKind.FILE)


def _kind(mode: int) -> PathKind:
    if stat.S_ISDIR(mode):
        return PathKind.FOLDER
    return PathKind.FILE if stat.S_ISREG(mode) else PathKind.OTHER


def _closed(path: Path, error: Exception) -> Entry:
    return Entry(
        path, PathKind.CLOSED, f"cannot be opened ({why(error)}); check the path and its permissions"
    )

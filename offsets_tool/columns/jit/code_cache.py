"""Keeps files of machine code in a folder that only this user, or root, can change: who can write there decides what runs here.

A folder is opened from the root on, after its links were resolved: no other user may replace any folder on the way. A file's
owner and mode are those of the descriptor that it is read by, and a file is made under a name that does not exist yet. Where code
cannot be kept, or may not be loaded, `why_not_cached` says why. Knows nothing about what is in a file.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe in a file's place would be waited for.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_NOT_KEPT: Final = "machine code is compiled in each run and not kept; let NUMBA_CACHE_DIR name a folder that only you may write"
_NOT_LOADED: Final = "its machine code was not loaded, but compiled anew; nobody else should write there"


class NotTrustedError(Exception):
    """A folder or file that another user may change or has made; the message says which, and who."""


_refused: Final[list[str]] = []


def why_not_cached() -> str | None:
    """Return why machine code was not loaded or kept so far, as one sentence with a remedy; None if all was."""
    return _refused[0] if _refused else None


def read_cached(name: str) -> bytes | None:
    """Return the content of a kept file; None if there is none, or others may have written it."""
    try:
        folder, place = _kept_folder()
    except NotTrustedError as error:
        _refuse(f"{error}: {_NOT_KEPT}")
        return None
    try:
        with _opened(name, _FILE, folder) as file:
            _check_file(file, place / name)
            with open(file, "rb", closefd=False) as content:
                return content.read()
    except FileNotFoundError:
        return None
    except (NotTrustedError, OSError) as error:
        said = f"{place / name}: {error.strerror}" if isinstance(error, OSError) else str(error)
        _refuse(f"{said}: {_NOT_LOADED}")
        return None


def store(name: str, content: bytes) -> None:
    """Keep a file whole or not at all; where this fails (a full disk, a folder of others), `why_not_cached` says why."""
    try:
        folder, place = _kept_folder()
    except NotTrustedError as error:
        _refuse(f"{error}: {_NOT_KEPT}")
        return
    staged = f".{name}.{secrets.token_hex(8)}"
    try:
        with _opened(staged, _NEW, folder) as file, open(file, "wb", closefd=False) as written:
            written.write(content)
        os.rename(staged, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        _refuse(f"{place} cannot be written ({error.strerror}): {_NOT_KEPT}")
        with suppress(OSError):
            os.unlink(staged, dir_fd=folder)


def _refuse(sentence: str) -> None:
    if sentence not in _refused:
        _refused.append(sentence)


@cache
def _kept_folder() -> tuple[int, Path]:
    """Return a descriptor and the path of the first folder that can be trusted; it stays open until the process ends.

    Candidates are NUMBA_CACHE_DIR alone if it is set, else a folder beside this module, among the user's caches, or in the folder
    of Spark's executor. NotTrustedError for the last one, if none can be trusted.
    """
    reason = NotTrustedError("there is no folder of yours to keep it in")
    for folder in _folders():
        try:
            return trusted_folder(folder), folder
        except NotTrustedError as error:
            reason = error
        except OSError as error:
            reason = NotTrustedError(f"{folder} cannot be used ({error.strerror})")
    raise reason


def _folders() -> Iterator[Path]:
    if said := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(said)
        return
    yield Path(__file__).parent / "__pycache__"
    # Not everybody has a home: RuntimeError then.
    with suppress(RuntimeError):
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "offsets-tool"
    # An executor's user may have no home, but it has a folder of its own as long as it lives.
    if said := os.environ.get("SPARK_LOCAL_DIRS"):
        yield Path(said.partition(",")[0]) / "offsets-tool"


def trusted_folder(folder: Path, *, to_write: bool = True) -> int:
    """Return a descriptor of a folder, made if missing, that nobody but this user and root may change or replace.

    NotTrustedError if others may, or if this user may not and wants `to_write`; OSError where it cannot be opened or made.
    """
    real = Path(os.path.realpath(folder))
    at = os.open(real.anchor, _FOLDER)
    try:
        place = Path(real.anchor)
        for name in real.parts[1:]:
            _check_folder(at, place, is_last=False)
            at, above = _below(name, at), at
            os.close(above)
            place /= name
        _check_folder(at, place, is_last=True)
        if to_write and not os.access(".", os.W_OK | os.X_OK, dir_fd=at):
            raise NotTrustedError(f"{place} cannot be written")
    except BaseException:
        os.close(at)
        raise
    return at


def _below(name: str, folder: int) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=folder)
        return os.open(name, _FOLDER, dir_fd=folder)


def _check_folder(at: int, place: Path, *, is_last: bool) -> None:
    """Raise NotTrustedError if others may move our folders away or, in the last one, make files.

    Above the last one a sticky folder such as /tmp will do.
    """
    found = os.fstat(at)
    _check_owner(found, place)
    if found.st_mode & _OTHERS_WRITE and (is_last or not found.st_mode & stat.S_ISVTX):
        raise NotTrustedError(f"{place} may be written by others (mode {stat.S_IMODE(found.st_mode):o})")


def _check_file(file: int, place: Path) -> None:
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        raise NotTrustedError(f"{place} is not a file")
    _check_owner(found, place)
    if found.st_mode & _OTHERS_WRITE:
        raise NotTrustedError(f"{place} may be written by others (mode {stat.S_IMODE(found.st_mode):o})")
    if found.st_nlink != 1:
        raise NotTrustedError(f"{place} has {found.st_nlink} names (hard links)")


def _check_owner(found: os.stat_result, place: Path) -> None:
    if found.st_uid not in (0, os.geteuid()):
        raise NotTrustedError(f"{place} belongs to another user ({found.st_uid})")


@contextmanager
def _opened(name: str, flags: int, folder: int) -> Iterator[int]:
    file = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        yield file
    finally:
        os.close(file)

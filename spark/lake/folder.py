"""A lake as a folder that a job works on: check that it is complete, and lock it, so that one job at a time writes."""

import errno
import fcntl
import json
import os
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.errors import LakeInUse, SetupError, SourceError, UsageError
from offsets_tool.lake.tables import ALL_TABLES, TABLES
from offsets_tool.lake.whole import check_whole, is_table, no_lake
from offsets_tool.log.archive.delta_log import DELTA_LOG
from offsets_tool.log.archive.delta_mirror import files_in, logs_listed_once
from offsets_tool.log.files.folders import size_of
from offsets_tool.log.storage import StoredPath, as_path, is_stored
from offsets_tool.log.stored_bytes import open_binary
from spark.lake.commit import Lake
from spark.lake.lease import leased, unleased, written_meanwhile

FORGETTING: Final = "_forgetting.json"
"""The file of a lake in which something is being forgotten: what was asked for."""
RETAINING: Final = "_retaining.json"
"""The file of a lake of whose log partitions records are being taken out: these partitions."""
CAPTURED: Final = "_captured"
"""The folder of a lake that keeps what streams have captured of live topics."""
LOCK: Final = ".ingest.lock"
"""The file of a lake that jobs lock."""
_SMALL: Final = 64 << 20
_PAUSES: Final = (0.5, 5.0)
"""Seconds after which a lake that is in use is asked for again: on disk, and in storage, where each time takes some requests."""


class _Patience(NamedTuple):
    """How many seconds to wait for a lake that is in use, and whom to tell, once, that it is waited for."""

    seconds: float
    report: Callable[[str], None]


_PATIENCE: Final[ContextVar[_Patience | None]] = ContextVar("patience", default=None)


def root_of(lake: str | Path) -> Path:
    """Return a lake's folder, on disk or in storage; SourceError for a URI without a bucket, UsageError for a name no lake has."""
    root = as_path(lake).absolute()
    if isinstance(root, StoredPath) and any(mark in str(root) for mark in "%#"):
        raise UsageError(
            f"{root}: a lake in storage cannot have % or # in its name, which Delta's clients read otherwise; choose another"
        )
    return root


@contextmanager
def opened(lake: "str | Path | Lake", forgetting: str | None = None) -> Iterator[Lake]:
    """Open a lake and lock it, so that one job at a time works on it; the lock ends with its process (in storage: soon after).

    A lake that is open already is yielded as it is: several jobs are then one to all others.

    SetupError if nothing can be written, SourceError for a lake that has lost a table. LakeInUse while somebody else writes, at
    once or when the time of `waiting` is over.
    UsageError where something else than `forgetting`, as FORGETTING has it, was forgotten in part: only that can go on.
    """
    if isinstance(lake, Lake):
        yield lake
        return
    root = root_of(lake)
    with _waited_for(root), logs_listed_once(root, is_at_rest=True):
        check_whole(root)
        _refuse_half_forgotten(root, forgetting)
        yield Lake(root)


@contextmanager
def opened_whole(lake: "str | Path | Lake", forgetting: str | None = None) -> Iterator[Lake]:
    """Open a lake as `opened` does, with its tables; UsageError for a folder that is no lake, and for one of another layout."""
    if not isinstance(lake, Lake) and not any(is_table(root_of(lake), table) for table in TABLES):
        raise no_lake(root_of(lake), TABLES[0])
    with opened(lake, forgetting) as whole:
        whole.require(*ALL_TABLES)
        yield whole


@contextmanager
def waiting(seconds: float, report: Callable[[str], None]) -> Iterator[None]:
    """Let `locked` wait within the block so long for a lake that is in use; `report` is given a sentence when it begins to wait."""
    token = _PATIENCE.set(_Patience(seconds, report))
    try:
        yield
    finally:
        _PATIENCE.reset(token)


@contextmanager
def _waited_for(root: Path) -> Iterator[None]:
    """Lock a lake, once or until the patience of the block has ended; LakeInUse if somebody else writes to it even then."""
    patience = _PATIENCE.get()
    until = time.monotonic() + (patience.seconds if patience else 0)
    with ExitStack() as stack:
        is_told = False
        while not _is_entered(stack, root, is_last=time.monotonic() >= until):
            if patience and not is_told:
                patience.report(f"{root} is in use by another job: waiting for it")
                is_told = True
            time.sleep(max(0, min(_PAUSES[isinstance(root, StoredPath)], until - time.monotonic())))
        yield


def _is_entered(stack: ExitStack, root: Path, *, is_last: bool) -> bool:
    """Lock a lake until a stack ends; return False where another job has it, and LakeInUse if this is the last attempt."""
    try:
        stack.enter_context(leased(root) if isinstance(root, StoredPath) else _file_locked(root))
    except LakeInUse:
        if is_last:
            raise
        return False
    return True


@contextmanager
def _file_locked(root: Path) -> Iterator[None]:
    try:
        root.mkdir(parents=True, exist_ok=True)
        path = root / LOCK
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, f"{LOCK} is not a file")
        opened = path.open("w")
    except OSError as error:
        why = "it is not a folder" if root.exists() and not root.is_dir() else error.strerror
        raise SetupError(
            f"{root} cannot be written ({why}): name another --lake, or let it be writable"
        ) from error
    with opened as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LakeInUse(f"another job is writing to {root}: wait until it is done") from None
        yield


@contextmanager
def unwritten(root: Path) -> Iterator[None]:
    """Look at a lake that nobody writes to; LakeInUse while a job is writing, and at the end if one has written meanwhile.

    Nothing is locked, on disk or in storage: who looks has no right to keep jobs from their work.
    """
    if isinstance(root, StoredPath):
        with unleased(root), logs_listed_once(root, is_at_rest=True):
            yield
        return
    _refuse_if_locked(root)
    before = _newest_commits(root)
    try:
        yield
    except OSError as error:
        # A job may have removed what was being looked at.
        if _newest_commits(root) != before:
            raise written_meanwhile(root) from error
        raise
    _refuse_if_locked(root)
    if _newest_commits(root) != before:
        raise written_meanwhile(root)


def _refuse_if_locked(root: Path) -> None:
    """Raise LakeInUse while a job has locked a lake on disk. Nothing stays locked: a job that begins now is not refused."""
    path = root / LOCK
    try:
        if not path.is_file():
            return
        with path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LakeInUse(f"a job is writing to {root}: wait until it is done") from None
    except OSError:
        # Nobody can write there who cannot open it.
        return


def _newest_commits(root: Path) -> list[str]:
    """Return the name of the newest commit of each table of a lake on disk, with its folder."""
    logs = (root / table.name / DELTA_LOG for table in ALL_TABLES)
    return [max(map(str, log.glob("*.json")), default="") for log in logs]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file and the folder that it is in; OSError on disk, errors of storage as `refusals_of` has them."""
    if isinstance(path, StoredPath):
        path.write_bytes(content)
        return
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_name(f"{path.name}.tmp")
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)


def mark(marker: Path, text: str) -> None:
    """Write the text of a marker file, so that the file is complete or does not exist."""
    write_whole(marker, text.encode())


def interrupted(root: Path) -> str | None:
    """Return a sentence on a removal of rows that was interrupted, and the command that finishes it; None if none was."""
    marker = root / FORGETTING
    if marker not in files_in(root):
        return None
    try:
        with open_binary(marker) as file:
            asked = json.load(file)
        cluster = shlex.quote(asked["cluster"])
        source = "" if asked["source"] is None else f" --source {shlex.quote(asked['source'])}"
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise SourceError(
            marker.as_posix(),
            "is not what an interrupted offsets-spark forget leaves; put it back from a backup",
        ) from error
    return (
        "offsets-spark forget was interrupted, and the lake is as it left it: run offsets-spark forget "
        f"--lake {shlex.quote(str(root))} --cluster {cluster}{source} again"
    )


def _refuse_half_forgotten(root: Path, forgetting: str | None) -> None:
    said = interrupted(root)
    if said and (root / FORGETTING).read_text(encoding="utf-8") != forgetting:
        raise UsageError(said)


def uri_of(path: str | Path) -> str:
    """Return a path on disk as a URI for Spark, which takes a path without a scheme for one in the cluster's file system."""
    return f"file://{path}"


def is_small(lake: str) -> bool:
    """Return whether a lake is in a folder of this machine and has less than 64 MB."""
    if is_stored(lake):
        return False
    sizes = accumulate(map(size_of, as_path(lake).rglob("*.parquet")))
    return all(size < _SMALL for size in sizes)

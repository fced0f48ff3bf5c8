"""The logs of Delta tables that deltalake does not reach: it is given a copy on disk, which this module keeps up to date.

That is so on Hadoop's file systems but HDFS. A copy is this process's own. What deltalake commits to it counts once the table's own
log has it, under a name that nobody had taken: as Delta's log store for HDFS does it. Of a long log the copy has the newest
checkpoint and what came since, unless its history is asked for. Data are read and written where they are. Knows only the names of
the log's files.
"""

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Final, NamedTuple
from uuid import uuid4

from offsets_tool.errors import OffsetsToolError, SetupError
from offsets_tool.log.archive.delta_log import (
    DELTA_LOG,
    LAST_CHECKPOINT,
    is_commit,
    is_of_log,
    since_checkpoint,
)
from offsets_tool.log.buckets import bucket_of
from offsets_tool.log.refusals import refusals_of
from offsets_tool.log.storage import StoredPath, as_path, is_of_hadoop

_BEFORE: Final = 64
"""So many commits before the newest checkpoint are copied too: what runs have left to commit is looked for there."""
_ATTEMPTS: Final = 5
"""How often a log is listed again of which a file went away before it was copied."""
_AT_ONCE: Final = 8
"""Files that are copied at a time."""
_STAGED: Final = ".new"


@contextmanager
def within_reach(table: str | Path, *, with_history: bool = False) -> Iterator[str]:
    """Yield where deltalake finds a table as it is now: where it is, or at a copy of its log, which nobody changes meanwhile.

    SetupError where the copy has no room; other errors as `refusals_of` raises them.
    """
    copy = _copy_of(table)
    if copy is None:
        yield str(table)
        return
    with copy.lock:
        copy.bring_up_to_date(with_history=with_history)
        yield str(copy.folder)


@contextmanager
def committing(table: str | Path) -> Iterator[str]:
    """Inside of a `with` block, let deltalake change a table, at what it was opened at, or create one at what is yielded.

    CommitFailedError where another writer has committed the same version meanwhile: then that commit does not count, and the table
    must be opened anew.
    """
    copy = _copy_of(table)
    if copy is None:
        yield str(table)
        return
    with copy.lock, copy.published():
        yield str(copy.folder)


@contextmanager
def data_files_known(table: Path) -> Iterator[None]:
    """Inside of a `with` block, let deltalake find the table's data files where it looks: by name and time, and empty."""
    copy = _copy_of(table)
    with copy.stand_ins() if copy else nullcontext():
        yield


class _Facts(NamedTuple):
    """What says that a file is still the same."""

    size: int
    changed_ns: int


_Names = dict[str, _Facts]
"""Files of a log, by name."""


class _Copy:
    """The copy of a table's log."""

    def __init__(self, table: StoredPath) -> None:
        self._table, self._own = table, table / DELTA_LOG
        self.folder: Final = _folder() / hashlib.sha256(str(table).encode()).hexdigest()
        self._log = self.folder / DELTA_LOG
        self.lock: Final = RLock()
        self._seen: _Names = {}
        """The files of the table's own log that the copy has."""

    def bring_up_to_date(self, *, with_history: bool) -> None:
        for attempt in range(_ATTEMPTS):
            found = self._listed()
            wanted = (
                found if with_history else {name: found[name] for name in since_checkpoint(found, _BEFORE)}
            )
            try:
                self._fetch(wanted)
                break
            except FileNotFoundError as error:
                # Whoever removed it has made a checkpoint of it before, which that listing may not have.
                if attempt == _ATTEMPTS - 1:
                    said = "its log is cleaned while it is read; run the same command again"
                    raise SetupError(f"{self._table}: {said}") from error
        self._forget(self._files().keys() - found.keys())
        # It may name a checkpoint that is gone; without it the newest is looked for.
        (self._log / LAST_CHECKPOINT).unlink(missing_ok=True)

    def _listed(self) -> _Names:
        below = bucket_of(self._own).below(self._own, is_deep=False)
        files = {Path(each.path).name: each for each in below if each.type.name == "File"}
        return {name: _Facts(file.size, file.mtime_ns) for name, file in files.items() if is_of_log(name)}

    def _fetch(self, wanted: _Names) -> None:
        there = self._files()
        missing = [
            name for name, facts in wanted.items() if name not in there or self._seen.get(name) != facts
        ]
        if not missing:
            return
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            for name, data in zip(missing, threads.map(self._read, missing), strict=True):
                self._put(name, data, wanted[name])

    def _read(self, name: str) -> bytes:
        return (self._own / name).read_bytes()

    def _put(self, name: str, data: bytes, facts: _Facts) -> None:
        staged = self.folder.with_suffix(".staged")
        try:
            self._log.mkdir(parents=True, exist_ok=True)
            staged.write_bytes(data)
            # Logs are cleaned by the times of their files.
            os.utime(staged, ns=(facts.changed_ns, facts.changed_ns))
            staged.replace(self._log / name)
        except OSError as error:
            raise SetupError(
                f"{_folder()} has no room for a copy of the log of {self._table} ({error.strerror}): make room, or set TMPDIR"
            ) from error
        self._seen[name] = facts

    def _files(self) -> _Names:
        """Return the files of the copy, the pointer to the last checkpoint among them."""
        try:
            with os.scandir(self._log) as entries:
                found = [(entry.name, entry.stat()) for entry in entries if entry.is_file()]
        except FileNotFoundError:
            return {}
        return {name: _Facts(facts.st_size, facts.st_mtime_ns) for name, facts in found}

    def _forget(self, names: Iterable[str]) -> None:
        """Remove files from the copy; those that the table's own log has are brought again."""
        for name in names:
            (self._log / name).unlink(missing_ok=True)
            self._seen.pop(name, None)

    @contextmanager
    def published(self) -> Iterator[None]:
        """Put what is changed in the copy inside of a `with` block into the table's own log."""
        before = self._files()
        try:
            yield
            self._publish(before)
        except BaseException:
            after = self._files()
            self._forget([*_changed(before, after), *(before.keys() - after.keys())])
            raise

    def _publish(self, before: _Names) -> None:
        after = self._files()
        for name in _changed(before, after):
            data = (self._log / name).read_bytes()
            if not is_commit(name):
                (self._own / name).write_bytes(data)
            elif not _put_new(self._own / name, data):
                raise _conflict(f"another writer committed {name} to {self._table} meanwhile")
        for name in before.keys() - after.keys():
            (self._own / name).unlink(missing_ok=True)

    @contextmanager
    def stand_ins(self) -> Iterator[None]:
        """Inside of a `with` block, have an empty file of the same name and time for each file of data."""
        with self.lock:
            self.bring_up_to_date(with_history=False)
            self.folder.mkdir(exist_ok=True)
            for each in bucket_of(self._table).below(self._table, is_deep=False):
                if each.type.name == "File":
                    stand_in = self.folder / Path(each.path).name
                    stand_in.touch()
                    os.utime(stand_in, ns=(each.mtime_ns, each.mtime_ns))
            try:
                yield
            finally:
                for path in self.folder.iterdir():
                    if path.is_file():
                        path.unlink()


def _copy_of(table: str | Path) -> _Copy | None:
    """Return the copy of a table's log; None of a table that deltalake reaches."""
    there = as_path(table)
    if not isinstance(there, StoredPath) or not is_of_hadoop(there):
        return None
    with _COPIES:
        return _copy(there)


_COPIES: Final = RLock()


@cache
def _copy(table: StoredPath) -> _Copy:
    return _Copy(table)


@cache
def _folder() -> Path:
    folder = tempfile.mkdtemp(prefix="offsets-tool-delta-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _changed(before: _Names, after: _Names) -> list[str]:
    """Return the files that are new or others, commits first, the pointer to the last checkpoint last."""
    changed = [name for name, facts in after.items() if before.get(name) != facts]
    return sorted(changed, key=lambda name: (not is_commit(name), name == LAST_CHECKPOINT, name))


def _conflict(said: str) -> Exception:
    from deltalake.exceptions import CommitFailedError  # noqa: PLC0415 - of an extra, and heavy

    return CommitFailedError(said)


def _put_new(path: Path, data: bytes) -> bool:
    """Write a file whole under a name that nobody has; return False, and do nothing, where somebody has it."""
    staged = path.with_name(f"{path.name}.{uuid4()}{_STAGED}")
    staged.write_bytes(data)
    bucket = bucket_of(path)
    try:
        with refusals_of(path):
            bucket.system.move(bucket.name(staged), bucket.name(path))
    except (OSError, OffsetsToolError):
        there = _content(path)
        if there == data:
            # It was done, and only the answer was lost.
            return True
        with suppress(OSError, OffsetsToolError):
            staged.unlink(missing_ok=True)
        if there is None:
            raise
        return False
    return True


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None

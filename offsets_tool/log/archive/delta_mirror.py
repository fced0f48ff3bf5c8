"""The logs of Delta tables that deltalake does not reach: it is given a mirror on disk, which this module keeps up to date.

That is so on Hadoop's file systems but HDFS. A mirror is this process's own. What deltalake commits to it counts once the table's
own log has it, under a name that nobody had taken: as Delta's log store for HDFS does it. Of a long log the mirror has the newest
checkpoint and what came since, unless its history is asked for. Data are read and written where they are. Knows only the names of
the log's files.
"""

import atexit
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Final, NamedTuple

from offsets_tool.errors import OffsetsToolError, SetupError, SourceError
from offsets_tool.log.archive.delta_log import (
    DELTA_LOG,
    LAST_CHECKPOINT,
    is_commit,
    is_of_log,
    since_checkpoint,
)
from offsets_tool.log.archive.new_files import put_new
from offsets_tool.log.buckets import bucket_of
from offsets_tool.log.storage import StoredPath, as_path, is_of_hadoop

_BEFORE: Final = 64
"""So many commits before the newest checkpoint are mirrored too: what runs have left to commit is looked for there."""
_ATTEMPTS: Final = 5
"""How often a log is listed again of which a file went away before it was read."""
_AT_ONCE: Final = 16
"""Files that are read at a time."""
_PAUSE: Final = 0.2
"""Seconds."""
_SIDECARS: Final = "_sidecars"
_FULL: Final = re.compile(r"No space left|os error (?:28|122)\b|quota", re.IGNORECASE)
"""What deltalake says of a disk that is full."""


@contextmanager
def within_reach(table: str | Path, *, with_history: bool = False) -> Iterator[str]:
    """Yield where deltalake finds a table as it is now: where it is, or at a mirror of its log, which nobody changes meanwhile.

    SetupError where the mirror has no room; other errors as `refusals_of` raises them.
    """
    mirror = _mirror_of(table)
    if mirror is None:
        yield str(table)
        return
    with mirror.lock:
        mirror.bring_up_to_date(with_history=with_history)
        yield str(mirror.folder)


@contextmanager
def committing(table: str | Path) -> Iterator[str]:
    """Inside of a `with` block, let deltalake change a table, at what it was opened at, or create one at what is yielded.

    CommitFailedError where another writer has committed the same version meanwhile: then that commit does not count, and the table
    must be opened anew.
    """
    mirror = _mirror_of(table)
    if mirror is None:
        yield str(table)
        return
    with mirror.lock, mirror.published():
        yield str(mirror.folder)


@contextmanager
def data_files_known(table: Path) -> Iterator[None]:
    """Inside of a `with` block, let deltalake find the table's data files where it looks: by name and time, and empty."""
    mirror = _mirror_of(table)
    with mirror.stand_ins() if mirror else nullcontext():
        yield


class _Facts(NamedTuple):
    """What says that a file is still the same."""

    size: int
    changed_ns: int


_Names = dict[str, _Facts]
"""Files of a log, by name."""


class _Mirror:
    """The mirror of a table's log."""

    def __init__(self, table: StoredPath) -> None:
        self._table, self._own = table, table / DELTA_LOG
        self.folder: Final = _folder() / hashlib.sha256(str(table).encode()).hexdigest()
        self._log = self.folder / DELTA_LOG
        self.lock: Final = RLock()
        self._seen: _Names = {}
        """The files of the table's own log that the mirror has."""

    def bring_up_to_date(self, *, with_history: bool) -> None:
        for attempt in range(_ATTEMPTS):
            found = self._listed()
            try:
                self._fetch(found if with_history else {name: found[name] for name in self._needed(found)})
                break
            except FileNotFoundError as error:
                # Whoever removed it has made a checkpoint of it before, which that listing may not have.
                if attempt == _ATTEMPTS - 1:
                    said = "its log is cleaned while it is read; run the same command again"
                    raise SetupError(f"{self._table}: {said}") from error
                time.sleep(_PAUSE)
        self._forget(self._files().keys() - found.keys())
        # It may name a checkpoint that is gone; without it the newest is looked for.
        (self._log / LAST_CHECKPOINT).unlink(missing_ok=True)

    def _needed(self, found: _Names) -> list[str]:
        """Return what opens a table, and goes on from where tables are that were opened before: a gap is an error to deltalake."""
        there = max(filter(is_commit, self._files()), default=None)
        return since_checkpoint({name: facts.size for name, facts in found.items()}, _BEFORE, there)

    def _listed(self) -> _Names:
        below = bucket_of(self._own).below(self._own, is_deep=False)
        if any(each.path.endswith(f"/{_SIDECARS}") for each in below):
            raise SourceError(
                str(self._table),
                "has checkpoints of Delta's kind V2, which are not read there; copy it to disk",
            )
        files = {Path(each.path).name: each for each in below if each.type.name == "File"}
        return {name: _Facts(file.size, file.mtime_ns) for name, file in files.items() if is_of_log(name)}

    def _fetch(self, wanted: _Names) -> None:
        there = self._files()
        missing = [
            name for name, facts in wanted.items() if name not in there or self._seen.get(name) != facts
        ]
        for begin in range(0, len(missing), _AT_ONCE):
            some = missing[begin : begin + _AT_ONCE]
            each = map(self._read, some) if len(some) == 1 else _threads().map(self._read, some)
            for name, data in zip(some, each, strict=True):
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
            raise self._no_room(str(error.strerror)) from error
        self._seen[name] = facts

    def _no_room(self, why: str) -> SetupError:
        said = f"{_folder()} has no room for a mirror of the log of {self._table} ({why})"
        return SetupError(f"{said}: make room, or set TMPDIR")

    def _files(self) -> _Names:
        """Return the files of the mirror, the pointer to the last checkpoint among them."""
        try:
            with os.scandir(self._log) as entries:
                found = [(entry.name, entry.stat()) for entry in entries if entry.is_file()]
        except FileNotFoundError:
            return {}
        return {name: _Facts(facts.st_size, facts.st_mtime_ns) for name, facts in found}

    def _forget(self, names: Iterable[str]) -> None:
        """Remove files from the mirror; those that the table's own log has are brought again."""
        for name in names:
            (self._log / name).unlink(missing_ok=True)
            self._seen.pop(name, None)

    @contextmanager
    def published(self) -> Iterator[None]:
        """Put what is changed in the mirror inside of a `with` block into the table's own log."""
        before = self._files()
        try:
            try:
                yield
            except OSError as error:
                if _FULL.search(str(error)):
                    raise self._no_room("No space left on device") from error
                raise
            self._publish(before)
        except BaseException:
            self._forget(_differing(before, self._files()))
            raise

    def _publish(self, before: _Names) -> None:
        after = self._files()
        changed = _differing(before, after)
        commits = sorted(name for name in changed if is_commit(name) and name in after)
        for name in commits:
            if not put_new(self._own / name, (self._log / name).read_bytes()):
                raise _conflict(f"another writer committed {name} to {self._table} meanwhile")
        try:
            self._publish_others(sorted(changed.difference(commits), key=LAST_CHECKPOINT.__eq__), after)
        except (OSError, OffsetsToolError):
            # A commit counts, whatever becomes of its checkpoint.
            if not commits:
                raise
            self._forget(changed.difference(commits))

    def _publish_others(self, names: Iterable[str], after: _Names) -> None:
        for name in names:
            if name in after:
                (self._own / name).write_bytes((self._log / name).read_bytes())
            else:
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


def _mirror_of(table: str | Path) -> _Mirror | None:
    """Return the mirror of a table's log; None of a table that deltalake reaches."""
    there = as_path(table)
    if not isinstance(there, StoredPath) or not is_of_hadoop(there):
        return None
    with _MIRRORS:
        return _mirror(there)


_MIRRORS: Final = RLock()


@cache
def _mirror(table: StoredPath) -> _Mirror:
    return _Mirror(table)


@cache
def _folder() -> Path:
    folder = tempfile.mkdtemp(prefix="offsets-tool-delta-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def _threads() -> ThreadPoolExecutor:
    """Return the threads that read logs: the same ones all the time, because a JVM keeps what it knows of each."""
    return ThreadPoolExecutor(_AT_ONCE)


def _differing(before: _Names, after: _Names) -> set[str]:
    """Return the files that are new, others or gone."""
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def _conflict(said: str) -> Exception:
    from deltalake.exceptions import CommitFailedError  # noqa: PLC0415 - of an extra, and heavy

    return CommitFailedError(said)

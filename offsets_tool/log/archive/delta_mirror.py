"""The logs of Delta tables in storage: deltalake is given a mirror on disk, which this module keeps up to date.

In object storage deltalake would ask for each commit twice and for a checkpoint column by column, each time that a table is
opened, and five times for a commit; a mirror asks for each file once. Of Hadoop's file systems deltalake reaches HDFS alone. What
it commits to a mirror counts once the table's own log has it, under a name that nobody had taken, as Delta's log stores do it. A
mirror is this process's own. Of a long log it has the newest checkpoint and what came since, unless its history is asked for. Data
are read and written where they are. Knows only the names of the log's files.
"""

import atexit
import hashlib
import io
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
from pyarrow import fs

from offsets_tool.errors import OffsetsToolError, SetupError, SourceError
from offsets_tool.log.archive.delta_log import (
    DELTA_LOG,
    LAST_CHECKPOINT,
    is_commit,
    is_of_log,
    since_checkpoint,
)
from offsets_tool.log.archive.new_files import put_new
from offsets_tool.log.buckets import bucket_of, client_options
from offsets_tool.log.refusals import answer_of, refusals_of
from offsets_tool.log.storage import StoredPath, as_path, is_of_hadoop, look_for
from offsets_tool.log.stored_bytes import for_arrow

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo

_BEFORE: Final = 64
"""So many commits before the newest checkpoint are mirrored too: what runs have left to commit is looked for there."""
_FEW_BEFORE: Final = 4
"""So many in object storage, where each costs a request."""
_ATTEMPTS: Final = 5
"""How often a log is listed again of which a file went away before it was read."""
_AT_ONCE: Final = 16
"""Files that are read at a time."""
_PAUSE: Final = 0.2
"""Seconds."""
_WHOLE: Final = 1 << 20
"""Files of up to so many bytes are read whole, by one request: the parts that are needed would take three."""
_KEPT_BYTES: Final = 64 << 20
"""Bytes of such files that are kept at most."""
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
        is_mirrored = mirror.bring_up_to_date(with_history=with_history)
        yield str(mirror.folder if is_mirrored else table)


@contextmanager
def logs_listed_once(root: Path, *, is_at_rest: bool = False) -> Iterator[None]:
    """Inside of a `with` block, list the log of each table in storage below `root` once, until it is changed here.

    What another writer commits meanwhile is not seen, and a commit of ours is in conflict with it. With `is_at_rest`, because
    nobody else writes, all is listed at once: of a long listing the pages are of several moments.
    """
    with _MIRRORS:
        _ALONE[root] = _ALONE.get(root, 0) + 1
    try:
        if is_at_rest and isinstance(root, StoredPath) and not is_of_hadoop(root):
            _FILES.list_all(root)
        yield
    finally:
        with _MIRRORS:
            _ALONE[root] -= 1
            if not _ALONE[root]:
                del _ALONE[root]
                _FILES.forget(root)
        for mirror in _mirrors_below(root):
            mirror.forget_listing()


def is_listed_once(table: str | Path) -> bool:
    """Return whether the log of a table is one of those that are listed once."""
    path = as_path(table)
    return isinstance(path, StoredPath) and any(path.is_relative_to(root) for root in list(_ALONE))


def whole_file(path: Path) -> bytes | None:
    """Return the bytes of a file in object storage that nobody changes under its name, inside of `logs_listed_once`: read once.

    None for a large file, or one that is not there, elsewhere and outside; other errors as `refusals_of` raises them.
    """
    is_kept = isinstance(path, StoredPath) and not is_of_hadoop(path) and is_listed_once(path)
    return _FILES.read(path) if is_kept and isinstance(path, StoredPath) else None


def file_bytes(path: Path) -> bytes:
    """Return the bytes of a file, of one that `whole_file` reads as it does; errors as `Path.read_bytes` raises them."""
    data = whole_file(path)
    return path.read_bytes() if data is None else data


def file_size(path: Path) -> int:
    """Return the bytes of a file, of one in storage as they are known inside of `logs_listed_once`; OSError as `Path.stat`."""
    known = _FILES.sizes.get(path) if isinstance(path, StoredPath) else None
    return path.stat().st_size if known is None else known


def files_in(folder: Path) -> list[Path]:
    """Return the files of a folder; of one in storage, as all was listed by `logs_listed_once`, where that was done."""
    listed = _FILES.listed(folder) if isinstance(folder, StoredPath) else None
    if listed is None:
        return list(folder.glob("*"))
    return [folder / Path(each.path).name for each in listed if each.type.name == "File"]


def small_files(folder: Path, names: Collection[str]) -> dict[str, bytes]:
    """Return the bytes of those of a folder's files that `whole_file` reads, by name; several are asked for at a time."""
    if isinstance(folder, StoredPath) and not is_of_hadoop(folder) and is_listed_once(folder):
        _FILES.list_sizes(folder, names)
        read = _threads().map(whole_file, [folder / name for name in names])
        return {name: data for name, data in zip(names, read, strict=True) if data is not None}
    return {}


def data_for_arrow(path: Path) -> "Path | io.RawIOBase | pa.BufferReader":
    """Return what Arrow can read a data file from, as `for_arrow` does; of what `whole_file` reads, the bytes."""
    data = whole_file(path)
    return for_arrow(path) if data is None else pa.BufferReader(data)


def file_written(path: Path, size: int) -> None:
    """Tell of a file that was put whole how long it is, so that nobody has to ask."""
    if isinstance(path, StoredPath) and is_listed_once(path):
        _FILES.sizes[path] = size


def changed(table: str | Path) -> None:
    """Have a table's log listed again when it is needed next: somebody has committed to it."""
    if mirror := _mirror_of(table):
        mirror.forget_listing()


def has_commit(table: Path) -> bool:
    """Return whether a table has a commit, by the names of its log files; none of them is opened."""
    mirror = _mirror_of(table)
    if mirror is None:
        return next((table / DELTA_LOG).glob("*.json"), None) is not None
    return mirror.has_commit()


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
        self._is_reached = not is_of_hadoop(table)
        """Whether deltalake reaches the table itself."""
        self._has_history = self._is_current = False
        self._listing: list[FileInfo] | None = None
        """What the table's own log has, where it need not be listed again."""

    def bring_up_to_date(self, *, with_history: bool) -> bool:
        """Make the mirror as the table's own log; return False, and do nothing, where deltalake must read the log itself."""
        if self._is_current and (self._has_history or not with_history):
            return True
        names: _Names = {}
        for attempt in range(_ATTEMPTS):
            listed = self._listed()
            if listed is None:
                return False
            names = listed
            try:
                self._fetch(names if with_history else {name: names[name] for name in self._needed(names)})
                break
            except FileNotFoundError as error:
                # Whoever removed it has made a checkpoint of it before, which that listing may not have.
                if attempt == _ATTEMPTS - 1:
                    said = "its log is cleaned while it is read; run the same command again"
                    raise SetupError(f"{self._table}: {said}") from error
                self.forget_listing()
                time.sleep(_PAUSE)
        self._forget(self._files().keys() - names.keys())
        # It may name a checkpoint that is gone; without it the newest is looked for.
        (self._log / LAST_CHECKPOINT).unlink(missing_ok=True)
        self._has_history = with_history
        self._is_current = self._listing is not None
        return True

    def forget_listing(self) -> None:
        self._listing, self._is_current = None, False
        _FILES.forget_folder(self._own)

    def has_commit(self) -> bool:
        return any(entry.path.endswith(".json") for entry in self._entries())

    def _entries(self) -> "list[FileInfo]":
        """Return what the table's own log has; it is listed, unless that was done inside of the same block."""
        if self._listing is not None:
            return self._listing
        entries = _FILES.listed(self._own)
        if entries is None:
            entries = bucket_of(self._own).below(self._own, is_deep=False)
        self._listing = entries if self._is_reached and is_listed_once(self._table) else None
        if self._listing is not None:
            _FILES.add_sizes(self._own, entries)
        return entries

    def _needed(self, found: _Names) -> list[str]:
        """Return what opens a table, and goes on from where tables are that were opened before: a gap is an error to deltalake."""
        there = max(filter(is_commit, self._files()), default=None)
        before = _FEW_BEFORE if self._is_reached else _BEFORE
        return since_checkpoint({name: facts.size for name, facts in found.items()}, before, there)

    def _listed(self) -> _Names | None:
        """Return the files of the table's own log; None where deltalake must read it itself, as it has more than those."""
        below = self._entries()
        if any(each.path.endswith(f"/{_SIDECARS}") for each in below):
            if self._is_reached:
                return None
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
            read = self._reading(wanted)
            contents = map(read, some) if len(some) == 1 else _threads().map(read, some)
            for name, data in zip(some, contents, strict=True):
                self._put(name, data, wanted[name])

    def _reading(self, sizes: _Names) -> Callable[[str], bytes]:
        """Return what reads files of the log; deltalake's client, where it reaches them, asks once for a file of a known size."""
        if not self._is_reached:
            return lambda name: (self._own / name).read_bytes()
        from deltalake.fs import DeltaStorageHandler  # noqa: PLC0415 - of an extra, and heavy

        known_sizes = {name: facts.size for name, facts in sizes.items()}
        with refusals_of(self._table):
            handler = DeltaStorageHandler(str(self._own), delta_options(self._table), known_sizes)

        def read(name: str) -> bytes:
            kept = whole_file(self._own / name)
            if kept is not None:
                return kept
            with refusals_of(self._own / name):
                return answer_of(lambda: bytes(handler.open_input_file(name).read()))

        return read

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
            self.forget_listing()
            raise

    def _publish(self, before: _Names) -> None:
        after = self._files()
        changed = _differing(before, after)
        listing = self._listing
        if listing is None or after.keys() < before.keys():
            self.forget_listing()
        else:
            for name in changed:
                if name in after and is_of_log(name):
                    self._seen[name] = facts = after[name]
                    path = f"{self._own}/{name}"
                    listing.append(
                        fs.FileInfo(path, fs.FileType.File, size=facts.size, mtime_ns=facts.changed_ns)
                    )
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
            self.forget_listing()

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


class _Files:
    """What is known of files in object storage that nobody changes: what folders have, sizes, the bytes of small files."""

    def __init__(self) -> None:
        self.sizes: Final[dict[StoredPath, int]] = {}
        self._folders: Final[dict[StoredPath, dict[StoredPath, list[FileInfo] | None]]] = {}
        """By root that was listed as a whole, what is in each folder; None of one that was changed since."""
        self._kept: Final[dict[StoredPath, bytes]] = {}
        self._lock: Final = RLock()

    def list_all(self, root: StoredPath) -> None:
        """List all that is below a folder."""
        base = bucket_of(root).name(root)
        folders: dict[StoredPath, list[FileInfo] | None] = {}
        for info in bucket_of(root).below(root, is_deep=True):
            path = root / info.path[len(base) :].removeprefix("/")
            self._add(path, info)
            some = folders.setdefault(path.parent, [])
            assert some is not None
            some.append(info)
        self._folders[root] = folders

    def list_sizes(self, folder: StoredPath, names: Collection[str]) -> None:
        """List a folder where that takes fewer requests than a look at each of the files that are named."""
        if sum(folder / name not in self.sizes and folder / name not in self._kept for name in names) > 1:
            self.add_sizes(folder, bucket_of(folder).below(folder, is_deep=False))

    def add_sizes(self, folder: StoredPath, entries: "Iterable[FileInfo]") -> None:
        """Learn from a listing of a folder how long its files are."""
        for info in entries:
            self._add(folder / Path(info.path).name, info)

    def _add(self, path: StoredPath, info: "FileInfo") -> None:
        if info.type.name == "File":
            self.sizes[path] = info.size

    def listed(self, folder: StoredPath) -> "list[FileInfo] | None":
        """Return what a folder has, by a listing of all; None if none was made, or the folder was changed since."""
        for root, folders in list(self._folders.items()):
            if folder.is_relative_to(root):
                return folders.get(folder, [])
        return None

    def forget_folder(self, folder: StoredPath) -> None:
        """Have a folder listed again, as it was changed."""
        for root, folders in list(self._folders.items()):
            if folder.is_relative_to(root):
                folders[folder] = None

    def forget(self, root: Path) -> None:
        with self._lock:
            for known in (self._folders, self._kept, self.sizes):
                for path in [each for each in known if each.is_relative_to(root)]:
                    del known[path]

    def read(self, path: StoredPath) -> bytes | None:
        """Return the bytes of a small file; None for a large one, or where there is none."""
        if path in self._kept:
            return self._kept[path]
        if path not in self.sizes:
            found = look_for(path)
            if found is None or found.is_folder:
                return None
            self.sizes[path] = found.size
        if not 0 < self.sizes[path] <= _WHOLE:
            return None
        data = self._fetched(path)
        with self._lock:
            while self._kept and sum(map(len, self._kept.values())) + len(data) > _KEPT_BYTES:
                del self._kept[next(iter(self._kept))]
            self._kept[path] = data
        return data

    def _fetched(self, path: StoredPath) -> bytes:
        from deltalake.fs import DeltaStorageHandler  # noqa: PLC0415 - of an extra, and heavy

        with refusals_of(path):
            sizes = {path.name: self.sizes[path]}
            handler = DeltaStorageHandler(str(path.parent), delta_options(path), sizes)
            return answer_of(lambda: bytes(handler.open_input_file(path.name).read()))


_FILES: Final = _Files()


def delta_options(table: str | Path) -> dict[str, str] | None:
    """Return the options of storage, such as endpoints, that deltalake does not find by itself; None for a table on disk."""
    path = as_path(table)
    return client_options(bucket_of(path)) if isinstance(path, StoredPath) else None


def _mirror_of(table: str | Path) -> _Mirror | None:
    """Return the mirror of a table's log; None of a table on disk."""
    there = as_path(table)
    if not isinstance(there, StoredPath):
        return None
    with _MIRRORS:
        if there not in _OF_TABLES:
            _OF_TABLES[there] = _Mirror(there)
        return _OF_TABLES[there]


def _mirrors_below(root: Path) -> list[_Mirror]:
    with _MIRRORS:
        return [mirror for table, mirror in _OF_TABLES.items() if table.is_relative_to(root)]


_MIRRORS: Final = RLock()
_OF_TABLES: Final[dict[StoredPath, _Mirror]] = {}


_ALONE: Final[dict[Path, int]] = {}
"""The folders whose tables nobody else changes, and how many blocks say so."""


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

"""The logs of Delta tables that deltalake does not reach: it is given a copy on disk, which this module keeps up to date.

That is so on Hadoop's file systems but HDFS. A copy is this process's own and ends with it. What deltalake commits to the copy
counts once the table's own log has it, under a name that nobody had taken: as Delta's log store for HDFS does it. Data are read and
written where they are. Knows only the names of the log's files.
"""

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Final, NamedTuple
from uuid import uuid4

from offsets_tool.log.archive.delta_log import DELTA_LOG, is_commit
from offsets_tool.log.buckets import bucket_of
from offsets_tool.log.refusals import refusals_of
from offsets_tool.log.storage import as_path, is_of_hadoop

_LOCK: Final = RLock()
_SEEN: Final[dict[Path, "_Seen"]] = {}
"""By the folder of a copy."""


class _Facts(NamedTuple):
    """What says that a file is still the same."""

    size: int
    changed_ns: int


_Seen = dict[str, _Facts]
"""The files of a table's own log that a copy has, by name."""


def within_reach(table: str | Path) -> str:
    """Return where deltalake opens a table: where it is, or at a copy of its log, brought up to date.

    Errors as `refusals_of` raises them.
    """
    if not is_of_hadoop(table):
        return str(table)
    with _LOCK:
        return str(_up_to_date(as_path(table)))


@contextmanager
def committing(table: str | Path) -> Iterator[str]:
    """Inside of a `with` block, let deltalake change a table, at what it was opened at, or creates at what is yielded.

    CommitFailedError where another writer has committed the same version meanwhile: then nothing is changed, and the table must
    be opened anew.
    """
    if not is_of_hadoop(table):
        yield str(table)
        return
    there = as_path(table)
    with _LOCK:
        copy = _copy(there)
        before = _files(copy)
        try:
            yield str(copy)
        except BaseException:
            for name in _changed(before, _files(copy)):
                (copy / DELTA_LOG / name).unlink()
            raise
        _publish(there, copy, before)


@contextmanager
def data_files_known(table: Path) -> Iterator[None]:
    """Inside of a `with` block, let deltalake find the table's data files where it looks: by name and time, and empty."""
    if not is_of_hadoop(table):
        yield
        return
    there = bucket_of(table)
    with _LOCK:
        copy = _up_to_date(table)
        for each in there.below(table, is_deep=False):
            if each.type.name == "File":
                stand_in = copy / Path(each.path).name
                stand_in.touch()
                os.utime(stand_in, ns=(each.mtime_ns, each.mtime_ns))
        try:
            yield
        finally:
            for path in copy.iterdir():
                if path.is_file():
                    path.unlink()


def _copy(table: Path) -> Path:
    return _folder() / hashlib.sha256(str(table).encode()).hexdigest()


@cache
def _folder() -> Path:
    folder = tempfile.mkdtemp(prefix="offsets-tool-delta-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _up_to_date(table: Path) -> Path:
    """Bring the copy of a table's log up to date, and return its folder."""
    copy, log = _copy(table), table / DELTA_LOG
    seen = _SEEN.setdefault(copy, {})
    found = {
        Path(each.path).name: _Facts(each.size, each.mtime_ns)
        for each in bucket_of(log).below(log, is_deep=False)
        if each.type.name == "File" and not each.path.endswith(_STAGED)
    }
    for name in _files(copy).keys() - found.keys():
        (copy / DELTA_LOG / name).unlink()
        seen.pop(name, None)
    for name, facts in found.items():
        if seen.get(name) != facts:
            # A checkpoint may be removed meanwhile, with the commits that it stands for.
            with suppress(FileNotFoundError):
                _put(copy / DELTA_LOG / name, (log / name).read_bytes())
                seen[name] = facts
    return copy


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.parent.parent / path.name
    staged.write_bytes(data)
    staged.replace(path)


def _files(copy: Path) -> _Seen:
    """Return the files of a copy."""
    try:
        with os.scandir(copy / DELTA_LOG) as entries:
            found = [(entry.name, entry.stat()) for entry in entries if entry.is_file()]
    except FileNotFoundError:
        return {}
    return {name: _Facts(facts.st_size, facts.st_mtime_ns) for name, facts in found}


def _changed(before: _Seen, after: _Seen) -> list[str]:
    """Return the files that are new or others, commits first, the pointer to the last checkpoint last."""
    changed = [name for name, facts in after.items() if before.get(name) != facts]
    return sorted(changed, key=lambda name: (not is_commit(name), name))


def _publish(table: Path, copy: Path, before: _Seen) -> None:
    """Put what was changed in a copy into the table's own log, each commit under a name that nobody has taken."""
    after, log = _files(copy), table / DELTA_LOG
    changed = _changed(before, after)
    for name in changed:
        if not is_commit(name):
            (log / name).write_bytes((copy / DELTA_LOG / name).read_bytes())
        elif not _put_new(log / name, (copy / DELTA_LOG / name).read_bytes()):
            for other in changed[changed.index(name) :]:
                (copy / DELTA_LOG / other).unlink()
            raise _conflict(f"another writer committed {name} to {table} meanwhile")
    for name in before.keys() - after.keys():
        (log / name).unlink(missing_ok=True)


def _conflict(said: str) -> Exception:
    from deltalake.exceptions import CommitFailedError  # noqa: PLC0415 - of an extra, and heavy

    return CommitFailedError(said)


_STAGED: Final = ".new"


def _put_new(path: Path, data: bytes) -> bool:
    """Write a file whole under a name that nobody has; return False, and do nothing, where somebody has it."""
    staged = path.with_name(f"{path.name}.{uuid4()}{_STAGED}")
    staged.write_bytes(data)
    bucket = bucket_of(path)
    try:
        with refusals_of(path):
            try:
                bucket.system.move(bucket.name(staged), bucket.name(path))
            except FileExistsError:
                return False
    finally:
        staged.unlink(missing_ok=True)
    return True

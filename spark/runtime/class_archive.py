"""Let Spark's JVM start with the classes that an earlier one had loaded: the archives of Java's class data sharing (JEP 350).

Of the many classes that a session loads, each is found in its jar, parsed and verified, at every start: a third of the time of a
command with one question. An archive has them as they lie in memory. A JVM makes it when it ends, which costs ten seconds of a
core, and not the first one: who starts Spark once, in a container that is thrown away, has nothing of it. The JVM itself refuses
an archive of other jars or of another Java, and goes on without one.
"""

import hashlib
import os
import shlex
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from offsets_tool.columns.jit.code_cache import NotTrustedError, trusted_folder
from spark.runtime.jars import cache
from spark.runtime.settings import JAVA_OPTIONS, configuration_folder, spark_home

_CLASS_PATH: Final = "spark.driver.extraClassPath"
_OF_OTHERS: Final = ("-Xshare", "SharedArchive", "ArchiveClassesAtExit", "SharedClassListFile")
"""What says in the options of others that they decide about archives."""
_TRIES: Final = 3
"""JVMs that are asked to leave an archive: those that are killed leave none, and some cannot."""
_UNDER_WAY: Final = 60
"""Seconds after such a start in which no other is asked: an archive takes a while, and one is enough."""
_MAGIC_SIZE: Final = 4
"""Bytes at the front of an archive, which the JVM writes last: zeros, or nothing, in one that is not whole."""
# Without archives nothing is wrong, so nothing is said of them. The last option may be unknown to a JVM.
_ALWAYS: Final = ("-Xlog:cds*=off", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+VerifySharedSpaces")


def archive_options(java: Path, settings: Mapping[str, str]) -> str:
    """Return the options that give a JVM the archive of this Java and this Spark, or let it leave one; empty where neither may be.

    `settings` are Spark's, with those of others. Starts without an archive leave a trace beside where it will be.
    """
    base, said = _base_archive(java), settings.get(JAVA_OPTIONS, "")
    if base is None or any(word in said for word in _OF_OTHERS) or _has_configuration():
        return ""
    try:
        folder = cache() / "classes"
        # Who can write there decides what runs here.
        os.close(trusted_folder(folder))
        archive = folder / f"spark-{_digest(base, settings.get(_CLASS_PATH, ''))}.jsa"
        if _is_whole(archive):
            return shlex.join((f"-XX:SharedArchiveFile={archive}", *_ALWAYS))
        if not _is_to_make(archive.with_suffix(".tries")):
            return ""
        _remove_others(archive)
    except (NotTrustedError, OSError, RuntimeError):
        # There is no such folder: not everybody has a home, or may write there.
        return ""
    return shlex.join((f"-XX:ArchiveClassesAtExit={archive}", *_ALWAYS))


def _base_archive(java: Path) -> Path | None:
    """Return the archive of Java's own classes, on which others stand; None if there is none, as in JVMs that know no archives."""
    base = java.resolve().parent.parent / "lib" / "server" / "classes.jsa"
    return base if base.is_file() else None


def _has_configuration() -> bool:
    """Return whether there is a folder of files on Spark's class path, which no archive can stand for."""
    folder = configuration_folder()
    return folder.is_dir() and any(folder.iterdir())


def _digest(base: Path, class_path: str) -> str:
    jars = sorted((spark_home() / "jars").glob("*.jar"))
    facts = (list(_facts([base, *jars])), class_path)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]


def _facts(files: list[Path]) -> Iterator[tuple[str, int, int]]:
    for file in files:
        found = file.stat()
        yield str(file), found.st_size, found.st_mtime_ns


def _is_whole(archive: Path) -> bool:
    try:
        with archive.open("rb") as file:
            return any(file.read(_MAGIC_SIZE))
    except FileNotFoundError:
        return False


def _is_to_make(tries: Path) -> bool:
    """Return whether this start is to make an archive, and note it in a file: none at the first start, then a byte for each try."""
    if not tries.exists():
        tries.touch()
        return False
    found = tries.stat()
    if found.st_size >= _TRIES or (found.st_size and time.time() - found.st_mtime < _UNDER_WAY):
        return False
    with tries.open("ab") as noted:
        noted.write(b".")
    return True


def _remove_others(archive: Path) -> None:
    """Remove all archives but the one that was made last, of an environment beside this one: each has some 170 MB."""
    for old in sorted(archive.parent.glob("*.jsa"), key=lambda path: path.stat().st_mtime)[:-1]:
        old.unlink(missing_ok=True)

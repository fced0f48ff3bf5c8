"""The archive of the classes that Spark's JVM loads, with which later ones start in two thirds of the time.

Each of a session's thousands of classes is found in its jar, parsed and verified at every start. An archive of Java's class data
sharing (JEP 350) has them as they lie in memory. `offsets-spark prepare` makes it (prepare.py); sessions use it where it is there.
The JVM refuses an archive of other jars or of another Java, and goes on without one; a damaged one could end it, so that its
SHA-256 is verified first.
"""

import hashlib
import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.columns.jit.code_cache import NotTrustedError, trusted_folder
from spark.runtime.jars import cache, sha256_of
from spark.runtime.settings import JAVA_OPTIONS, spark_home

QUIET: Final = "-Xlog:cds*=off"
"""The option of a JVM that keeps archives to itself: without one, nothing is wrong."""
_OTHER_OPTIONS: Final = ("spark.driver.defaultJavaOptions", JAVA_OPTIONS)
_VARIABLES: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
_OF_OTHERS: Final = ("-Xshare", "SharedArchive", "ArchiveClasses", "AOT")
"""What says in the options of others that they decide about archives."""


class ClassArchive(NamedTuple):
    """The place of an archive: a file, and beside it one with its SHA-256, which is written last."""

    path: Path

    @classmethod
    def of(cls, java: Path) -> "ClassArchive | None":
        """Return the archive of this Java and of this Spark, there or not.

        None for a Java that has no archive of its own classes, on which others stand. OSError and RuntimeError where there is no
        folder for it.
        """
        base = java.resolve().parent.parent / "lib" / "server" / "classes.jsa"
        if not base.is_file():
            return None
        jars = sorted((spark_home() / "jars").glob("*.jar"))
        facts = list(_facts([base, *jars]))
        return cls(cache() / "classes" / f"spark-{hashlib.sha256(repr(facts).encode()).hexdigest()[:12]}.jsa")

    @property
    def digest_path(self) -> Path:
        """The file with the SHA-256."""
        return self.path.with_suffix(".sha256")

    def is_whole(self) -> bool:
        """Return whether the archive is there, as it was made."""
        try:
            return self.digest_path.read_text() == sha256_of(self.path)
        except (OSError, ValueError):
            return False


def archive_options(java: Path, settings: Mapping[str, str]) -> str:
    """Return the options that give a JVM its archive; empty where there is none, or others decide about archives.

    `settings` are Spark's, with those of others.
    """
    said = [*map(settings.get, _OTHER_OPTIONS), *map(os.environ.get, _VARIABLES)]
    if any(word in options for options in said if options for word in _OF_OTHERS):
        return ""
    try:
        archive = ClassArchive.of(java)
        if archive is None or not archive.digest_path.exists():
            return ""
        # Who can write there decides what runs here.
        os.close(trusted_folder(archive.path.parent, to_write=False))
    except (NotTrustedError, OSError, RuntimeError):
        # RuntimeError: not everybody has a home.
        return ""
    return shlex.join((f"-XX:SharedArchiveFile={archive.path}", QUIET)) if archive.is_whole() else ""


def _facts(files: list[Path]) -> Iterator[tuple[str, int, int]]:
    """Yield what the JVM compares: names, sizes and times."""
    for file in files:
        found = file.stat()
        yield str(file), found.st_size, found.st_mtime_ns

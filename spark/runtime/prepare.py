"""Prepare a machine, or an image, for Spark: fetch Delta's jars, and make the archive of the classes that a session loads.

A JVM writes the archive when it ends, of what it had loaded. So this is a session of its own, which does a little of what jobs and
questions do: sessions of users make none, as options that are good for them (of agents, say) can forbid it.
"""

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory
from typing import Final

from pyspark import SparkContext
from pyspark.sql import SparkSession

from offsets_tool.columns.jit.code_cache import NotTrustedError, trusted_folder
from offsets_tool.errors import SetupError
from spark.runtime.class_archive import QUIET, ClassArchive
from spark.runtime.jars import DELTA, jars, sha256_of
from spark.runtime.java import java
from spark.runtime.session import BRIEF, session
from spark.runtime.settings import JAVA_OPTIONS, configuration_folder

_PATIENCE: Final = 300
"""Seconds in which a JVM ends that writes its archive: it takes ten."""
_QUESTIONS: Final = (
    "SELECT kind, count(*) AS rows, max(text) AS last FROM prepared WHERE id > 9 GROUP BY kind ORDER BY rows DESC, kind LIMIT 5",
    "SELECT id, row_number() OVER (PARTITION BY kind ORDER BY id) AS place, explode(array(id, kind)) AS each FROM prepared",
    "SELECT a.kind, sum(b.id) AS ids FROM prepared a LEFT JOIN prepared b ON a.id = b.kind GROUP BY a.kind",
)


def prepare(tell: Callable[[str], None]) -> Path:
    """Return the path of the archive, made if it is not there; `tell` is given a sentence before that.

    SetupError where jars cannot be fetched, this Java makes no archives, or no folder is there that only this user may write.
    """
    jars(DELTA)
    archive = ClassArchive.of(java())
    if archive is None:
        raise SetupError(
            f"{java()} has no archive of its own classes, on which Spark's would stand: run `java -Xshare:dump`, "
            "or take another JDK. Spark runs without it."
        )
    if archive.is_whole():
        return archive.path
    try:
        _check(archive.path)
        tell(f"making the archive of Spark's classes in {archive.path.parent} (once, a minute)")
        _make(archive)
    except OSError as error:
        raise SetupError(
            f"The archive of Spark's classes cannot be kept in {archive.path.parent} ({error.strerror or error}). "
            "Let OFFSETS_TOOL_CACHE name a folder that can be written. Spark runs without it."
        ) from error
    return archive.path


def _check(path: Path) -> None:
    """Raise SetupError where the folder is not ours alone, or the JVM would refuse an archive."""
    configuration = configuration_folder()
    if configuration.is_dir() and any(configuration.iterdir()):
        raise SetupError(
            f"{configuration} is on Spark's class path, and an archive cannot stand for a folder with files in it. "
            "Let SPARK_CONF_DIR name an empty one, always, or leave it: Spark runs without an archive."
        )
    if os.pathsep in str(path):
        raise SetupError(
            f"{path.parent} has {os.pathsep!r} in its name, where the JVM takes two archives for one. "
            "Let OFFSETS_TOOL_CACHE name another folder."
        )
    try:
        os.close(trusted_folder(path.parent))
    except NotTrustedError as error:
        raise SetupError(
            f"{error}: an archive of classes is not kept where others could change it. "
            "Let OFFSETS_TOOL_CACHE name a folder that only you may write."
        ) from error


def _make(archive: ClassArchive) -> None:
    """Have a session leave the archive, and put it in its place; the archive before it goes, as each has some 190 MB."""
    folder = archive.path.parent
    with TemporaryDirectory(dir=folder, prefix=".making-") as making:
        left = Path(making, archive.path.name)
        dumps = shlex.join((f"-XX:ArchiveClassesAtExit={left}", QUIET))
        running = session(
            "offsets-spark prepare",
            master="local[2]",
            **BRIEF | {JAVA_OPTIONS: f"{BRIEF[JAVA_OPTIONS]} {dumps}"},
        )
        _use(running, Path(making, "table"))
        _end(running)
        if not left.is_file():
            raise SetupError(f"{java()} left no archive of Spark's classes. Spark runs without it.")
        for old in (*folder.glob("*.sha256"), *folder.glob("*.jsa")):
            old.unlink()
        left.replace(archive.path)
        archive.digest_path.write_text(sha256_of(archive.path))


def _use(running: SparkSession, table: Path) -> None:
    """Do a little of what jobs and questions do."""
    rows = running.range(1000).selectExpr("id", "id % 7 AS kind", "CAST(id AS string) AS text")
    rows.write.format("delta").save(str(table))
    rows.mapInArrow(lambda batches: batches, rows.schema).write.format("delta").mode("append").save(
        str(table)
    )
    running.read.format("delta").load(str(table)).createOrReplaceTempView("prepared")
    for question in _QUESTIONS:
        running.sql(question).toArrow()


def _end(running: SparkSession) -> None:
    """Stop a session and wait for its JVM, which ends when its input does."""
    gateway = SparkContext._gateway
    assert gateway is not None
    running.stop()
    gateway.shutdown()
    process = gateway.proc
    process.stdin.close()
    try:
        process.wait(_PATIENCE)
    except TimeoutExpired as error:
        process.kill()
        raise SetupError(
            f"{java()} was still writing the archive of Spark's classes after {_PATIENCE} seconds, and was ended. "
            "Spark runs without it."
        ) from error

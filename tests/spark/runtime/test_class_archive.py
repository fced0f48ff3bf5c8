"""The archive of classes that Spark's JVM starts with: who makes it, who gets it, and that a JVM runs the same with and without."""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spark.runtime.class_archive import archive_options
from spark.runtime.jars import DELTA, cache, jars
from spark.runtime.java import java
from spark.runtime.settings import JAVA_OPTIONS, spark_home

MAKES, USES = "-XX:ArchiveClassesAtExit=", "-XX:SharedArchiveFile="
PROGRAM = "org.apache.spark.deploy.SparkSubmit"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of archives, not there yet."""
    monkeypatch.setenv("OFFSETS_TOOL_CACHE", str(tmp_path / "kept here"))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    return tmp_path / "kept here" / "classes"


@pytest.fixture
def a_java(tmp_path: Path) -> Path:
    """A `java` that is not run, with an archive of its own classes."""
    base = tmp_path / "jdk" / "lib" / "server" / "classes.jsa"
    base.parent.mkdir(parents=True)
    base.write_bytes(b"base")
    return tmp_path / "jdk" / "bin" / "java"


def verdict(a_java: Path, **settings: str) -> tuple[str, Path]:
    """Return what a start does about the archive, and where that is."""
    options = shlex.split(archive_options(a_java, settings))
    if not options:
        return "", Path()
    does, _, archive = options[0].partition("=")
    return does + "=", Path(archive)


def later(folder: Path) -> None:
    """Have a minute go by."""
    for file in folder.glob("*.tries"):
        os.utime(file, (file.stat().st_atime, file.stat().st_mtime - 61))


def test_the_second_start_makes_the_archive_and_those_after_it_use_it(a_java: Path, folder: Path) -> None:
    assert verdict(a_java)[0] == ""
    does, archive = verdict(a_java)
    assert (does, archive.parent) == (MAKES, folder)
    archive.write_bytes(b"whole")
    assert [verdict(a_java) for _ in range(9)] == [(USES, archive)] * 9


def test_while_one_makes_it_others_start_without(a_java: Path, folder: Path) -> None:
    verdict(a_java)
    _, archive = verdict(a_java)
    archive.write_bytes(bytes(100))  # as it is while a JVM writes it, and as one leaves it that was killed
    assert [verdict(a_java)[0] for _ in range(9)] == [""] * 9
    later(folder)
    assert [verdict(a_java)[0] for _ in range(2)] == [MAKES, ""]


def test_no_start_is_slower_for_long_where_no_archive_comes(a_java: Path, folder: Path) -> None:
    told = []
    for _ in range(20):
        told.append(verdict(a_java)[0])
        later(folder)
    assert told == ["", MAKES, MAKES, MAKES] + [""] * 16


@pytest.mark.parametrize(
    "change",
    [
        lambda a_java: {"spark.driver.extraClassPath": "/jars/of/theirs.jar"},
        lambda a_java: (a_java.parents[1] / "lib/server/classes.jsa").write_bytes(b"another Java") and {},
    ],
    ids=["class path", "Java"],
)
def test_what_makes_other_classes_has_an_archive_of_its_own(change, a_java: Path, folder: Path) -> None:  # type: ignore[no-untyped-def]
    verdict(a_java)
    _, first = verdict(a_java)
    first.write_bytes(b"whole")
    settings = change(a_java)
    assert verdict(a_java, **settings)[0] == ""
    does, second = verdict(a_java, **settings)
    assert does == MAKES and second != first


def test_two_environments_keep_theirs_and_older_archives_go(a_java: Path, folder: Path) -> None:
    folder.mkdir(parents=True, mode=0o700)
    for age, name in enumerate(("oldest", "older", "newest")):
        (folder / f"{name}.jsa").write_bytes(b"whole")
        os.utime(folder / f"{name}.jsa", (age, age))
    verdict(a_java)
    verdict(a_java)
    assert [path.name for path in folder.glob("*.jsa")] == ["newest.jsa"]


@pytest.mark.parametrize(
    "said", ["-Xshare:off", "-Xmx1g -XX:SharedArchiveFile=theirs.jsa", "-XX:ArchiveClassesAtExit=theirs.jsa"]
)
def test_options_of_others_hold(said: str, a_java: Path, folder: Path) -> None:
    assert [verdict(a_java, **{JAVA_OPTIONS: said})[0] for _ in range(3)] == [""] * 3


def test_a_jvm_without_archives_gets_no_option(a_java: Path, folder: Path) -> None:
    (a_java.parents[1] / "lib/server/classes.jsa").unlink()
    assert [verdict(a_java)[0] for _ in range(3)] == [""] * 3


def test_files_of_settings_on_the_class_path_leave_no_archive(
    a_java: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "log4j2.properties").touch()
    assert [verdict(a_java)[0] for _ in range(3)] == [""] * 3


def test_a_folder_that_others_may_write_decides_nothing(a_java: Path, folder: Path) -> None:
    verdict(a_java)
    _, archive = verdict(a_java)
    archive.write_bytes(b"whole")
    folder.chmod(0o777)
    assert [verdict(a_java)[0] for _ in range(3)] == [""] * 3


def submitted(*more: str) -> str:
    """Run a small program of Spark's as a start is told to run the session; return what it prints."""
    options = shlex.split(archive_options(java(), {}))
    command = [java(), *options, *more, "-cp", f"{spark_home()}/jars/*", PROGRAM, "--version"]
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    return ended.stdout + ended.stderr


@pytest.mark.engine
def test_a_jvm_runs_the_same_without_an_archive_with_one_and_with_a_damaged_one(
    folder: Path, tmp_path: Path
) -> None:
    loaded = tmp_path / "loaded"
    prints = [submitted(), submitted()]
    (archive,) = folder.glob("*.jsa")
    log = f"-Xlog:class+load:file={loaded}"
    prints.append(submitted(log))
    assert f"{PROGRAM} source: shared objects file (top)" in loaded.read_text()
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 0xFF
    archive.chmod(0o600)
    archive.write_bytes(content)
    prints.append(submitted(log))
    assert "(top)" not in loaded.read_text()
    assert prints == prints[:1] * 4 and "version 4." in prints[0]


SESSION = """
import sys
from spark.runtime.session import BRIEF, session
from spark.runtime.settings import JAVA_OPTIONS
said = " ".join(filter(None, (BRIEF[JAVA_OPTIONS], *sys.argv[1:])))
print(session(master="local[1]", **{JAVA_OPTIONS: said}).range(3).count())
"""


@pytest.mark.spark
@pytest.mark.deep
def test_the_third_session_has_its_classes_from_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jars(DELTA)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "jars").symlink_to(cache() / "jars")
    monkeypatch.setenv("OFFSETS_TOOL_CACHE", str(tmp_path / "cache"))
    loaded = tmp_path / "loaded"
    for log in ([], [], [f"-Xlog:class+load:file={loaded}"]):
        ended = subprocess.run(
            [sys.executable, "-c", SESSION, *log], capture_output=True, text=True, check=True
        )
        assert (ended.stdout, ended.stderr) == ("3\n", "")
        wait_for_archive(tmp_path / "cache" / "classes")
    assert loaded.read_text().count("shared objects file (top)") > 5_000


def wait_for_archive(folder: Path) -> None:
    """Wait until the JVM that makes an archive has written it, if one does: it goes on after its session's process."""
    (tries,) = folder.glob("*.tries")
    archive = tries.with_suffix(".jsa")
    while tries.stat().st_size and not (archive.is_file() and any(archive.read_bytes()[:4])):
        time.sleep(0.2)

"""The archive of classes that Spark's JVM starts with: who gets it, what is not taken for one, and where none is made."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from offsets_tool.errors import SetupError
from spark.runtime import prepare as making
from spark.runtime.class_archive import QUIET, ClassArchive, archive_options
from spark.runtime.jars import cache, sha256_of
from spark.runtime.java import java
from spark.runtime.settings import JAVA_OPTIONS, spark_home

DUMPS, USES = "-XX:ArchiveClassesAtExit=", "-XX:SharedArchiveFile="
JARS = cache() / "jars"
PROGRAM = "org.apache.spark.deploy.SparkSubmit"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of archives, empty."""
    monkeypatch.setenv("OFFSETS_TOOL_CACHE", str(tmp_path / "kept 'here'"))
    for variable in ("SPARK_CONF_DIR", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS"):
        monkeypatch.delenv(variable, raising=False)
    folder = tmp_path / "kept 'here'" / "classes"
    folder.mkdir(parents=True, mode=0o700)
    return folder


@pytest.fixture
def a_java(tmp_path: Path) -> Path:
    """A `java` that is not run, with an archive of its own classes."""
    base = tmp_path / "jdk" / "lib" / "server" / "classes.jsa"
    base.parent.mkdir(parents=True)
    base.write_bytes(b"base")
    return tmp_path / "jdk" / "bin" / "java"


def made(java: Path, content: bytes = b"classes") -> Path:
    """Put an archive in its place, as `prepare` does."""
    archive = ClassArchive.of(java)
    assert archive is not None
    archive.path.write_bytes(content)
    archive.digest_path.write_text(sha256_of(archive.path))
    return archive.path


def test_an_archive_is_used_once_it_is_there(a_java: Path, folder: Path) -> None:
    assert archive_options(a_java, {}) == ""
    archive = made(a_java)
    assert archive.parent == folder
    assert shlex.split(archive_options(a_java, {}))[0] == f"{USES}{archive}"


def _cut(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-1])


def _changed(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-1] + b"!")


def _without_digest(archive: Path) -> None:
    archive.with_suffix(".sha256").unlink()


def _removed(archive: Path) -> None:
    archive.unlink()


def _in_a_folder_of_others(archive: Path) -> None:
    archive.parent.chmod(0o777)


@pytest.mark.parametrize("spoil", [_cut, _changed, _without_digest, _removed, _in_a_folder_of_others])
def test_what_is_not_as_it_was_made_is_not_used(
    spoil: Callable[[Path], None], a_java: Path, folder: Path
) -> None:
    archive = made(a_java)
    assert archive_options(a_java, {})
    spoil(archive)
    assert archive_options(a_java, {}) == ""


def test_the_archive_of_another_java_is_not_used(a_java: Path, folder: Path) -> None:
    made(a_java)
    (a_java.parents[1] / "lib/server/classes.jsa").write_bytes(b"another")
    assert archive_options(a_java, {}) == ""
    (a_java.parents[1] / "lib/server/classes.jsa").unlink()
    assert archive_options(a_java, {}) == ""


@pytest.mark.parametrize(
    "said",
    [
        "-Xshare:off",
        "-Xmx1g -XX:SharedArchiveFile=theirs.jsa",
        "-XX:+AutoCreateSharedArchive",
        "-XX:ArchiveClassesAtExit=theirs.jsa",
        "-XX:AOTCache=theirs.aot",
    ],
)
def test_options_of_others_hold(
    said: str, a_java: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(a_java)
    for setting in (JAVA_OPTIONS, "spark.driver.defaultJavaOptions"):
        assert archive_options(a_java, {setting: said}) == ""
        assert archive_options(a_java, {setting: "-Xmx1g"})
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", said)
    assert archive_options(a_java, {}) == ""


def _no_base(a_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (a_java.parents[1] / "lib/server/classes.jsa").unlink()


def _settings(a_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "log4j2.properties").touch()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))


def _colon(a_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFSETS_TOOL_CACHE", str(tmp_path / "a:b"))


def _others(a_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache() / "classes").chmod(0o777)


def _file(a_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache() / "classes").rmdir()
    (cache() / "classes").touch()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_no_base, "java -Xshare:dump"),
        (_settings, "cannot stand for a folder with files in it"),
        (_colon, "has ':' in its name"),
        (_others, "may be written by others .* OFFSETS_TOOL_CACHE name a folder"),
        (_file, "cannot be kept in .* OFFSETS_TOOL_CACHE name a folder"),
    ],
)
def test_where_none_can_be_made_a_sentence_says_why(
    change: Callable[[Path, Path, pytest.MonkeyPatch], None],
    sentence: str,
    a_java: Path,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(making, "jars", lambda wanted: [])
    monkeypatch.setattr(making, "java", lambda: a_java)
    change(a_java, tmp_path, monkeypatch)
    with pytest.raises(SetupError, match=sentence):
        making.prepare(pytest.fail)


def submitted(*options: str) -> str:
    """Run a small program of Spark's with options of the JVM; return what it prints."""
    command = [java(), *options, "-cp", f"{spark_home()}/jars/*", PROGRAM, "--version"]
    variables = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, env=variables)
    return ended.stdout + ended.stderr


@pytest.mark.engine
def test_a_jvm_has_its_classes_from_the_archive_and_says_nothing_of_it(folder: Path, tmp_path: Path) -> None:
    before = submitted(f"{DUMPS}{tmp_path / 'left.jsa'}", QUIET)
    made(java(), (tmp_path / "left.jsa").read_bytes())
    loaded = tmp_path / "loaded"
    after = submitted(*shlex.split(archive_options(java(), {})), f"-Xlog:class+load:file={loaded}")
    assert f"{PROGRAM} source: shared objects file (top)" in loaded.read_text()
    assert before == after and "version 4." in after


SESSION = """
import sys
from spark.runtime.session import session
from spark.runtime.settings import JAVA_OPTIONS
print(session(master="local[1]", **{JAVA_OPTIONS: sys.argv[1]}).range(3).count())
"""


@pytest.mark.spark
@pytest.mark.deep
def test_a_session_has_its_classes_from_the_archive_that_prepare_made(folder: Path, tmp_path: Path) -> None:
    (folder.parent / "jars").symlink_to(JARS)

    def run(*words: str) -> tuple[str, str]:
        ended = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, check=True, timeout=600
        )
        return ended.stdout, ended.stderr

    assert run("-m", "spark.cli", "prepare")[1].startswith("making the archive")
    assert "making" not in run("-m", "spark.cli", "prepare")[1]
    assert {path.suffix for path in folder.iterdir()} == {".jsa", ".sha256"}
    loaded = tmp_path / "loaded"
    assert run("-c", SESSION, f"-Xlog:class+load:file={loaded}") == ("3\n", "")
    assert loaded.read_text().count("shared objects file (top)") > 5_000
    (archive,) = folder.glob("*.jsa")
    archive.chmod(0o600)
    os.truncate(archive, archive.stat().st_size - 5_000)
    assert run("-c", SESSION, f"-Xlog:class+load:file={loaded}") == ("3\n", "")
    assert "(top)" not in loaded.read_text()

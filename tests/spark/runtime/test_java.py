"""A missing, broken or old Java is one sentence with a remedy."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from offsets_tool.errors import SetupError
from spark.runtime import java as subject


@pytest.fixture(autouse=True)
def asked_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    subject.java.cache_clear()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    yield
    subject.java.cache_clear()


def a_java(home: Path, says: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    "says", ['openjdk version "17.0.15" 2025-04-15', 'java version "25"', 'openjdk version "21-ea"']
)
def test_new_enough(says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = a_java(tmp_path, says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert subject.java() == program


@pytest.mark.parametrize(
    ("says", "complaint"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "is Java 11, and Spark needs 17 or newer"),
        ('java version "1.8.0_312"', "is Java 8, and Spark needs 17 or newer"),
        ("hello", "does not tell a version"),
    ],
)
def test_too_old(says: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_java(tmp_path / "jdk", says)
    monkeypatch.setenv("PATH", f"{tmp_path}/jdk/bin{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(SetupError, match=f"{complaint}.*Install a JDK 17"):
        subject.java()


def test_none_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match=r"No Java was found. Install a JDK 17"):
        subject.java()


def test_java_home_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SetupError, match=r"named by JAVA_HOME\) does not run as Java"):
        subject.java()
    assert subject.main() == 1

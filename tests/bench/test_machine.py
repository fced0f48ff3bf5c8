"""A table says which commit it was measured on, and whether more than the tables themselves was changed since."""

import os
import subprocess
from pathlib import Path

from bench.machine import commit, origin


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    done = subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_commit_and_whether_it_was_changed(tmp_path: Path) -> None:
    kept, code = tmp_path / "bench" / "kept.jsonl", tmp_path / "code.py"
    kept.parent.mkdir()
    code.write_text("1\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "code.py")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    head = git(tmp_path, "rev-parse", "HEAD")[:10]
    assert commit(tmp_path) == head
    kept.write_text("{}\n")
    assert (commit(tmp_path), commit(tmp_path, (kept,))) == (f"{head} with changes", head)
    code.write_text("2\n")
    assert commit(tmp_path, (kept, Path("/elsewhere"))) == f"{head} with changes"


def test_without_a_repository_the_commit_is_unknown(tmp_path: Path) -> None:
    assert commit(tmp_path) == "unknown"


def test_where_a_table_comes_from_has_processor_cores_memory_and_commit() -> None:
    place = origin()
    for words in (
        f"{os.cpu_count()} cores of ",
        " GB, ",
        f" at commit {place.commit}, ",
        f"load was {place.load} ",
    ):
        assert words in str(place)
    for words in ("Python 3.", "pyspark 4.", "Java ", "Kafka 4."):
        assert words in place.software

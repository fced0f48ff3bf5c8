"""What an extra would bring is missing: commands that do without it work, the others say in one sentence what to install."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from offsets_tool.cli import main as tool
from spark.cli import main as spark
from tests.corpora import FIXTURES
from tests.depth import sample

LOG = FIXTURES / "corpora" / "3.9.2-txn" / "segments"
ARGUMENTS = {
    "describe": ["--all-groups"],
    "diff": ["--from", "3:1"],
    "plan": ["--as-of", "3:1"],
    "partition": ["g"],
    "schema": [],
}
"""What a command of offsets-tool wants instead of, or beside, a log."""
CHILD = """
import json, sys
blocked, asked = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(blocked))
from click.testing import CliRunner
from offsets_tool.cli import main as tool
from spark.cli import main as spark
from tests.corpora import FIXTURES
told = []
for program, arguments in asked:
    done = CliRunner().invoke({"tool": tool, "spark": spark}[program], arguments)
    told.append([done.exit_code, repr(done.exception), done.stdout, done.stderr])
print(json.dumps(told))
"""
"""Many commands in one process in which packages cannot be imported."""
Told = list[tuple[int, str, str, str]]


def ask(blocked: tuple[str, ...], *commands: tuple[str, list[str]]) -> Told:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps([blocked, commands])],
        capture_output=True,
        text=True,
        check=True,
        cwd=FIXTURES.parent,
        env={**os.environ, "PYTHONPATH": str(FIXTURES.parent)},
    )
    return [tuple(each) for each in json.loads(done.stdout)]


def of_tool() -> list[tuple[str, list[str]]]:
    """Each command of offsets-tool, on a log, but for `sql`, which asks a lake."""
    return [
        ("tool", [name, *([] if name in ("partition", "schema") else [str(LOG)]), *ARGUMENTS.get(name, [])])
        for name in tool.list_commands(None)  # type: ignore[arg-type]
        if name not in ("report", "sql")
    ]


def of_spark(lake: Path) -> list[tuple[str, list[str]]]:
    """Each command of offsets-spark, on a lake, but for `package`, which writes what is there."""
    sources = {"ingest": [str(LOG)], "run": [str(LOG)], "sql": ["SELECT 1"], "forget": ["--cluster", "a"]}
    sources |= {"stream": [str(LOG), "--once"]}
    sources |= {"report": ["--group", "g", "-o", os.devnull], "retain": ["--keep", "1d"]}
    names = spark.list_commands(None)  # type: ignore[arg-type]
    lakes = {name: ["--lake", str(lake)] for name in names if name != "prepare"}
    return [
        ("spark", [name, *sources.get(name, []), *lakes.get(name, [])]) for name in names if name != "package"
    ]


def helps() -> list[tuple[str, list[str]]]:
    programs = {"tool": tool, "spark": spark}
    return [
        (program, [*command, "--help"])
        for program, group in programs.items()
        for command in ([], *([name] for name in group.list_commands(None)))  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize("blocked", sample([("pyspark", "py4j"), ("deltalake",), ("pandas",)], 2))
def test_the_lake_needs_the_extra_spark(tmp_path: Path, blocked: tuple[str, ...]) -> None:
    for code, error, out, said in ask(blocked, *of_spark(tmp_path)):
        assert (code, out) == (1, ""), (error, said)
        assert said.count("\n") == 1 and said.endswith(": pip install 'offsets-tool[spark]'\n")
        assert all(name in said for name in blocked if name != "py4j")


def test_help_and_what_needs_no_extra(tmp_path: Path) -> None:
    """All that any extra brings is missing at once; what it prints is what it prints with all of it."""
    # But for pandas: Arrow, which asks for it first, takes None for it.
    every = (
        "pyspark",
        "py4j",
        "deltalake",
        "numba",
        "llvmlite",
        "duckdb",
        "sqlglot",
    )
    for code, error, out, said in ask(every, *helps()):
        assert (code, said) == (0, ""), error
        assert out.startswith("Usage: ")
    assert ask(every, *of_tool()) == ask((), *of_tool())


@pytest.mark.parametrize("blocked", sample([("numba",), ("llvmlite",)], 2))
def test_without_compiled_code_it_is_slower_and_says_so(tmp_path: Path, blocked: tuple[str, ...]) -> None:
    """A log large enough for the fast lane: the same rows."""
    log = tmp_path / "__consumer_offsets-4" / f"{0:020}.log"
    log.parent.mkdir()
    content = (LOG / log.parent.name / log.name).read_bytes()
    log.write_bytes(content * (2 + (1 << 20) // len(content)))
    ((code, _, rows, said),) = ask(blocked, ("tool", ["inspect", str(log)]))
    assert code == 0 and json.loads(rows)["batches"] > 0
    assert said.count("pip install 'offsets-tool[fast]'") == 1


@pytest.mark.parametrize("blocked", sample([("jinja2",), ("altair",), ("vl_convert",)], 2))
def test_a_report_needs_the_extra_report(tmp_path: Path, blocked: tuple[str, ...]) -> None:
    for code, _, out, said in ask(blocked, ("tool", ["report", str(LOG), "-o", str(tmp_path / "a.html")])):
        assert (code, out) == (1, "") and not (tmp_path / "a.html").exists()
        assert said.count("\n") == 1 and said.endswith(": pip install 'offsets-tool[report]'\n")
        assert blocked[0] in said


def test_a_delta_archive_needs_the_extra_delta(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    for code, _, out, said in ask(("deltalake",), ("tool", ["decode", str(tmp_path)])):
        assert (code, out) == (1, "")
        assert said.count("\n") == 1 and said.endswith(": pip install 'offsets-tool[delta]'\n")


@pytest.mark.parametrize("blocked", sample([("duckdb", "sqlglot"), ("sqlglot",), ("deltalake",)], 3))
def test_sql_needs_the_extra_sql(tmp_path: Path, blocked: tuple[str, ...]) -> None:
    ((code, _, out, said),) = ask(blocked, ("tool", ["sql", "--lake", str(tmp_path), "SELECT 1"]))
    assert (code, out) == (1, "")
    assert said.count("\n") == 1 and said.endswith(": pip install 'offsets-tool[sql]'\n")
    assert all(name in said for name in blocked)


def test_without_java(tmp_path: Path) -> None:
    """Said when there is something to do that needs it, and not before: little is ingested without."""
    environment = {**os.environ, "JAVA_HOME": "/nowhere", "PYTHONPATH": str(FIXTURES.parent)}
    ingested, asked = (
        subprocess.run(
            [sys.executable, "-m", "spark.cli", *arguments, "--lake", str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        for arguments in (["ingest", str(LOG)], ["sql", "SELECT count(*) FROM events"])
    )
    assert ingested.returncode == 0
    assert (asked.returncode, asked.stdout) == (1, "")
    assert asked.stderr.count("\n") == 1 and "Install a JDK 17" in asked.stderr

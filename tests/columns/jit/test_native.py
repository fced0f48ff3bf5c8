"""Compiled functions are kept, loaded without Numba, and made again when what was kept is not theirs."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.corpora import FIXTURES

_MODULE = """
from offsets_tool.columns.jit.machine import compiled, load_u8, step

@step
def twice(value: int) -> int:
    return {factor} * value

@compiled
def pair(at: int, value: int):
    return load_u8(at), twice(value)

@compiled
def is_even(value: int) -> bool:
    return value % 2 == 0

@compiled
def nothing(value: int) -> None:
    twice(value)
"""
_CALLS = """
import sys
import numpy as np
from offsets_tool.columns.jit.machine import address
import sample
from tests.corpora import FIXTURES
bytes_ = np.array([200], np.uint8)
print(sample.pair(address(bytes_), -2**40), sample.is_even(3), sample.is_even(4), sample.nothing(1), "numba" in sys.modules)
"""


def run(folder: Path, factor: int = 2) -> str:
    (folder / "sample.py").write_text(_MODULE.format(factor=factor))
    done = subprocess.run(
        [sys.executable, "-c", _CALLS],
        cwd=folder,
        env={
            "PATH": "",
            "PYTHONPATH": str(FIXTURES.parent),
            "NUMBA_CACHE_DIR": str(folder / "kept"),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_what_was_compiled_once_is_loaded_without_numba(tmp_path: Path) -> None:
    said = f"(200, {-(2**41)}) False True None"
    assert run(tmp_path) == f"{said} True"
    assert run(tmp_path) == f"{said} False"


@pytest.mark.deep
def test_another_step_makes_its_caller_anew(tmp_path: Path) -> None:
    run(tmp_path)
    assert run(tmp_path, factor=3) == f"(200, {-3 * 2**40}) False True None True"


@pytest.mark.parametrize(
    "kept",
    [
        None,
        *(
            pytest.param(kept, marks=pytest.mark.deep)
            for kept in (b"no json\n", b"", b"{}\n", b"[]\n", b'{"key": 1}\n')
        ),
    ],
)
def test_a_damaged_file_is_made_anew(tmp_path: Path, kept: bytes | None) -> None:
    run(tmp_path)
    for path in (tmp_path / "kept").glob("sample.pair-*"):
        path.write_bytes(path.read_bytes()[:-1] if kept is None else kept)
    assert run(tmp_path).endswith("True")
    assert run(tmp_path).endswith("False")


@pytest.mark.deep
def test_what_is_said_of_the_code_may_be_damaged_too(tmp_path: Path) -> None:
    run(tmp_path)
    (path,) = (tmp_path / "kept").glob("sample.is_even-*")
    head, _, content = path.read_bytes().partition(b"\n")
    assert b", -1]" in head
    path.write_bytes(head.replace(b", -1]", b", -3]") + b"\n" + content)
    assert run(tmp_path) == f"(200, {-(2**41)}) False True None True"


def test_a_planted_file_is_not_loaded(tmp_path: Path) -> None:
    """Whole, and with the right digest: but others may write it."""
    run(tmp_path)
    for path in (tmp_path / "kept").iterdir():
        path.chmod(0o666)
    assert run(tmp_path).endswith("True")
    assert run(tmp_path).endswith("False"), "made anew in its place, and kept"
    (tmp_path / "kept").chmod(0o777)
    assert run(tmp_path).endswith("True")
    assert run(tmp_path).endswith("True")

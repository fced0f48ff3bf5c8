"""`make check` passes: asked as a test, so that other tests have the second core while types are checked."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_make_check() -> None:
    own = ("-o", ".venv/.installed", f"BIN={Path(sys.executable).parent}")
    make = ["make", "--no-print-directory", "check", *own]
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

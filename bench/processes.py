"""Whole processes, timed from start to end; what they print is kept, or goes to /dev/null."""

import subprocess
import time
from collections.abc import Sequence
from typing import NamedTuple

from offsets_tool.errors import OffsetsToolError


class Run(NamedTuple):
    """Seconds, and what it printed if that was asked for."""

    seconds: float
    output: bytes


def measured(command: Sequence[str], stdout: int | None = subprocess.PIPE) -> Run:
    """Runs it; `stdout` None drops what it prints. OffsetsToolError with its own words if it fails."""
    began = time.perf_counter()
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL if stdout is None else stdout, stderr=subprocess.PIPE, check=False
    )
    if done.returncode:
        raise OffsetsToolError(f"{command[0]} failed: {done.stderr.decode(errors='replace').strip()[-500:]}")
    return Run(time.perf_counter() - began, done.stdout or b"")

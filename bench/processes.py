"""Whole processes, timed from start to end by the CPU time they use; what they print is kept, or goes to /dev/null."""

import resource
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from offsets_tool.errors import OffsetsToolError


class Run(NamedTuple):
    """CPU seconds of all its threads, and what it printed if that was asked for."""

    seconds: float
    output: bytes


def measured(command: Sequence[str], stdout: int | None = subprocess.PIPE) -> Run:
    """Runs it; `stdout` None drops what it prints. OffsetsToolError with its own words if it fails."""
    began = _used()
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL if stdout is None else stdout, stderr=subprocess.PIPE, check=False
    )
    if done.returncode:
        raise OffsetsToolError(f"{command[0]} failed: {done.stderr.decode(errors='replace').strip()[-500:]}")
    return Run(_used() - began, done.stdout or b"")


def _used() -> float:
    """CPU time of all processes that were started here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

"""Time whole processes from start to end by the CPU time they use; keep what they print, or drop it."""

import resource
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from offsets_tool.errors import OffsetsToolError


class Run(NamedTuple):
    """A process that has ended: CPU seconds of all its threads, and what it printed if that was kept."""

    seconds: float
    output: bytes


def measured(command: Sequence[str], stdout: int | None = subprocess.PIPE) -> Run:
    """Run a command and return its Run; `stdout` None drops what it prints. OffsetsToolError with its stderr if it fails."""
    began = _used()
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL if stdout is None else stdout, stderr=subprocess.PIPE, check=False
    )
    if done.returncode:
        raise OffsetsToolError(f"{command[0]} failed: {done.stderr.decode(errors='replace').strip()[-500:]}")
    return Run(_used() - began, done.stdout or b"")


def _used() -> float:
    """Return the CPU time of all processes that this one started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

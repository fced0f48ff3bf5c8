"""Where a table comes from: the machine, the software and the commit it was measured on. No names of hosts or folders."""

import os
import platform
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

from oracle.jars import NEWEST
from spark.runtime.java import java

ROOT: Final = Path(__file__).resolve().parent.parent
_DECISIVE: Final = ("sse4_2", "avx2", "avx512f", "sha_ni")
_PACKAGES: Final = ("numba", "pyarrow", "kafka-python", "pyspark", "delta-spark", "deltalake")
_UNKNOWN: Final = "unknown"


class Origin(NamedTuple):
    """What a table was measured on: processor, cores and memory; software; commit; the day; and the load when the run began."""

    machine: str
    software: str
    commit: str
    measured_on: str
    load: float

    def __str__(self) -> str:
        return (
            f"Measured on {self.measured_on} at commit {self.commit}, on {self.machine}, "
            f"where the load was {self.load:.1f} when the run began."
        )


def origin(written: tuple[Path, ...] = ()) -> Origin:
    """Return where tables come from that are measured now; changes of files that the run itself has `written` are none."""
    packages = ", ".join(f"{package} {version(package)}" for package in _PACKAGES)
    software = f"Python {platform.python_version()}, {packages}, Java {_java()}, Kafka {NEWEST}"
    day = datetime.now(UTC).date().isoformat()
    return Origin(_machine(), software, commit(ROOT, written), day, round(os.getloadavg()[0], 1))


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process and all that it starts on one core. Linux only."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def commit(folder: Path, written: tuple[Path, ...] = ()) -> str:
    """Return the commit that a folder has checked out, and whether other files than those `written` were changed since."""
    head = _git(folder, "rev-parse", "--short=10", "HEAD")
    if not head:
        return _UNKNOWN
    within = (path.relative_to(folder) for path in written if path.is_relative_to(folder))
    is_changed = _git(
        folder, "status", "--porcelain", "--", ":/", *(f":(exclude,top){path}" for path in within)
    )
    return f"{head} with changes" if is_changed else head


def committed(path: Path) -> str:
    """Return a file as it is in the commit that is checked out; empty where it is in none."""
    return _git(path.parent, "show", f"HEAD:./{path.name}")


def _git(folder: Path, *words: str) -> str:
    """Return what git says; empty where there is no git, no repository or nothing to say."""
    try:
        return subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _machine() -> str:
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    flags = set((re.search(r"^flags\s*: (.*)$", text, re.MULTILINE) or [""])[0].split())
    name = model[1].strip() if model else platform.machine()
    decisive = ", ".join(flag for flag in _DECISIVE if flag in flags)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{os.cpu_count()} cores of {name} ({decisive}) with {memory:.0f} GB"


def _java() -> str:
    said = subprocess.run([java(), "-version"], capture_output=True, text=True, check=True).stderr
    found = re.search(r'version "([^"]+)"', said)
    return found[1] if found else "of an unknown version"

"""Describe what a table was measured on: the processor, and versions of software. No names of hosts or folders."""

import os
import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Final

from oracle.jars import NEWEST
from spark.runtime.java import java

_DECISIVE: Final = ("sse4_2", "avx2", "avx512f", "sha_ni")
_PACKAGES: Final = ("numba", "pyarrow", "kafka-python", "pyspark", "delta-spark", "deltalake")


def described() -> str:
    """Return a paragraph about the machine, with its load in the last minute."""
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    flags = set((re.search(r"^flags\s*: (.*)$", text, re.MULTILINE) or [""])[0].split())
    name = model[1].strip() if model else platform.machine()
    decisive = ", ".join(flag for flag in _DECISIVE if flag in flags)
    packages = ", ".join(f"{package} {version(package)}" for package in _PACKAGES)
    return (
        f"{os.cpu_count()} cores of {name} ({decisive}), shared with other work (load {os.getloadavg()[0]:.1f} at the start); "
        f"Python {platform.python_version()}, {packages}, Java {_java()}, Kafka {NEWEST}."
    )


def _java() -> str:
    said = subprocess.run([java(), "-version"], capture_output=True, text=True, check=True).stderr
    found = re.search(r'version "([^"]+)"', said)
    return found[1] if found else "of an unknown version"

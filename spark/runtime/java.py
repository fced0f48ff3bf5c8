"""Find the Java that Spark will start, and say in one sentence what is wrong with it.

The search is Spark's own (JAVA_HOME, then PATH), so that what is checked is what will run. Knows nothing of PySpark:
`make` runs it with the standard library alone, before anything is installed.
"""

import os
import re
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from offsets_tool.errors import OffsetsToolError, SetupError

OLDEST = 17
REMEDY = (
    "Install a JDK 17 (on Debian: apt-get install openjdk-17-jdk-headless) and let JAVA_HOME or PATH name it."
)


@lru_cache
def java() -> Path:
    """Return the `java` that Spark runs. SetupError if there is none, if it does not start, or if it is older than 17."""
    chosen = _chosen()
    version = _version(chosen)
    if version < OLDEST:
        raise SetupError(f"{chosen} is Java {version}, and Spark needs {OLDEST} or newer. {REMEDY}")
    return chosen


def _chosen() -> Path:
    if home := os.environ.get("JAVA_HOME"):
        return Path(home) / "bin" / "java"
    found = shutil.which("java")
    if found is None:
        raise SetupError(f"No Java was found. {REMEDY}")
    return Path(found)


def _version(java: Path) -> int:
    """Return the feature number of a Java: 17 of "17.0.15", 8 of "1.8.0_312". SetupError if the output of `java` has none."""
    try:
        said = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=True, timeout=60
        ).stderr
    except (OSError, subprocess.SubprocessError) as error:
        named = " (named by JAVA_HOME)" if os.environ.get("JAVA_HOME") else ""
        raise SetupError(f"{java}{named} does not run as Java. {REMEDY}") from error
    stated = re.search(r'version "(?:1\.)?(\d+)', said)
    if stated is None:
        raise SetupError(f"{java} does not tell a version. {REMEDY}")
    return int(stated[1])


def main() -> int:
    try:
        java()
    except OffsetsToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

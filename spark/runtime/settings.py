"""Spark's settings from spark-submit, spark-defaults.conf and environment variables, as they are before a session is made.

Our own settings give way to these. Of a JVM that is not started yet they are found where spark-submit will look for them, as some
of ours must be known when it starts. Knows what a master is and that jars add up, and of no other setting what it means.
"""

import os
import re
import shlex
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from socket import create_connection
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import getproxies

from pyspark.find_spark_home import _find_spark_home

from offsets_tool.errors import SetupError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER: Final = "spark.master"
JARS: Final = "spark.jars"
JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_LISTENING: Final = {"spark": 7077, "sc": 15002}
"""The kinds of masters that listen at an address, and the port of one that names none."""
_PATIENCE: Final = 10.0
"""Seconds in which a master must take a connection."""
_SETTING: Final = re.compile(r"((?:[^\s=:\\]|\\.)+)\s*[=:\s]\s*(.*)")
"""A line of a file of Java's properties, as files of Spark's settings have them: a name, a separator, a value."""


def is_submitted() -> bool:
    """Return whether spark-submit has started this process, and a JVM before it."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def settings_of_others() -> dict[str, str]:
    """Return Spark's settings as a JVM started from here finds them, without ours. SetupError for a file that cannot be read."""
    asked = _submit_arguments().parse_known_args(shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "")))[0]
    master = os.environ.get("MASTER") or os.environ.get("SPARK_MASTER")
    found = {MASTER: master} if master else {}
    file = Path(asked.properties_file) if asked.properties_file else _defaults_file()
    if file is not None:
        found |= dict(_settings_in(file))
    found |= dict(text.split("=", 1) for text in asked.conf if "=" in text)
    return found | ({MASTER: asked.master} if asked.master else {})


def joined_jars(*lists: str | None) -> dict[str, str]:
    """Return the setting of Spark that names all jars of these lists, each once; no setting where all lists are empty."""
    found = dict.fromkeys(jar for each in lists if each for jar in each.split(",") if jar)
    return {JARS: ",".join(found)} if found else {}


def is_local(master: str) -> bool:
    """Return whether a master is `local`: threads of the driver's own JVM."""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def require_reachable(master: str) -> None:
    """Raise SetupError where nobody listens at the address of a standalone master or of a Spark Connect server."""
    scheme, _, addresses = master.partition("://")
    # What lies behind a proxy cannot be asked directly.
    if scheme not in _LISTENING or (scheme == "sc" and getproxies()):
        return
    failures = [_refusal(address, _LISTENING[scheme]) for address in addresses.split(",")]
    if all(failures):
        raise SetupError(
            f"{master} cannot be reached ({failures[0]}). "
            "Check that this is the address of a master, and that it can be reached from here."
        )


def _refusal(address: str, port: int) -> str | None:
    """Return why nobody can be reached at `HOST:PORT`; None where somebody listens. `port` is that of an address without one."""
    try:
        named = urlsplit(f"//{address}")
        with create_connection((named.hostname or "", named.port or port), _PATIENCE):
            return None
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)


def is_on_cluster(session: "SparkSession") -> bool:
    """Return whether a session's tasks run elsewhere than in a JVM of this process."""
    return not hasattr(session, "_jsc") or not is_local(session.sparkContext.master or "")


def _submit_arguments() -> ArgumentParser:
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--master")
    parser.add_argument("--properties-file")
    parser.add_argument("--conf", "-c", action="append", default=[])
    return parser


def spark_home() -> Path:
    """Return the folder of the Spark that a JVM started from here runs."""
    return Path(_find_spark_home())


def configuration_folder() -> Path:
    """Return the folder that is on Spark's class path for its settings; it need not be there."""
    return Path(os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf")


def _defaults_file() -> Path | None:
    file = configuration_folder() / "spark-defaults.conf"
    return file if file.is_file() else None


def _settings_in(file: Path) -> Iterator[tuple[str, str]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(
            f"{file}, which has Spark's settings, cannot be read ({error}): let it be readable"
        ) from error
    for line in map(str.strip, lines):
        if line and line[0] not in "#!" and (found := _SETTING.fullmatch(line)):
            yield found[1], found[2].strip()

"""A standalone cluster of Spark on this machine: a master and two workers from the package pyspark, each in a folder of its own."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pyspark

from offsets_tool.columns import jit
from tests.corpora import FIXTURES

HOME: Final = Path(pyspark.__path__[0])
WORKERS: Final = 2
QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS: Final = f"""
spark.executor.memory            512m
spark.driver.extraJavaOptions    {QUICK}
spark.executor.extraJavaOptions  {QUICK}
spark.executorEnv.NUMBA_CACHE_DIR {Path(jit.__path__[0], "__pycache__")}
spark.sql.shuffle.partitions     3
spark.sql.codegen.wholeStage     false
spark.sql.adaptive.enabled       false
"""
"""What a platform team has set. (What is compiled is found where other tests have left it: compiling takes 15 seconds.)"""
PATIENCE: Final = 600


class Standalone:
    """A cluster that runs: its master, and the environment in which a command finds its settings."""

    def __init__(self, folder: Path, master: str) -> None:
        self.folder, self.master = folder, master
        conf = folder / "conf"
        conf.mkdir()
        (conf / "spark-defaults.conf").write_text(SETTINGS)
        self.environment = {
            **_environment(),
            "SPARK_CONF_DIR": str(conf),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(FIXTURES.parent),
        }

    def run(self, *command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run a command away from the sources, which executors do not find beside them."""
        return subprocess.run(
            command,
            env={**self.environment, **environment},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )


def _environment() -> dict[str, str]:
    """Return the environment without the variables that other tests set for Spark."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))}
    kept.pop("PYTHONPATH", None)
    return kept | {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "128m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
    }


@contextmanager
def standalone(folder: Path) -> Iterator[Standalone]:
    """Start a cluster and yield it; its processes end with the block."""
    with ExitStack() as running:
        at = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        log = running.enter_context(_started(folder / "master", "master.Master", *at))
        master = _said(log, r"Starting Spark master at (spark://\S+)")
        room = ("--cores", "1", "--memory", "700m")
        logs = []
        for number in range(WORKERS):
            here = folder / f"worker-{number}"
            own = ("--work-dir", str(here), *at, *room, master)
            logs.append(running.enter_context(_started(here, "worker.Worker", *own)))
        for log in logs:
            _said(log, "(Successfully registered with master)")
        yield Standalone(folder, master)


@contextmanager
def _started(folder: Path, program: str, *arguments: str) -> Iterator[Path]:
    folder.mkdir()
    log = folder / "log"
    command = [HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{program}", *arguments]
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=_environment(), cwd=folder, stdout=out, stderr=out)
    try:
        yield log
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _said(log: Path, pattern: str) -> str:
    until = time.monotonic() + PATIENCE
    while (found := re.search(pattern, log.read_text())) is None:
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.1)
    return found[1]

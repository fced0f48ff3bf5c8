"""The one way to a SparkSession: Delta's jars, this interpreter for the workers, UTC, and a quiet start.

Where SPARK_REMOTE names a Spark Connect server, that server's session is used, and what belongs to a JVM of our own is
left out. Knows nothing of tables or jobs.
"""

import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from offsets_tool.errors import SetupError
from spark.runtime.jars import DELTA, jars
from spark.runtime.java import java

SESSION = {"spark.sql.session.timeZone": "UTC"}
"""Settings of a session, which a Spark Connect server takes too."""

JVM = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    # Listing files with Spark's 10,000 tasks makes VACUUM of a small table take half a minute; Delta's 50 tasks for reading
    # its own log cost seconds as well.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    "spark.databricks.delta.snapshotPartitions": "2",
}

BRIEF = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Settings of a session that answers a few questions to little data: its JVM ends before better machine code would pay."""

NOISE = (
    b"WARNING: Using incubator modules: jdk.incubator.vector",
    b"WARNING: package sun.security.action not in java.base",
)
"""Lines that the JVM itself (17 and 25) prints about the modules Spark opens; no logging setting suppresses them."""

STDERR = 2
"""The file descriptor of stderr as a child process has it: in a notebook or under pytest `sys.stderr` is something else."""


def session(app: str = "offsets-tool", *, master: str | None = None, **conf: str) -> SparkSession:
    """Return a SparkSession that reads and writes Delta; the running one if there is one.

    `master` defaults to all cores of this machine; `conf` holds Spark's own keys (`**{"spark.driver.memory": "2g"}`) and wins.
    SetupError where Java, the jars or Spark Connect's packages are missing.
    """
    if os.environ.get("SPARK_REMOTE"):
        return _remote(app, conf)
    if SparkContext._gateway is None:
        java()
        conf = {**JVM, "spark.jars": ",".join(map(str, jars(DELTA))), **conf}
        _start_jvm(conf)
    return (
        SparkSession.builder.appName(app)
        .master(master or "local[*]")
        .config(map={**SESSION, **conf})
        .getOrCreate()
    )


def _remote(app: str, conf: Mapping[str, str]) -> SparkSession:
    try:
        return SparkSession.builder.appName(app).config(map={**SESSION, **conf}).getOrCreate()
    except (ImportError, PySparkException) as error:
        raise SetupError(
            f"SPARK_REMOTE is set, but its session cannot be had ({str(error).strip().splitlines()[0]}). "
            "Start that server and pip install 'pyspark[connect]==4.2.0', or unset SPARK_REMOTE."
        ) from error


def _start_jvm(conf: Mapping[str, str]) -> None:
    """Start the JVM that PySpark will find, with our settings and without its noise.

    It uses loopback and this interpreter unless the environment says otherwise: a cluster's driver has other addresses.
    """
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(
            logger
        ).disabled = True  # a page of JSON for each exception, which is raised anyway
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    log4j = (Path(__file__).parent / "log4j2.properties").as_uri()
    options = f"-Dlog4j2.configurationFile={log4j} {conf.get('spark.driver.extraJavaOptions', '')}".strip()
    settings = SparkConf(loadDefaults=False)
    settings.setAll([*conf.items(), ("spark.driver.extraJavaOptions", options)])
    heard, spoken = os.pipe()
    threading.Thread(target=_pass_on, args=(heard,), name="spark-says", daemon=True).start()
    try:
        gateway = launch_gateway(settings, {"stdout": spoken, "stderr": spoken})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)
    except PySparkException as error:
        raise SetupError(
            "Spark's JVM did not start; what it said stands above. Check JAVA_HOME and the memory that is free."
        ) from error
    finally:
        os.close(spoken)


def _pass_on(heard: int) -> None:
    """Copy what the JVM prints to our stderr (stdout is for data), line by line, without NOISE, until the JVM has ended."""
    with open(heard, "rb", buffering=0) as lines:
        for line in lines:
            if not line.startswith(NOISE):
                os.write(STDERR, line)

"""Make the SparkSession of a command: on this machine, on a cluster, or of a Spark Connect server; in UTC and without noise.

What others have set (spark-submit, spark-defaults.conf, variables) holds: ours fills what they left open, and what is for this
machine alone is set for it alone. Where a Spark Connect server is named, its session is used, and what belongs to a JVM of our
own is left out. Knows nothing of tables or jobs.
"""

import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession, SQLContext

from offsets_tool.errors import SetupError, UsageError
from spark.runtime.class_archive import archive_options
from spark.runtime.jars import DELTA, jars
from spark.runtime.java import java
from spark.runtime.package import send_package
from spark.runtime.settings import (
    JARS,
    JAVA_OPTIONS,
    MASTER,
    is_local,
    is_on_cluster,
    is_submitted,
    joined_jars,
    settings_of_others,
)

SESSION: Final = {"spark.sql.session.timeZone": "UTC"}
"""Settings of a session, which a Spark Connect server takes too: what the answers rest on."""

_OWN: Final[list[SparkSession]] = []
"""The sessions that were made here, of contexts that still run."""
_EXTENSIONS: Final = "spark.sql.extensions"
_DELTA: Final = "io.delta.sql.DeltaSparkSessionExtension"
_CATALOG: Final = {"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}
_QUIET: Final = {"spark.ui.showConsoleProgress": "false"}

LOCAL: Final = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "8",
    # Listing files with Spark's 10,000 tasks makes VACUUM of a small table take half a minute; Delta's 50 tasks for reading
    # its own log cost seconds as well.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    "spark.databricks.delta.snapshotPartitions": "2",
    # What a worker is sent at once is in its memory beside what is made of it.
    "spark.sql.execution.arrow.maxBytesPerBatch": "16m",
}
"""Settings for this machine alone: those who run a cluster know how many tasks it has room for, and who looks at its pages."""

BRIEF: Final = {JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Settings of a session that answers a few questions to little data: its JVM ends before better machine code would pay."""

NOISE: Final = (
    b"WARNING: Using incubator modules: jdk.incubator.vector",
    b"WARNING: package sun.security.action not in java.base",
)
"""Lines that the JVM itself (17 and 25) prints about the modules Spark opens; no logging setting suppresses them."""

STDERR: Final = 2
"""The file descriptor of stderr as a child process has it: in a notebook or under pytest `sys.stderr` is something else."""

_PYTHON: Final = "spark.pyspark.python"
_CONNECT: Final = "sc://"
_OF_SESSION: Final = "spark.sql."


def session(app: str = "offsets-tool", *, master: str | None = None, **conf: str) -> SparkSession:
    """Return a SparkSession that reads and writes Delta; where another runs, a new one beside it, whose settings stay as they are.

    `master` defaults to what others have set, else to all cores of this machine; `sc://HOST:PORT` is a Spark Connect server. `conf`
    holds Spark's own keys (`**{"spark.driver.memory": "2g"}`) and wins. Where the JVM of this process has ended, a new one is
    started. On a cluster, executors are sent this package.
    SetupError where Java, the jars or Spark Connect's packages are missing; UsageError for another master than spark-submit or
    SPARK_REMOTE names.
    """
    if remote := _server(master):
        return _remote(app, remote, conf)
    _forget_ended_jvm()
    asked = {**conf, **({MASTER: master} if master else {})}
    if SparkContext._active_spark_context is None:
        asked = _for_jvm(asked)
    made = _made(app, {**SESSION, **asked})
    if is_on_cluster(made):
        send_package(made)
    return made


def is_awaited() -> bool:
    """Return whether a cluster that runs this process as a driver waits for its session, and says that it failed without one."""
    if not is_submitted():
        return False
    SparkContext._ensure_initialized()
    return SparkConf().get("spark.submit.deployMode") == "cluster"


def _forget_ended_jvm() -> None:
    """Forget the JVM of this process if it has ended, with its context and sessions: PySpark would go on asking it.

    `prepare` ends its JVM; others run out of memory. What spark-submit started is not ours, and the process ends with it.
    """
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if gateway is None or process is None or process.poll() is None:
        return
    if (context := SparkContext._active_spark_context) is not None:
        context._jsc = None  # nobody is there to be told that it stops
        context.stop()
    gateway.shutdown_callback_server()
    process.stdin.close()
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = SQLContext._instantiatedContext = None
    _OWN.clear()


def _made(app: str, settings: Mapping[str, str]) -> SparkSession:
    running = SparkSession._instantiatedSession
    if running is not None and running not in _OWN:
        return _beside(running, settings)
    try:
        own = _started(app, settings)
    finally:
        _OWN[:] = [each for each in _OWN if each.sparkContext is SparkContext._active_spark_context]
    _OWN.append(own)
    return own


def _beside(running: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Return a session of ours in the context of one that a notebook or program started: views and settings of its own."""
    own = next((each for each in _OWN if each.sparkContext is running.sparkContext), None)
    if own is None:
        _OWN.append(own := running.newSession())
    for name, value in settings.items():
        if name.startswith(_OF_SESSION) and own.conf.isModifiable(name):
            own.conf.set(name, value)
    return own


def _started(app: str, settings: Mapping[str, str]) -> SparkSession:
    try:
        return SparkSession.builder.appName(app).config(map=dict(settings)).getOrCreate()
    except Py4JJavaError as error:
        why = str(error.java_exception).partition("\n")[0]
        raise SetupError(
            f"Spark has no session on {settings.get(MASTER, 'this master')} ({why}). "
            "Check that this is the address of a master, and that it can be reached from here."
        ) from error


def _server(master: str | None) -> str | None:
    """Return the Spark Connect server that is named; None if none is."""
    remote = os.environ.get("SPARK_REMOTE")
    if master is None or master.startswith(_CONNECT):
        return master or remote
    if remote:
        raise UsageError(f"SPARK_REMOTE names {remote}, and --master {master}: leave out one of them")
    return None


def _remote(app: str, url: str, conf: Mapping[str, str]) -> SparkSession:
    # A server that runs has its JVM and its executors already: what is for these, it refuses.
    own = {name: value for name, value in conf.items() if name.startswith(_OF_SESSION)}
    settings: dict[str, Any] = {**SESSION, **own}
    try:
        made = SparkSession.builder.appName(app).remote(url).config(map=settings).getOrCreate()
    except (ImportError, PySparkException) as error:
        raise SetupError(
            f"{url} is named as a Spark Connect server, but its session cannot be had "
            f"({str(error).strip().splitlines()[0]}). Start that server and pip install 'pyspark[connect]==4.2.0', "
            "or leave out --master and unset SPARK_REMOTE."
        ) from error
    if url.startswith(_CONNECT):
        send_package(made)
    return made


def _for_jvm(asked: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a new session that others do not set, given what is asked for; start its JVM if none runs."""
    if is_submitted() or SparkContext._gateway is not None:
        SparkContext._ensure_initialized()
        return _in_jvm(asked)
    java()
    named = settings_of_others()
    delta = _delta(named)
    settings = _filled(named, asked, delta, ",".join(map(str, jars(DELTA))) if delta else None)
    _start_jvm(settings, named)
    return settings


def _in_jvm(asked: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a new session in a running JVM: that of spark-submit, or of a session that was stopped."""
    named = dict(SparkConf().getAll())
    if is_submitted() and asked.get(MASTER, named[MASTER]) != named[MASTER]:
        raise UsageError(f"spark-submit has named the master {named[MASTER]}: leave out --master")
    extension = SparkContext._jvm.io.delta.sql.DeltaSparkSessionExtension  # type: ignore[union-attr]
    return _filled(named, asked, _delta(named) if isinstance(extension, JavaClass) else {})


def _filled(
    named: Mapping[str, str], asked: Mapping[str, str], delta: Mapping[str, str], own_jars: str | None = None
) -> dict[str, str]:
    """Return the settings asked for, and ours where nothing else sets them; extensions in `delta` and jars join those of others."""
    master = asked.get(MASTER) or named.get(MASTER) or "local[*]"
    ours = {**_QUIET, **(_CATALOG if delta else {}), **(LOCAL if is_local(master) else {})}
    return {
        **{key: value for key, value in ours.items() if key not in named},
        **delta,
        **asked,
        **joined_jars(named.get(JARS), asked.get(JARS), own_jars),
        MASTER: master,
    }


def _delta(named: Mapping[str, str]) -> dict[str, str]:
    """Return the setting of session extensions with Delta's added; nothing where Delta's is set already, as its jars are then."""
    theirs = [name for name in named.get(_EXTENSIONS, "").split(",") if name]
    return {} if _DELTA in theirs else {_EXTENSIONS: ",".join([*theirs, _DELTA])}


def _start_jvm(settings: Mapping[str, str], named: Mapping[str, str]) -> None:
    """Start the JVM that PySpark will find, with our settings and those that others have set, and without its noise.

    On this machine alone it uses loopback and this interpreter unless the environment says otherwise. A cluster's driver has other
    addresses, and its executors their own interpreter.
    """
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(
            logger
        ).disabled = True  # a page of JSON for each exception, which is raised anyway
    if is_local(settings[MASTER]):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    elif _PYTHON in named:
        os.environ.setdefault("PYSPARK_PYTHON", named[_PYTHON])
    log4j = (Path(__file__).parent / "log4j2.properties").as_uri()
    said = " ".join(filter(None, (named.get(JAVA_OPTIONS), settings.get(JAVA_OPTIONS))))
    archived = archive_options(java(), {**named, **settings, JAVA_OPTIONS: said})
    options = " ".join(filter(None, (f"-Dlog4j2.configurationFile={log4j}", said, archived)))
    given = SparkConf(loadDefaults=False)
    given.setAll([*settings.items(), (JAVA_OPTIONS, options)])
    heard, spoken = os.pipe()
    threading.Thread(target=_pass_on, args=(heard,), name="spark-says", daemon=True).start()
    try:
        gateway = launch_gateway(given, {"stdout": spoken, "stderr": spoken})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)
    except PySparkException as error:
        raise SetupError(
            "Spark's JVM did not start; what it said stands above. Check JAVA_HOME, the master and the memory that is free."
        ) from error
    finally:
        os.close(spoken)


def _pass_on(heard: int) -> None:
    """Copy what the JVM prints to our stderr (stdout is for data), line by line, without NOISE, until the JVM has ended."""
    with open(heard, "rb", buffering=0) as lines:
        for line in lines:
            if not line.startswith(NOISE):
                os.write(STDERR, line)

"""HDFS on 127.0.0.1: Hadoop's own cluster in one JVM, with the Hadoop that Spark brings."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from offsets_tool.log.storage import as_path
from oracle.jars import kafka_jars
from spark.runtime.jars import QUICK, JarSet
from spark.runtime.java import java
from tests.log.environment import environment

CLUSTER: Final = JarSet("hadoop-3.5.0", ("org.apache.hadoop:hadoop-client-minicluster:3.5.0",))
_OF_SPARK: Final = ("hadoop-client-*", "slf4j-api-*", "log4j-*", "jcl-over-*")


@contextmanager
def hdfs_store() -> Iterator[str]:
    """Start HDFS without any files inside of a `with` block; yield the URI of its root. Its user is `offsets`."""
    found = find_spec("pyspark")
    assert found is not None and found.origin is not None
    of_spark = Path(found.origin).parent / "jars"
    classes = [*kafka_jars(CLUSTER), *(jar for names in _OF_SPARK for jar in of_spark.glob(names))]
    options = [*QUICK, "-Xmx256m", "-DHADOOP_USER_NAME=offsets", "-cp", ":".join(map(str, classes))]
    with TemporaryDirectory() as folder, environment({"HADOOP_USER_NAME": "offsets"}):
        command = [str(java()), *options, str(Path(__file__).with_name("Hdfs.java")), folder]
        server = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert server.stdout is not None
            ports = (line.split()[1] for line in server.stdout if line.startswith("port "))
            yield f"hdfs://127.0.0.1:{next(ports)}"
        finally:
            server.kill()
            server.communicate()


def upload(folder: Path, to: str) -> None:
    """Copy the files of a folder into a folder of HDFS."""
    for path in (each for each in folder.rglob("*") if each.is_file()):
        as_path(f"{to}/{path.relative_to(folder).as_posix()}").write_bytes(path.read_bytes())

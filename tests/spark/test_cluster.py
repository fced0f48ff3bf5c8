"""All jobs on a standalone cluster of two workers: the lake is that of one machine, whatever becomes of executors."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from offsets_tool.log.archive.delta import open_delta, parquet_files
from spark.lake.lease import LEASE
from spark.runtime.package import package_bytes
from tests.log.mount_table import MOUNTED, mount
from tests.spark.lakes import Row, no_session
from tests.spark.standalone import HOME, SETTINGS, WORKERS, Standalone, standalone
from tests.spark.test_killed import JOBS, bring_all, content, grow

pytestmark = [pytest.mark.spark, pytest.mark.engine]

BY_TASKS = """
import sys
from spark.runtime import rows
rows.LITTLE = -1
"""
"""However little it is."""

ENTRY = """
from spark.cli import main
main(prog_name="offsets-spark")
"""
"""The file that docs/clusters.md gives to spark-submit."""

ENDING = """
import os, signal
from spark.cli import stream
reporter_of = stream._reporter
def ending(*options):
    report = reporter_of(*options)
    def reported(done):
        report(done)
        os.kill(os.getpid(), signal.SIGTERM)
    return reported
stream._reporter = ending
"""
"""Ends a stream as a scheduler does, once its first micro-batch is done."""

TELLING = """
import atexit, json
from pyspark.sql import SparkSession

def where(batches):
    import os, pyarrow, spark
    list(batches)
    yield pyarrow.RecordBatch.from_pydict({"name": [json.dumps([os.getcwd(), spark.__file__])]})

def tell():
    import spark
    session = SparkSession.getActiveSession()
    settings = dict(session.sparkContext.getConf().getAll())
    tasks = session.range(0, 4, 1, 4).mapInArrow(where, "name string").collect()
    print(json.dumps([settings, [json.loads(task.name) for task in tasks], spark.__file__]))

atexit.register(tell)
"""
"""What a session was made of, and where its tasks run, as the last line."""

DYING = """
import itertools, os, signal, time
from pathlib import Path

marks = Path(sys.argv.pop())
numbers = itertools.count()
through = rows._InSpark.through

def dying(self, task, schema):
    number = next(numbers)

    def once(batches):
        yield from task(batches)
        try:
            (marks / str(number)).touch(exist_ok=False)
        except FileExistsError:
            return
        daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
        os.kill(int(daemon.rpartition(")")[2].split()[1]), signal.SIGKILL)
        time.sleep(60)

    return through(self, once if number < 3 else task, schema)

rows._InSpark.through = dying
"""
"""In each of the first stages, one task kills the executor that runs it, once it has written its files and before it is done."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("broker")
    grow(folder, 1)
    return folder


@pytest.fixture(scope="module")
def of_one_machine(broker: Path) -> dict[str, list[Row]]:
    lake = broker.parent / f"{broker.name}-lake"
    assert [step.run for step in bring_all(no_session, lake, broker)] == [1] * len(JOBS)  # type: ignore[arg-type]
    return content(lake)


@pytest.mark.deep
def test_by_spark_submit(
    cluster: Standalone, broker: Path, of_one_machine: dict[str, list[Row]], tmp_path: Path
) -> None:
    """Driver and executors have the package from --py-files alone; settings are those of the file and of the command."""
    entry, package, lake = tmp_path / "main.py", tmp_path / "offsets-tool.zip", tmp_path / "lake"
    entry.write_text(BY_TASKS + TELLING + ENTRY)
    package.write_bytes(package_bytes())
    done = cluster.run(
        str(HOME / "bin" / "spark-submit"),
        *("--master", cluster.master, "--py-files", str(package)),
        *("--conf", "spark.sql.session.timeZone=Asia/Tokyo", "--conf", "spark.sql.extensions=a.B"),
        *(str(entry), "run", str(broker), "--lake", str(lake), "--cluster", "c"),
        PYTHONPATH="",
    )
    assert done.returncode == 0, done.stderr
    *steps, told = [json.loads(line) for line in done.stdout.splitlines() if line[0] in "{["]
    assert [step["run"] for step in steps] == [1] * len(JOBS)
    assert content(lake) == of_one_machine
    settings, tasks, driver = told
    assert driver == f"{package}/spark/__init__.py"
    assert {file for _, file in tasks} == {f"./{package.name}/spark/__init__.py"}
    assert len({folder for folder, _ in tasks}) == WORKERS
    asked = {
        "spark.master": cluster.master,
        "spark.sql.shuffle.partitions": "3",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": None,
        "spark.sql.extensions": "a.B",
        "spark.sql.session.timeZone": "UTC",
    }
    assert {name: settings.get(name) for name in asked} == asked


def test_executors_are_killed(
    cluster: Standalone, broker: Path, of_one_machine: dict[str, list[Row]], tmp_path: Path
) -> None:
    """Their tasks are done again; what the dead had written does not count."""
    marks, lake = tmp_path / "marks", tmp_path / "lake"
    marks.mkdir()
    arguments = ["run", str(broker), "--lake", str(lake), "--cluster", "c", "--master", cluster.master]
    done = cluster.run(sys.executable, "-c", BY_TASKS + DYING + ENTRY, *arguments, str(marks))
    assert done.returncode == 0, done.stderr
    assert content(lake) == of_one_machine
    assert {mark.name for mark in marks.iterdir()} == {"0", "1", "2"}
    assert done.stderr.count("Lost executor") == 3
    written = {file.name for file in (lake / "log").glob("*.parquet")}
    assert len(written) > len(parquet_files(open_delta(lake / "log")))


@pytest.mark.deep
def test_a_lake_that_only_hadoop_knows(
    cluster: Standalone, broker: Path, of_one_machine: dict[str, list[Row]], tmp_path: Path
) -> None:
    """Executors read and write it as the driver does; it lies on a disk, where it is looked at."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount(tmp_path, {"disk": f"file://{disk}"})
    settings = f"{SETTINGS}spark.executorEnv.HADOOP_CONF_DIR {tmp_path}\n"
    (tmp_path / "spark-defaults.conf").write_text(settings)
    arguments = [str(broker), "--lake", f"{MOUNTED}/disk/lake", "--cluster", "c", "--master", cluster.master]
    done = cluster.run(
        *(sys.executable, "-c", BY_TASKS + ENTRY, "run", *arguments),
        HADOOP_CONF_DIR=str(tmp_path),
        SPARK_CONF_DIR=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    found = content(disk / "lake")
    assert found.pop(LEASE) == []
    assert found == of_one_machine


def test_a_stream_of_folders(
    cluster: Standalone, broker: Path, of_one_machine: dict[str, list[Row]], tmp_path: Path
) -> None:
    """The rows of its data source come from executors, as all work of its micro-batch; the first one ends it."""
    arguments = ["stream", str(broker), "--lake", str(tmp_path), "--cluster", "c", "--master", cluster.master]
    done = cluster.run(sys.executable, "-c", BY_TASKS + ENDING + ENTRY, *arguments)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["batch"] for line in done.stdout.splitlines()] == [0]
    assert content(tmp_path) == of_one_machine


def test_what_executors_lack_is_said(cluster: Standalone, broker: Path, tmp_path: Path) -> None:
    arguments = ["ingest", str(broker), "--lake", str(tmp_path / "lake"), "--master", cluster.master]
    done = cluster.run(
        sys.executable, "-c", BY_TASKS + ENTRY, *arguments, PYSPARK_PYTHON="/nowhere/bin/python"
    )
    failed = json.loads(done.stdout)
    assert (done.returncode, failed) == (1, {"job": "ingest", "error": failed["error"]})
    assert done.stderr == f"Error: {failed['error']}\n"
    assert done.stderr.startswith("Error: Spark's executors have no program /nowhere/bin/python; what it had")
    assert done.stderr.count("\n") == 1

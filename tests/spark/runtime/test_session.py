"""The session writes and reads Delta, runs Python in its workers, and starts without a word."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from offsets_tool.errors import SetupError
from spark.runtime.jars import DELTA, jars
from spark.runtime.session import session as start

pytestmark = [pytest.mark.spark, pytest.mark.engine]


def test_delta_is_written_and_read(session: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    session.createDataFrame([("orders", 3), ("payments", 7)], "topic string, partition int").write.format(
        "delta"
    ).save(table)
    session.sql(f"UPDATE delta.`{table}` SET partition = 8 WHERE topic = 'payments'")
    rows = session.read.format("delta").load(table).orderBy("topic").collect()
    assert [tuple(row) for row in rows] == [("orders", 3), ("payments", 8)]
    assert [row.version for row in session.sql(f"DESCRIBE HISTORY delta.`{table}`").collect()] == [1, 0]


def test_workers_run_this_interpreter_and_find_the_library(session: SparkSession) -> None:
    def who(batches):  # type: ignore[no-untyped-def]
        import offsets_tool.errors

        for _ in batches:
            names = [sys.executable, offsets_tool.errors.SetupError.__name__]
            yield pa.RecordBatch.from_pydict({"name": names})

    rows = session.range(0, 1, 1, 1).mapInArrow(who, "name string").collect()
    assert [row.name for row in rows] == [sys.executable, "SetupError"]


def test_times_are_utc(session: SparkSession) -> None:
    assert session.sql("SELECT current_timezone()").first()[0] == "UTC"


def test_the_running_session_is_handed_out_again(session: SparkSession) -> None:
    assert start() is session


def test_an_own_setting_wins(session: SparkSession) -> None:
    key = "spark.sql.shuffle.partitions"
    before = session.conf.get(key)
    try:
        assert start(**{key: "3"}).conf.get(key) == "3"
    finally:
        session.conf.set(key, before)


BESIDE = """
from pathlib import Path
from pyspark.sql import SparkSession
from offsets_tool.errors import SetupError
from spark.cli import main
from spark.runtime.session import session
from spark.views.views import open_lake
from tests.spark.lakes import SEGMENT, ingest_here
import sys
lake = Path(sys.argv[1])
ingest_here(lake, SEGMENT, cluster="txn")
theirs = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config(
    "spark.sql.session.timeZone", "Asia/Tokyo").getOrCreate()
theirs.sql("SELECT 7 AS mine").createOrReplaceTempView("events")
main(["sql", "--lake", str(lake), "SELECT count(*) > 0 AS some FROM events"], standalone_mode=False)
assert session() is session() is not theirs
print(theirs.conf.get("spark.sql.session.timeZone"), theirs.table("events").first()[0], len(theirs.catalog.listTables()))
import spark.views.views
spark.views.views._FEW_FILES = 0
try:
    open_lake(theirs, str(lake))
except SetupError as error:
    print(str(error)[:37])
"""


def test_a_session_that_runs_keeps_its_settings_and_views(tmp_path: Path) -> None:
    """That of a notebook: what it is asked beside stays out of it; one without Delta is told so in a sentence."""
    program = [sys.executable, "-c", BESIDE, str(tmp_path / "lake")]
    told = subprocess.run(program, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines() == [
        '{"some":true}',
        "Asia/Tokyo 7 1",
        "this Spark session cannot read Delta:",
    ]


SPEAKING = """
import sys, time
from spark.runtime.session import session
started = session(master="local[1]")
for query in ("SELECT nobody_knows_this", "SELECT 1 / (id - id) FROM range(3)"):
    try:
        list(started.sql(query).toLocalIterator())
    except Exception as error:
        print(type(error).__name__)
time.sleep(1)  # what Spark says reaches stderr through a thread
print("now it gets over something", file=sys.stderr, flush=True)
java = started._jvm
error = java.java.lang.RuntimeException("it hums\\nand hums")
java.org.slf4j.LoggerFactory.getLogger("org.apache.spark.Any").error("Got over it\\n\\tat nowhere.", error)
time.sleep(1)
"""


def test_stderr_has_nothing_but_a_line_without_a_stack_for_what_spark_got_over() -> None:
    """Neither the start nor a query that fails says anything there."""
    jars(DELTA)  # fetching them would be worth a line on stderr
    told = subprocess.run([sys.executable, "-c", SPEAKING], capture_output=True, text=True, check=False)
    assert (told.stdout, told.returncode) == ("AnalysisException\nPy4JJavaError\n", 0)
    first, second = told.stderr.splitlines()
    assert first == "now it gets over something" and second[8:] == " ERROR Any: Got over it"


ENDED = """
import sys
from pyspark import SparkContext
from spark.runtime.prepare import _end
from spark.runtime.session import session
def answers(number):
    started = session(master="local[1]")
    started.range(number).write.format("delta").mode("overwrite").save(sys.argv[1])
    print(started.read.format("delta").load(sys.argv[1]).count())
    return started
_end(answers(1))
answers(2)
process = SparkContext._gateway.proc
process.kill()
process.wait()
last = answers(3)
assert session() is last
last.stop()
"""


def test_a_session_after_the_jvm_has_ended_starts_another(tmp_path: Path) -> None:
    """As `prepare` ends it, after its session was stopped; and as a lack of memory does, while its session runs."""
    program = [sys.executable, "-c", ENDED, str(tmp_path / "table")]
    told = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (told.stdout.splitlines(), told.returncode) == (["1", "2", "3"], 0), told.stderr


def test_a_jvm_that_cannot_start_is_a_setup_error() -> None:
    program = (
        "from spark.runtime.session import session\n"
        "from offsets_tool.errors import SetupError\n"
        "try:\n    session(**{'spark.driver.memory': '1k'})\n"
        "except SetupError as error:\n    print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert told.stdout.startswith("Spark's JVM did not start; what it said stands above.")
    assert "heap" in told.stderr


def test_a_connect_server_without_its_packages_is_a_setup_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "grpc", None)
    # PySpark takes a main module without a file, such as pytest-xdist's, for a doctest of its own.
    monkeypatch.setattr(sys.modules["__main__"], "__file__", __file__, raising=False)
    with pytest.raises(SetupError, match="unset SPARK_REMOTE"):
        start()

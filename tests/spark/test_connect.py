"""All jobs and a question through Spark Connect: a client without a JVM of its own, and a server that only has the plans."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from offsets_tool.lake.tables import SOURCES
from offsets_tool.log.archive.delta import delta_rows
from tests.spark.lakes import no_session
from tests.spark.standalone import SETTINGS
from tests.spark.test_killed import JOBS, bring_all, content, grow

pytestmark = [pytest.mark.spark, pytest.mark.server]

BY_CLIENT = """
import sys
from pathlib import Path
from spark.cli import main
from spark.runtime import rows
rows.LITTLE = -1
broker, lake, query = sys.argv[1:]
main(["run", broker, "--lake", lake, "--cluster", "c"], standalone_mode=False)
main(["sql", "--lake", lake, query], standalone_mode=False)
"""
"""Both commands by one server, with all work done by its tasks, however little it is."""
QUERY = "SELECT cluster, count(*) AS files FROM sources GROUP BY cluster"


def test_a_lake_made_through_connect_is_as_any_other(tmp_path: Path) -> None:
    """SPARK_REMOTE=local: PySpark starts a Connect server (SPARK_TESTING: on any free port) and is its client."""
    broker, lake, here = tmp_path / "broker", tmp_path / "lake", tmp_path / "here"
    grow(broker, 1)
    bring_all(no_session, here, broker)  # type: ignore[arg-type]
    (tmp_path / "spark-defaults.conf").write_text(SETTINGS)
    server = {
        "SPARK_REMOTE": "local[2]",
        "SPARK_TESTING": "1",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONF_DIR": str(tmp_path),
        "PYSPARK_PYTHON": sys.executable,
    }
    done = subprocess.run(
        [sys.executable, "-c", BY_CLIENT, str(broker), str(lake), QUERY],
        env={**os.environ, **server},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Failed to set" not in done.stderr
    *steps, answer = [json.loads(line) for line in done.stdout.splitlines()]
    assert [step["run"] for step in steps] == [1] * len(JOBS)
    assert content(lake) == content(here)
    assert answer == {"cluster": "c", "files": delta_rows(lake / SOURCES.name).num_rows}

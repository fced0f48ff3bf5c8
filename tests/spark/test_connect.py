"""An ingest through Spark Connect: a client without a JVM of its own, and a server that only has the plans."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.lakes import BY_SPARK, CORPORA, comparable, plain

pytestmark = [pytest.mark.spark, pytest.mark.server]

LOGS = CORPORA / "3.9.2-txn" / "segments"


def test_a_lake_ingested_through_connect_is_as_any_other(tmp_path: Path) -> None:
    """SPARK_REMOTE=local: PySpark starts a Connect server (SPARK_TESTING: on any free port) and is its client."""
    lake = tmp_path / "lake"
    server = {"SPARK_REMOTE": "local[2]", "SPARK_TESTING": "1", "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [*BY_SPARK, "ingest", str(LOGS), "--lake", str(lake)],
        env={**os.environ, **server, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (told,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (told["run"], told["records"]) == (1, len(plain(LOGS)["log"]))
    assert comparable(lake) == plain(LOGS)

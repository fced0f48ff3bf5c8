"""A topic of all mixes, made from a seed: every table of the lake is plain Python's, row for row."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from bench.generator.batches import write_batches
from bench.generator.mixes import MIXES
from spark.ingest.ingest import Request
from spark.run import run
from tests.spark.lakes import bring
from tests.spark.sums import Sum, of_lake, of_plain_python

pytestmark = [pytest.mark.spark, pytest.mark.deep]

RECORDS = 200_000
OF_EACH = dict.fromkeys(MIXES, (48_000, 105)) | {"rebalances": (10_000, 1_000)}
"""How many records, about, and the bytes of one with its share of its batch. Plain Python takes minutes for a million."""
Sums = dict[str, dict[str, Sum]]


def made(folder: Path) -> dict[str, Path]:
    """Make a broker's logs of each mix, and return their folders."""
    found = {}
    for number, (name, mix) in enumerate(MIXES.items()):
        path = folder / name / f"__consumer_offsets-{number}" / f"{0:020d}.log"
        path.parent.mkdir(parents=True)
        records, bytes_each = OF_EACH[name]
        path.write_bytes(write_batches(mix(Random(number)), records * bytes_each))
        found[name] = folder / name
    return found


def test_all_tables_of_a_large_topic_are_those_of_plain_python(session: SparkSession, tmp_path: Path) -> None:
    logs, lake = made(tmp_path / "logs"), tmp_path / "lake"
    with ProcessPoolExecutor(2, get_context("spawn"), max_tasks_per_child=1) as others:
        expected = {name: others.submit(of_plain_python, name, path) for name, path in logs.items()}
        for name, path in logs.items():
            bring(session, lake, path, cluster=name)
        *_, last = logs
        list(run(Request(paths=[str(logs[last])], lake=str(lake), cluster=last), lambda: session, "auto"))
        found = {name: others.submit(of_lake, lake, name) for name in logs}
        assert {name: sums.result() for name, sums in found.items()} == {
            name: sums.result() for name, sums in expected.items()
        }
    assert sum(sums.result()["log"].rows for sums in found.values()) >= RECORDS
    empty = [
        table for table in found[last].result() if not any(s.result()[table].rows for s in found.values())
    ]
    assert empty == ["anomalies"], "what these mixes hold is all possible"

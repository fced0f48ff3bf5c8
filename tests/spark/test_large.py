"""A topic made from a seed, of all mixes: its histories in the lake are the library's, row for row."""

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from bench.batches import write_batches
from bench.mixes import MIXES
from tests.spark.histories import digests, plain_digests, tell
from tests.spark.lakes import bring

pytestmark = [pytest.mark.spark, pytest.mark.deep]

RECORDS = 1_000_000
BYTES_EACH = 105
"""A record and its share of its batch, in the mixes whose records are small."""


def test_histories_of_a_large_topic_are_those_of_plain_python(session: SparkSession, tmp_path: Path) -> None:
    for number, mix in enumerate(MIXES.values()):
        path = tmp_path / "logs" / f"__consumer_offsets-{number}" / f"{0:020d}.log"
        path.parent.mkdir(parents=True)
        path.write_bytes(write_batches(mix(Random(number)), RECORDS * BYTES_EACH // 3))
    assert bring(session, tmp_path / "lake", tmp_path / "logs", cluster="c").sums["records"] >= RECORDS
    tell(session, tmp_path / "lake")
    found = digests(tmp_path / "lake")
    assert found == plain_digests("c", tmp_path / "logs")
    assert all(found[name] for name in ("offset_history", "group_history", "member_history"))

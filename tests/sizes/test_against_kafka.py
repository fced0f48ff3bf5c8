"""What one run of the cleaner is said to leave is what Kafka's own Cleaner leaves of the same segments."""

from dataclasses import replace
from pathlib import Path

import pytest

from offsets_tool.log.batches.header import HEADER_SIZE_V2
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead
from oracle.client import Oracle
from tests.replay.random_logs import READERS, RandomLog
from tests.sizes.sized_logs import Sized
from tests.sizes.test_sized_records import columns_of
from tests.sizes.test_tally import write_segments

pytestmark = pytest.mark.java

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    "seeds", [range(6), pytest.param(range(6, 60), marks=pytest.mark.deep)], ids=["some", "many"]
)
def test_one_run_leaves_what_kafka_leaves(seeds: range, tmp_path: Path, oracle: Oracle) -> None:
    cleaned = grown = 0
    for seed in seeds:
        placed = RandomLog(seed, READERS["4.3.1"]).grow(120).placed
        write_segments(tmp_path, placed, 40, 90)
        (said,) = Sized(tmp_path).partitions
        path = tmp_path / "cleaned.log"
        path.write_bytes(oracle.clean(tmp_path / "__consumer_offsets-0", NOW))
        batches = [item for item in read_segment(path) if isinstance(item, BatchRead)]
        assert said["left_now_records"] == sum(len(read.records) for read in batches), seed
        more = sum(map(_growth, batches))
        # Kafka does not always keep the emptied last batch of a producer whose transaction was aborted behind what is cleaned.
        assert said["left_now_bytes"] + more - path.stat().st_size in (0, HEADER_SIZE_V2), seed
        cleaned += said["left_now_records"] < said["records"]
        grown += more > 0
        path.unlink()
    assert cleaned and grown


def _growth(read: BatchRead) -> int:
    """Return how many bytes records grow when their batch gets a delete horizon, from which their times then count."""
    if read.batch.delete_horizon_ms is None:
        return 0
    grown = [
        replace(record, batch=replace(read.batch, base_timestamp=record.timestamp)) for record in read.records
    ]
    own, before = (columns_of(each).records.own for each in (read, read._replace(records=tuple(grown))))
    return int((own - before).sum())

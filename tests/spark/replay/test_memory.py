"""However long a partition's log is, the worker that replays it holds its keys and not its rows."""

import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest

KEYS, AT_ONCE = 5_000, 10_000
RECORDS = 2_000_000
BEFORE = 500_000
"""After so many records everything is loaded, every key has its place and a file is being written."""
MOST = 100 << 20
"""Bytes that may come to it. What is written of the other records takes several times that, as columns or as objects."""
_WORKER = f"""
import resource, sys
import pyarrow as pa
from offsets_tool.relations.row_events import COLUMNS
from offsets_tool.lake.plan import Work
from offsets_tool.lake.rows import LakeRows
from spark.replay.tasks import ReplayJob, replay_rows
from offsets_tool.lake.tables import EVENTS, LOG

ALIKE = {{
    "log_partition": 0, "is_transactional": False, "is_control": False, "record_type": 1,
    "topic": "topic", "value_version": 3, "leader_epoch": -1, "expire_timestamp": -1, "producer_id": -1,
    "producer_epoch": -1, "sequence": -1, "magic": 2, "topic_id": "A" * 22,
}}
TYPES = {{
    field.name: field.type for table in (LOG, EVENTS) for field in table.schema if field.name in COLUMNS
}}

def rows(first):
    each = range(first, first + {AT_ONCE})
    said = {{
        "log_offset": each, "base_offset": each, "committed_offset": each,
        "timestamp": [10**12 + number for number in each], "commit_timestamp": [10**12 + number for number in each],
        "group": [f"group-{{number % {KEYS} // 10}}" for number in each], "partition": [number % 10 for number in each],
        "metadata": [f"at {{number}}" for number in each],
    }}
    columns = [pa.array(said.get(name, [ALIKE.get(name)] * {AT_ONCE}), type_) for name, type_ in TYPES.items()]
    return pa.record_batch(columns, list(TYPES))

def batches():
    for first in range(0, {RECORDS}, {AT_ONCE}):
        if first == {BEFORE}:
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        yield rows(first)

work = Work("c", 0, {RECORDS}, None, None, 0, 0)
told = replay_rows(ReplayJob((work,), 1, sys.argv[1], {{}}, LakeRows([], [], frozenset(), 1)), 0, batches())
assert told.error is told.lost is None, told
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.spark
@pytest.mark.deep
def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WORKER, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = ds.dataset(tmp_path / "offset_history", format="parquet")
    assert told.count_rows() == RECORDS
    assert told.count_rows(ds.field("to_log_offset").is_null()) == KEYS
    before, after = map(int, done.stdout.split())
    assert (after - before) << 10 < MOST

"""A cluster's logs are what they say: groups where Kafka puts them, of the size and with the group metadata that were asked for."""

from pathlib import Path
from random import Random

import pytest

from bench.generator.batches import repeated
from bench.generator.clusters import CLUSTER_GROUPS, cluster_logs
from bench.lake.scale import _of_cpu
from offsets_tool.events import decode
from offsets_tool.log.segment import read_segment
from offsets_tool.placement import partition_for
from offsets_tool.rows import BatchRead, LogRecord

SIZE = 400_000


def records(content: bytes, folder: Path) -> list[LogRecord]:
    path = folder / "00000000000000000000.log"
    path.write_bytes(content)
    return [record for item in read_segment(path) if isinstance(item, BatchRead) for record in item.records]


@pytest.mark.parametrize("metadata", [0.0, 0.2])
def test_each_group_is_in_its_log_partition(metadata: float, tmp_path: Path) -> None:
    logs = cluster_logs(Random(1), SIZE, metadata)
    assert len(logs) == 50
    found: dict[str, set[str]] = {}
    bytes_of = {"OffsetCommit": 0, "GroupMetadata": 0}
    for log_partition, content in enumerate(logs):
        for record in records(content, tmp_path):
            event = decode(record)
            assert event.problem is None and event.key is not None and event.value is not None
            name = event.key.type.name
            group = event.key.data.group
            assert partition_for(group) == log_partition
            bytes_of[name] += len(record.key or b"") + len(record.value or b"")
            topics = found.setdefault(group, set())
            if name == "OffsetCommit":
                topics.add(event.key.data.topic)
    assert len(found) == CLUSTER_GROUPS
    assert all(len(topics) == 1 for topics in found.values())
    total = sum(bytes_of.values())
    assert SIZE <= total < SIZE + 10_000
    assert bytes_of["GroupMetadata"] / total == pytest.approx(metadata, abs=0.02)


def test_an_empty_log_partition_stays_empty() -> None:
    assert list(repeated(b"", 3)) == [b"", b"", b""]


def test_core_hours_are_those_of_all_jobs() -> None:
    cpu = {"ingest": 1.0, "replay": 0.5, "lag": 0.5, "expiry": 0.5, "findings": 2.0}
    nights = [{"cpu": cpu}, {"cpu": cpu | {"ingest": 3.0, "findings": 3.0}}]
    assert list(_of_cpu(nights, 1.0)) == ["2.0", "0.5", "0.5", "0.5", "2.5", "6.0", "1.7"]

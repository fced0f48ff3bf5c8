"""Batches that Kafka is asked to build, and the JSON in which java/oracle/Build.java takes them."""

import base64
import json
from typing import NamedTuple


class Record(NamedTuple):
    """A record to be built: timestamp in ms; its log offset, or the next one."""

    key: bytes | None
    value: bytes | None
    timestamp: int = 0
    offset: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Marker(NamedTuple):
    """The one record of a control batch: COMMIT or ABORT."""

    type: str
    coordinator_epoch: int = 0
    timestamp: int = 0


class Batch(NamedTuple):
    """A batch to be built by Kafka's MemoryRecordsBuilder; without records and marker, the empty batch that compaction leaves.

    `last_offset` may lie beyond the last record's. `log_append_time` (ms) counts where `timestamp_type` is LogAppendTime.
    """

    records: tuple[Record, ...] = ()
    marker: Marker | None = None
    magic: int = 2
    codec: str = "none"
    timestamp_type: str = "CreateTime"
    log_append_time: int = -1
    base_offset: int = 0
    last_offset: int | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    partition_leader_epoch: int = 0
    delete_horizon_ms: int | None = None


def described(batch: Batch) -> bytes:
    """Return the batch as the JSON that Build.java reads."""
    fields = {_camel(name): value for name, value in batch._asdict().items()}
    fields["marker"] = batch.marker and {
        _camel(name): value for name, value in batch.marker._asdict().items()
    }
    fields["records"] = [
        {
            "offset": batch.base_offset + place if record.offset is None else record.offset,
            "timestamp": record.timestamp,
            "key": _base64(record.key),
            "value": _base64(record.value),
            "headers": [[name, _base64(value)] for name, value in record.headers],
        }
        for place, record in enumerate(batch.records)
    ]
    return json.dumps(fields).encode()


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _base64(field: bytes | None) -> str | None:
    return None if field is None else base64.b64encode(field).decode()

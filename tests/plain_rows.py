"""What the tables of a lake must hold, worked out without Arrow: from LogRecords, and from the JSON that `decode` prints."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from offsets_tool.events import decode
from offsets_tool.evidence.event_json import event_json
from offsets_tool.log.discover import find_segments
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead, LogRecord
from offsets_tool.wire.json import bytes_text

COMMITS = ("LegacyOffsetCommit", "OffsetCommit")
COMMIT_DEFAULTS = {"leaderEpoch": -1, "expireTimestamp": -1, "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}
Row = dict[str, Any]


def records(paths: Iterable[Path]) -> Iterator[LogRecord]:
    """Yield all records under the paths, file after file."""
    for segment in find_segments([path.resolve() for path in paths]):
        for item in read_segment(segment):
            if isinstance(item, BatchRead):
                yield from item.records


def event(record: LogRecord) -> Row:
    """Return the columns of `events` for a record, but for cluster, source and run."""
    shown = event_json(decode(record))
    batch, key, value = shown.get("batch") or {}, shown["key"] or {}, shown["value"] or {}
    control, data = shown.get("control") or {}, key.get("data") or {}
    decoded = decode(record)
    return {
        "log_partition": shown["partition"],
        "log_offset": shown["offset"],
        "timestamp": shown["timestamp"],
        "timestamp_type": shown["timestamp_type"],
        "base_offset": batch.get("base_offset"),
        "partition_leader_epoch": batch.get("partition_leader_epoch"),
        "producer_id": record.producer_id,
        "producer_epoch": record.producer_epoch,
        "sequence": record.sequence,
        "is_transactional": record.is_transactional,
        "is_control": record.is_control,
        "misplaced": record.misplaced,
        "control": control.get("type"),
        "coordinator_epoch": control.get("coordinator_epoch"),
        "record_type": decoded.type_id,
        "record_name": key.get("name"),
        "is_tombstone": shown["tombstone"],
        "group": data.get("group", data.get("groupId")),
        "topic": data.get("topic"),
        "partition": data.get("partition"),
        "member_id": data.get("memberId"),
        "regular_expression": data.get("regularExpression"),
        "value_version": decoded.value_version,
        "layout": decoded.value.layout if decoded.value else None,
        **_commit(key.get("name"), value.get("data")),
        "problem": shown["problem"],
        "kept_raw": decoded.kept_raw,
    }


def _commit(name: str | None, data: Row | None) -> Row:
    columns = ("offset", "leaderEpoch", "metadata", "commitTimestamp", "expireTimestamp", "topicId")
    names = (
        "committed_offset",
        "leader_epoch",
        "metadata",
        "commit_timestamp",
        "expire_timestamp",
        "topic_id",
    )
    is_commit = name in COMMITS and data is not None
    known = COMMIT_DEFAULTS | (data or {}) if is_commit else {}
    has_json = data is not None and (not is_commit or "unknownTags" in data)
    return {
        **{ours: known.get(kafkas) for ours, kafkas in zip(names, columns, strict=True)},
        "value_json": data if has_json else None,
    }


def log(record: LogRecord) -> Row:
    """Return the columns of `log` for a record, but for cluster, source and run; bytes as base64."""
    batch = event_json(decode(record)).get("batch") or {}
    in_batch = ("base_offset", "last_offset", "magic", "codec", "partition_leader_epoch", "base_sequence")
    plain = ("log_partition", "log_offset", "timestamp", "timestamp_type", "producer_id", "producer_epoch")
    flags = ("sequence", "is_transactional", "is_control", "misplaced")
    return {
        **{name: getattr(record, name) for name in (*plain, *flags)},
        **{name: batch.get(name) for name in (*in_batch, "delete_horizon_ms")},
        "batch_position": batch.get("position"),
        "headers": [
            {"key": bytes_text(h.key), "value": h.value and bytes_text(h.value)} for h in record.headers
        ],
        "key": None if record.key is None else bytes_text(record.key),
        "value": None if record.value is None else bytes_text(record.value),
    }


def comparable(row: Row) -> Row:
    """Return a row of a lake's table in the form of `log` and `event`, for comparison."""
    left = {name: value for name, value in row.items() if name not in ("cluster", "source", "run")}
    if "value_json" in left:
        left["value_json"] = left["value_json"] and json.loads(left["value_json"])
    if "key" in left:
        left |= {name: None if left[name] is None else bytes_text(left[name]) for name in ("key", "value")}
        left["headers"] = [
            {name: part and bytes_text(part) for name, part in header.items()} for header in left["headers"]
        ]
    return left


def milliseconds(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a table with its times as epoch milliseconds."""
    return {
        name: round(value.timestamp() * 1000) if isinstance(value, datetime) else value
        for name, value in row.items()
    }

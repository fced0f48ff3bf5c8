"""An event as one JSON object, made for `jq`: the place in the log, the batch, then key and value in Kafka's own JSON shape.

`partition` and `offset` are those of `__consumer_offsets`, as Kafka's tools print them. `key`, `value`, `tombstone` and
`problem` are always there; what a record does not have (control marker, headers, blobs, raw bytes) is left out. Texts are as
they were decoded: how a terminal or a file shows them is not known here.
"""

from dataclasses import fields
from typing import Any

from offsets_tool.blobs import blobs_json
from offsets_tool.events import Event, Key, Value
from offsets_tool.records import RECORD_TYPES
from offsets_tool.rows import Batch, LogRecord
from offsets_tool.time_texts import shown_time
from offsets_tool.wire.json import JsonObject, bytes_text, to_json
from offsets_tool.wire.text import ABSENT, decode_text, in_cell

_BATCH_FIELDS = tuple(field.name for field in fields(Batch))


def event_json(event: Event, *, raw: bool = False) -> JsonObject:
    """Return the event as JSON values; raw key and value (base64) are added when `raw`, or when something could not be read."""
    row: JsonObject = _record_json(event.record)
    row["key"] = _key_json(event.key)
    row["value"] = _value_json(event)
    row["tombstone"] = event.tombstone
    if event.control is not None:
        row["control"] = event.control._asdict()
    if event.value is not None and (blobs := blobs_json(event.value.data)):
        row["blobs"] = blobs
    if raw or event.problem:
        row |= _raw(event.record)
    row["problem"] = event.problem
    return row


def _record_json(record: LogRecord) -> JsonObject:
    row: JsonObject = {
        "source": record.source,
        "partition": record.log_partition,
        "offset": record.log_offset,
        "timestamp": record.timestamp,
        "timestamp_type": record.timestamp_type,
    }
    if record.batch is not None:
        row["batch"] = {name: getattr(record.batch, name) for name in _BATCH_FIELDS}
        row["sequence"] = record.sequence
    else:
        row |= {name: getattr(record, name) for name in ("producer_id", "is_transactional")}
    if record.headers:
        row["headers"] = [
            {
                "key": decode_text(h.key),
                "value": None if h.value is None else bytes_text(h.value),
            }
            for h in record.headers
        ]
    return row


def _key_json(key: Key | None) -> JsonObject | None:
    if key is None:
        return None
    return {"type": key.type.id, "name": key.type.name, "data": to_json(key.data, 0, texts=str)}


def _value_json(event: Event) -> JsonObject | None:
    value = event.value
    if value is None:
        return None
    row: JsonObject = {"version": value.version}
    if _has_layouts(event.key):
        row["layout"] = value.layout
    row["data"] = _value_data(value)
    return row


def _has_layouts(key: Key | None) -> bool:
    return key is not None and len(RECORD_TYPES[key.type.id].layouts) > 1


def _value_data(value: Value) -> JsonObject:
    return to_json(value.data, value.version, unknown_tags=True, texts=str)


def _raw(record: LogRecord) -> JsonObject:
    return {
        "key_bytes": None if record.key is None else bytes_text(record.key),
        "value_bytes": None if record.value is None else bytes_text(record.value),
    }


def event_summary(event: Event) -> JsonObject:
    """Return the event as one line that a person can read: columns for a table or CSV."""
    record = event.record
    return {
        "partition": record.log_partition,
        "offset": record.log_offset,
        "time": shown_time(record.timestamp),
        "type": _type_name(event),
        "group": event.group,
        "about": None if event.key is None else _about(to_json(event.key.data, 0, texts=str)),
        "value": _value_text(event),
        "problem": event.problem,
    }


def _type_name(event: Event) -> str:
    if event.control is not None:
        return event.control.type
    return event.key.type.name if event.key else f"type {event.type_id}"


def _about(key: JsonObject) -> str | None:
    """Return what a key names beside the group: topic-partition, member, regular expression; None for nothing."""
    if "topic" in key:
        return f"{key['topic']}-{key['partition']}"
    named = [str(value) for name, value in key.items() if name not in ("group", "groupId")]
    return " ".join(named) if named else None


def _value_text(event: Event) -> str | None:
    if event.tombstone:
        return "tombstone"
    if event.value is None:
        return None
    data = to_json(event.value.data, event.value.version, texts=str)
    return " ".join(f"{name}={_brief(value)}" for name, value in data.items())


def _brief(value: Any) -> str:
    if isinstance(value, (list, dict)):
        return f"[{len(value)}]"
    return ABSENT if value is None else in_cell(str(value))

"""Probes: real records and batches of a class with other numbers and texts in them, to see where a dialect prints those.

The reference reader made the record that a probe is made of, and the encoder of the declarations makes its value.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple
from uuid import UUID

from offsets_tool.columns.text.fields import BATCH_NUMBERS, NUMBERS
from offsets_tool.columns.text.samples import Sample
from offsets_tool.columns.text.template import Text
from offsets_tool.events import decode_key, decode_value, encode_value
from offsets_tool.log.batches.header import MAX_INT
from offsets_tool.rows import Batch, LogRecord
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.longs import MAX_LONG
from offsets_tool.wire.schema import FieldValue

_MAX_SHORT: Final = 2**15 - 1
_NARROW: Final = {
    "producer_epoch": _MAX_SHORT,
    "base_sequence": MAX_INT,
    "last_sequence": MAX_INT,
    "partition_leader_epoch": MAX_INT,
    "count": MAX_INT,
    "size": MAX_INT,
    "crc": 2**32 - 1,
    "sequence": MAX_INT,
    "leader_epoch": MAX_INT,
}


class Setting(NamedTuple):
    """The numbers, metadata and topic id of a probe. Settings in turn go with one of two probe keys."""

    numbers: Mapping[str, int]
    metadata: str
    topic_id: UUID


def _spread(first: int, step: int) -> dict[str, int]:
    # No difference of two is that of two others: the last sequence is a sum.
    return {name: first + step * (place * place * place + place) for place, name in enumerate(NUMBERS)}


SETTINGS: Final = (
    Setting(_spread(10_000_019, 7_717), "MetadataOfTheFirst", UUID(int=0x1111222233334444_5555666677778888)),
    Setting(_spread(203_000_023, 10_093), "MetadataThatTheOtherProbeHas", UUID(int=0xFEDCBA98 << 64)),
    Setting(dict.fromkeys(NUMBERS, 0), "z", UUID(int=2)),
    Setting({name: _NARROW.get(name, MAX_LONG) for name in NUMBERS}, "m" * 400, UUID(int=2**128 - 1)),
)
"""The first two tell which number is which; the others are the edges of what may be printed."""


class Probe(NamedTuple):
    """A record (or only its batch) to be printed, the numbers it holds, and its texts except the key's."""

    batch: Batch
    record: LogRecord | None
    numbers: dict[str, int]
    texts: dict[Text, bytes]


def batch_probes(example: Batch, absent: frozenset[str]) -> Iterator[Probe]:
    """Yield a probe for each of SETTINGS, a batch like `example`; numbers that are named in `absent` stay -1."""
    for setting in SETTINGS:
        numbers = _of_batch(setting, absent)
        yield Probe(_batch(example, numbers), None, numbers, {})


def record_probes(
    example: LogRecord,
    absent: frozenset[str],
    keys: tuple[bytes, bytes] | None,
    values: tuple[Sample, Sample] | None = None,
) -> Iterator[Probe]:
    """Yield a probe for each of SETTINGS, a record like `example` with one of `keys` and of `values` in turn, if given."""
    for place, setting in enumerate(SETTINGS):
        key = keys[place % 2] if keys else example.key
        yield record_probe(example, setting, absent, key, values[(place + 1) // 2 % 2] if values else None)


def record_probe(
    example: LogRecord,
    setting: Setting,
    absent: frozenset[str],
    key: bytes | None,
    sample: Sample | None = None,
) -> Probe:
    """Return a probe: a record like `example`, with the numbers of `setting`, this key and, if given, the value of `sample`."""
    assert example.batch is not None and key is not None
    numbers = _of_batch(setting, absent)
    batch = _batch(example.batch, numbers)
    numbers |= {name: setting.numbers[name] for name in ("log_offset", "timestamp") if name not in absent}
    if "base_sequence" not in absent:
        numbers["sequence"] = setting.numbers["sequence"]
    value: bytes | None
    if sample is not None:
        value, texts = sample.data, {Text.VALUE: sample.json}
    else:
        value, texts = _value(example, setting, absent, numbers)
    record = replace(
        example,
        batch=batch,
        log_offset=numbers["log_offset"],
        timestamp=numbers.get("timestamp", -1),
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        sequence=numbers.get("sequence", -1),
        key=key,
        value=value,
    )
    numbers["key_size"] = len(key)
    if value is not None:
        numbers["value_size"] = len(value)
    return Probe(batch, record, numbers, texts)


def _of_batch(setting: Setting, absent: frozenset[str]) -> dict[str, int]:
    numbers = {name: setting.numbers[name] for name in BATCH_NUMBERS if name not in absent}
    if "base_sequence" in numbers:
        numbers["last_sequence"] = numbers["base_sequence"] + numbers["last_offset"] - numbers["base_offset"]
    return numbers


def _batch(example: Batch, numbers: Mapping[str, int]) -> Batch:
    changed: dict[str, FieldValue] = {name: numbers.get(name, -1) for name in BATCH_NUMBERS}
    if example.delete_horizon_ms is not None:
        changed["delete_horizon_ms"] = changed["base_timestamp"]
    return replace(example, **changed)


def _value(
    example: LogRecord, setting: Setting, absent: frozenset[str], numbers: dict[str, int]
) -> tuple[bytes | None, dict[Text, bytes]]:
    """Return the example's value with the setting's numbers, which are added to `numbers`, and the texts in it."""
    if example.value is None:
        return None, {}
    if example.is_control:
        return _marker(example.value, setting, absent, numbers), {}
    assert example.key is not None
    value = decode_value(decode_key(example.key).type, example.value)
    names = {"offset": "committed_offset", "commit_timestamp": "commit_timestamp"}
    names |= {"leader_epoch": "leader_epoch"} if value.version >= 3 else {}
    names |= {"expire_timestamp": "expire_timestamp"} if value.version == 1 else {}
    changed: dict[str, FieldValue] = {}
    for field, name in names.items():
        if name not in absent:
            changed[field] = numbers[name] = setting.numbers[name]
    texts: dict[Text, bytes] = {}
    if value.data.metadata:
        changed["metadata"] = setting.metadata
        texts[Text.METADATA] = setting.metadata.encode()
    if value.data.topic_id.int:
        changed["topic_id"] = setting.topic_id
        texts[Text.TOPIC_ID] = uuid_text(setting.topic_id).encode()
    return encode_value(value._replace(data=replace(value.data, **changed))), texts


_VERSION_SIZE: Final = 2
_MARKER_SIZE: Final = 6


def _marker(value: bytes, setting: Setting, absent: frozenset[str], numbers: dict[str, int]) -> bytes:
    """Return an end marker's value, version and coordinator epoch, with the setting's number as that epoch."""
    if "leader_epoch" in absent:
        return value
    numbers["leader_epoch"] = setting.numbers["leader_epoch"]
    return value[:_VERSION_SIZE] + struct.pack(">i", numbers["leader_epoch"]) + value[_MARKER_SIZE:]

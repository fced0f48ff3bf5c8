"""Logs that no broker would write, for Hypothesis: every record type and layout in any order, markers, bytes that do not read.

Few groups, members, partitions and producers, so that records meet; one name in four is not UTF-8. Values repeat seldom.
"""

import struct
from dataclasses import dataclass

from hypothesis import strategies as st

from offsets_tool.events import Key, encode_key
from offsets_tool.records import RECORD_TYPES
from offsets_tool.rows import Batch, Codec, LogRecord, TimestampType
from tests.cases import CASES, GROUP, MEMBER, Case

GROUPS = (b"orders", b"refund", b"paym\xffn")
MEMBERS = (MEMBER.encode(), b"consumer-2-8d0f", b"consumer-\xc3-8d0f")
PRODUCERS = (-1, 7, 8)
COMMITS = [case for case in CASES if case.type < 2 and case.value_hex]
OTHERS = [case for case in CASES if case.value_hex]


@dataclass(frozen=True)
class Writing:
    """The drawn properties of one batch: who writes it, and how."""

    producer: int
    is_transactional: bool
    has_batch: bool
    sequence: int


WRITINGS = st.one_of(
    st.just(Writing(-1, False, True, -1)),
    st.builds(Writing, st.sampled_from(PRODUCERS), st.booleans(), st.booleans(), st.sampled_from((-1, 0, 5))),
)


def _key(case: Case, group: bytes, member: bytes, partition: int) -> bytes:
    key = encode_key(Key(RECORD_TYPES[case.type], case.key))
    if case.type < 2:
        key = key[:-4] + struct.pack(">i", partition)
    return key.replace(GROUP.encode(), group).replace(MEMBER.encode(), member)


def _value(case: Case, number: int) -> bytes:
    """Return the bytes of a case's value; a commit gets an offset of its own, and now and then metadata that is not UTF-8."""
    value = bytes.fromhex(case.value_hex or "")
    if case.type > 1:
        return value
    value = value[:2] + struct.pack(">q", number) + value[10:]
    return value.replace(b"m\xc3\xa9t", b"m\xc3\xc3t") if number % 11 == 0 else value


def marker(number: int, type_id: int) -> tuple[bytes, bytes]:
    """Return the key and the value of a marker; `number` is the coordinator's epoch."""
    return struct.pack(">hh", 0, type_id), struct.pack(">hi", 0, number)


@st.composite
def _contents(draw: st.DrawFn) -> list[tuple[bytes | None, bytes | None, bool]]:
    """Draw the records of one batch: keys, values, and whether they are control records."""
    what = draw(st.integers(0, 19))
    if what == 0:
        key, value = draw(st.binary(max_size=6) | st.none()), draw(st.binary(max_size=6) | st.none())
        return [(key, value, draw(st.booleans()))]
    if what < 4:
        return [(*marker(what, draw(st.sampled_from((0, 1, 1, 2)))), True)]
    group, number = draw(st.sampled_from(GROUPS)), draw(st.integers(0, 1 << 40))
    if what < 13:
        case = draw(st.sampled_from(COMMITS))
        partitions = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
        value = None if what in (4, 5) else _torn(_value(case, number), number)
        return [(_key(case, group, MEMBERS[0], partition), value, False) for partition in partitions]
    case = draw(st.sampled_from(OTHERS))
    key = _key(case, group, draw(st.sampled_from(MEMBERS)), number % 3)
    return [(key, None if what < 15 else _torn(_value(case, number), number), False)]


def _torn(value: bytes, number: int) -> bytes:
    """Return a value, now and then one of a version that nobody knows, or cut short."""
    return {3: b"\0\x63" + value[2:], 4: value[:5]}.get(number % 9, value)


@st.composite
def logs(draw: st.DrawFn, most: int = 40) -> list[LogRecord]:
    """Draw the records of one partition, in the order of their offsets, with gaps."""
    records: list[LogRecord] = []
    offset, timestamp = draw(st.integers(0, 5)), 1_700_000_000_000
    for contents, writing in draw(st.lists(st.tuples(_contents(), WRITINGS), max_size=most)):
        offset += draw(st.sampled_from((0, 0, 0, 2)))
        timestamp += draw(st.sampled_from((-50, 0, 1, 100)))
        base = offset
        for key, value, is_control in contents:
            records.append(written(writing, base, offset, timestamp, key, value, is_control))
            offset += 1
    return records


def written(
    writing: Writing,
    base: int,
    offset: int,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
    is_control: bool,
) -> LogRecord:
    """Return a record as the readers yield it: that of an archive has neither batch nor producer."""
    facts: dict[str, object] = {}
    if writing.has_batch:
        sequence = -1 if writing.sequence < 0 else writing.sequence + offset - base
        producer = {"producer_id": writing.producer, "producer_epoch": 0}
        batch = _batch(writing, base, timestamp, is_control)
        facts = producer | {
            "sequence": sequence,
            "is_transactional": writing.is_transactional,
            "batch": batch,
        }
    return LogRecord(
        source="s",
        log_partition=0,
        log_offset=offset,
        timestamp=timestamp,
        key=key,
        value=value,
        is_control=is_control,
        **facts,  # type: ignore[arg-type]
    )


def _batch(writing: Writing, base: int, timestamp: int, is_control: bool) -> Batch:
    return Batch(
        position=base * 100,
        size=100,
        magic=2,
        codec=Codec.NONE,
        crc=0,
        crc_valid=True,
        base_offset=base,
        last_offset=base + 2,
        timestamp_type=TimestampType.CREATE_TIME,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        count=3,
        producer_id=writing.producer,
        producer_epoch=0,
        base_sequence=writing.sequence,
        is_transactional=writing.is_transactional,
        is_control=is_control,
    )

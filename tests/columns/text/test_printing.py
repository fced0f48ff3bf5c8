"""What the lane prints is what the dialect prints: every family, on real, hostile and damaged segments."""

import random
import struct
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.columns.text.request import Range, Selection
from offsets_tool.events import Key, encode_key
from offsets_tool.records import RECORD_TYPES
from offsets_tool.wire import walk
from tests.cases import CASES, commit
from tests.columns.lane.test_chunks import CODECS, EDGES, MARKERS, batch
from tests.columns.lanes import SEGMENTS
from tests.columns.text.printing import LanePrinter, assert_same, by_reference, json_lines
from tests.depth import DEEP, sample
from tests.dialects.hostile import Hostile
from tests.dialects.hostile_segments import end, segment
from tests.dialects.samples import COMMIT_KEY, LEGACY_KEY, label
from tests.log.encoded_batches import record, v2

DUMPS = [
    f"dump-log@{release}"
    for release in (
        "0.11",
        "1.0",
        "1.1",
        "2.0",
        "2.2",
        "2.4.0",
        "2.4.1",
        "2.8",
        "3.0",
        "3.7",
        "3.8",
        "4.1",
        "4.3",
    )
]
FORMATTERS = [
    *(
        f"offsets@{release}"
        for release in ("0.9", "1.1", "2.1", "2.2", "2.8", "3.3", "3.8", "3.9", "4.0", "4.1", "4.3")
    ),
    *(f"group-metadata@{release}" for release in ("2.8", "3.9", "4.0", "4.3")),
    "share-group@4.3",
]
DIALECTS = ["json", *FORMATTERS, *DUMPS]
NEWEST = ["json", "offsets@4.3", "offsets@2.8", "dump-log@4.3", "dump-log@3.6", "dump-log@2.0"]
MIXED = [path for path in SEGMENTS if path.stat().st_size < 20_000]
KEYS = [
    struct.pack(">hh", number % 2, len(group))
    + group
    + struct.pack(">h", 1)
    + b"t"
    + struct.pack(">i", number)
    for number, group in enumerate(
        (b"g", b"", "è".encode(), b'"quoted"', b"\x00\x1f\x7f", b"0123456789", b"\xff")
    )
]


@pytest.mark.parametrize("dialect", DIALECTS if DEEP else NEWEST)
def test_every_real_segment(dialect: str) -> None:
    """Most of it not by the caller, where the release knows the versions: what the lane reads completely has templates."""
    prints = [assert_same(path.read_bytes(), dialect) for path in sample(SEGMENTS, 3)]
    if dialect in ("json", "offsets@4.3", "dump-log@4.3", "dump-log@3.6"):
        assert sum(each.in_lane for each in prints) > (3_000 if DEEP else 200)
        assert sum(each.by_caller for each in prints) < sum(each.in_lane for each in prints)


def values(number: int) -> list[bytes | None]:
    """Return commits of every version, with and without optional fields, and numbers at the edges of their types."""
    metadata = ("", "m", 'q"\\/\n\t\x00\x1f\x7f', "x" * 200, "è")[number % 5]
    edges = (0, 1, 9, 10, 99, 100, 2**31 - 1, 2**63 - 1, -1, -2, -(2**63))
    place, time = edges[number % 11], edges[number // 3 % 11]
    some = {"offset": place, "metadata": metadata, "commit_timestamp": time}
    found: list[bytes | None] = [None]
    for version in range(5):
        more: dict[str, object] = {}
        if version == 1:
            more["expire_timestamp"] = (-1, 0, 5, 2**63 - 1, -7)[number % 5]
        if version >= 3:
            more["leader_epoch"] = (-1, 0, 7, 2**31 - 1, -2)[number % 5]
        if version == 4:
            more["topic_id"] = UUID(int=(0, 1, 2**128 - 1, 7 << 60)[number % 4])
        found.append(label(version, commit(version, **some | more), version))
    return found


def commits() -> bytes:
    """Return batches of all kinds of commits under all kinds of keys, with different batch headers."""
    chance, made, offset = random.Random(5), [], 0
    for number in range(60):
        some = [(chance.choice(KEYS), value) for value in values(number)]
        body = [record(place, key, value, place) for place, (key, value) in enumerate(some)]
        made.append(
            v2(
                offset,
                body,
                codec=CODECS[number % 5],
                attributes=(0, 16, 8, 64, 24)[number % 5],
                base_timestamp=(-1, 0, 1700000000000, -9)[number % 4],
                max_timestamp=(5, -1, 1700000000009)[number % 3],
                producer=((-1, -1, -1), (0, 0, 0), (2**63 - 1, 2**15 - 1, 2**31 - 3), (9, 2, -2))[number % 4],
            )
        )
        offset += len(some) + number % 3
    return b"".join(made)


@pytest.mark.parametrize("dialect", sample(DIALECTS, 4))
def test_commits_of_all_classes(dialect: str) -> None:
    assert_same(commits(), dialect)


def test_most_commits_have_a_class() -> None:
    printed = assert_same(commits(), "dump-log@4.3")
    assert printed.in_lane > 60 and printed.by_caller > 60


@pytest.mark.parametrize("dialect", NEWEST)
def test_every_record_type_and_version(dialect: str) -> None:
    records = []
    for case in CASES:
        key = encode_key(Key(RECORD_TYPES[case.type], case.key))
        records.append((key, None if case.value_hex is None else bytes.fromhex(case.value_hex)))
    assert_same(batch(records) + batch(records[::-1], len(records), codec=4), dialect)


@pytest.mark.parametrize("dialect", NEWEST)
def test_hostile_records_stay_among_their_neighbours(dialect: str) -> None:
    hostile, chance = Hostile(11), random.Random(11)
    for number in range(200 if DEEP else 4):
        assert_same(batch(hostile.records(50), codec=CODECS[number % 5]), dialect)
        assert_same(segment(hostile.records(50), chance, 5) + end(chance), dialect)


@given(st.data())
def test_damage(data: st.DataObject) -> None:
    path: Path = data.draw(st.sampled_from(MIXED))
    damaged = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    assert_same(bytes(damaged), data.draw(st.sampled_from(NEWEST)))


@pytest.mark.parametrize("dialect", NEWEST)
@pytest.mark.parametrize("header", EDGES, ids=str)
def test_headers_at_the_edges(header: dict[str, object], dialect: str) -> None:
    body = [record(place, COMMIT_KEY, None, place - 1) for place in range(4)]
    strange = [record(place - 2, LEGACY_KEY, values(0)[1]) for place in range(4)]
    assert_same(v2(records=body, **header) + v2(records=strange, **header), dialect)  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect", NEWEST)
def test_control_records(dialect: str) -> None:
    records = [(bytes.fromhex(key), bytes.fromhex(value)) for key, value in MARKERS]
    marked = batch(
        [*records, (None, None), (b"\x00\x00\x00\x01", None), (COMMIT_KEY, values(2)[3])], attributes=32
    )
    unmarked = batch([*records, (COMMIT_KEY, values(2)[3])], 20)
    assert_same(marked + unmarked, dialect)


@pytest.mark.parametrize("dialect", NEWEST)
def test_offsets_with_gaps_and_empty_batches(dialect: str) -> None:
    one = [record(0, COMMIT_KEY, values(2)[4])]
    apart = [record(place * 3, COMMIT_KEY, values(2)[4]) for place in range(3)]
    empty = v2(90, [], last_offset_delta=5)
    assert_same(v2(5, one) + v2(6, apart, last_offset_delta=6) + empty + empty + v2(96, one), dialect)


def test_text_beyond_the_buffer_and_several_chunks() -> None:
    value = label(3, commit(3, leader_epoch=1, metadata="m" * 300), 3)
    some = [(COMMIT_KEY, value)] * 50
    data = b"".join(batch(some, base_offset=place * 50) for place in range(400))
    printed = assert_same(data, "json")
    assert printed.in_lane == 20_000 and len(printed.text) > 8 << 20


def test_one_printer_for_several_files() -> None:
    printer = LanePrinter(json_lines())
    for path in MIXED[:12]:
        data = path.read_bytes()
        assert printer.print(data).text == by_reference(data, json_lines()).text


def test_more_classes_than_are_learned() -> None:
    """A file may be made so that every batch is of another class."""
    value = label(3, commit(3, leader_epoch=1, metadata=""), 3)
    body = [record(0, COMMIT_KEY, value)]
    data = b"".join(v2(place, body, attributes=(place - 256) << 7) for place in range(510))
    assert assert_same(data, "dump-log@4.3").by_caller == 10


def test_only_what_is_selected_is_printed_and_all_is_counted() -> None:
    value = label(3, commit(3, leader_epoch=1, metadata=""), 3)
    some = [(key, value) for key in (KEYS[5], COMMIT_KEY)] * 20
    data = batch(some) + batch([(b"\0\0\0\1", b"\0\0\0\0\0\7")], 40, attributes=32)
    selection = Selection(lambda record: record.key == COMMIT_KEY, lambda _: Range((None, 1001), (5, 31)))
    whole = by_reference(data, json_lines()).text.splitlines(keepends=True)
    printed = LanePrinter(json_lines(), selection).print(data)
    assert printed.text == b"".join(whole[5:31:2])
    assert (printed.in_lane, printed.by_caller) == (41, 0)
    nothing = LanePrinter(json_lines(), selection._replace(range_of=lambda _: None)).print(data)
    assert (nothing.text, nothing.in_lane) == (b"", 41)


@pytest.mark.parametrize("dialect", ["json", "dump-log@4.3", "dump-log@3.8", "dump-log@3.6", "offsets@4.3"])
def test_records_of_groups_stay_in_the_lane_where_a_dialect_prints_their_json(dialect: str) -> None:
    """What a release prints in its own way, and bytes, of which it may know the format, are the dialect's."""
    cases = [case for case in CASES if case.type > 2 and case.value is not None]
    records = []
    for case in cases:
        key = encode_key(Key(RECORD_TYPES[case.type], case.key))
        records += [(key, label(case.version, case.value, case.version)), (key, None)]
    printed = assert_same(batch(records * 2), dialect)
    assert printed.in_lane + printed.by_caller == 4 * len(cases)
    # Half of them are tombstones. Not in the lane: layouts of the past, members of the classic protocol, and, of values
    # that an older release prints, those whose tags it does not know.
    assert printed.in_lane > (3 * len(cases) if dialect in ("json", "dump-log@4.3") else 2 * len(cases))


def test_escapes_in_values_are_each_printers_own() -> None:
    texts = ("plain", "\u00e8\U0001f600", "\x01", "\x1f", 'q"\\/\n\t', "\x7f\u2028", "\\u0041")
    value_class = RECORD_TYPES[16].layouts[0].value
    key = encode_key(Key(RECORD_TYPES[16], RECORD_TYPES[16].key(group_id="g", regular_expression="r.*")))
    records = [(key, label(0, value_class(topics=(text, "x"), version=1, timestamp=2), 0)) for text in texts]
    for dialect in ("json", "dump-log@4.3"):
        assert assert_same(batch(records), dialect).by_caller >= 2


def test_nothing() -> None:
    assert assert_same(b"", "json").text == b""


def test_a_value_longer_than_its_fields_is_told() -> None:
    value = b"\x00\x03" + walk.encode(commit(3, leader_epoch=1, metadata="m"), 3) + b"\x00"
    assert_same(batch([(COMMIT_KEY, value)] * 3), "json")

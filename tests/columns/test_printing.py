"""What the lane prints is what the dialect prints: every family, on real, hostile and damaged segments."""

import random
import struct
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.as_of.selection import NameFilter, Range, Wanted
from offsets_tool.columns.printing import Selection
from offsets_tool.dialects.output import Output, Printer
from offsets_tool.events import Key, decode, encode_key
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.offsets import OffsetCommitKey
from offsets_tool.rows import LogRecord
from offsets_tool.wire import walk
from tests.cases import CASES, commit
from tests.columns.lane.test_chunks import CODECS, EDGES, MARKERS, batch
from tests.columns.lanes import SEGMENTS
from tests.columns.printing import Dialect, LanePrinter, assert_same, by_reference, json_lines
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
    """No commit by the caller, where the release knows its version: what the lane reads completely has templates."""
    prints = [assert_same(path.read_bytes(), dialect) for path in sample(SEGMENTS, 3)]
    if dialect in ("json", "offsets@4.3", "dump-log@4.3", "dump-log@3.6"):
        assert sum(each.in_lane for each in prints) > (3_000 if DEEP else 200)
        assert sum(each.commits_alone for each in prints) == 0


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


def test_several_chunks_and_parts_of_them() -> None:
    value = label(3, commit(3, leader_epoch=1, metadata="m" * 300), 3)
    some = [(COMMIT_KEY, value)] * 50
    data = b"".join(batch(some, base_offset=place * 50) for place in range(700))
    printed = assert_same(data, "json")
    assert printed.in_lane == 35_000 and len(printed.text) > 8 << 20


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
    assert assert_same(data, "dump-log@4.3").by_caller == 20


def test_only_what_is_selected_is_printed_and_all_is_counted() -> None:
    value = label(3, commit(3, leader_epoch=1, metadata=""), 3)
    some = [(key, value) for key in (KEYS[5], COMMIT_KEY)] * 20
    data = batch(some) + batch([(b"\0\0\0\1", b"\0\0\0\0\0\7")], 40, attributes=32)
    selection = Selection(Wanted(NameFilter(["g"])), frozenset(), lambda _: Range((None, 1001), (5, 31)))
    whole = by_reference(data, json_lines()).text.splitlines(keepends=True)
    printed = LanePrinter(json_lines(), selection).print(data)
    assert printed.text == b"".join(whole[5:31:2])
    assert (printed.in_lane, printed.by_caller) == (41, 0)
    nothing = LanePrinter(json_lines(), selection._replace(range_of=lambda _: None)).print(data)
    assert (nothing.text, nothing.in_lane) == (b"", 41)


@pytest.mark.parametrize("dialect", NEWEST)
def test_names_and_metadata_are_written_as_each_printer_writes_them(dialect: str) -> None:
    texts = ("plain", "\u00e8\U0001f600", "\x01", "\0", 'q"\\/\n\t', "\x7f\u2028", "\\u0041", "\\xff", "")
    keys = [label(1, OffsetCommitKey(group=text, topic=text, partition=7)) for text in texts]
    values = [label(1, commit(1, metadata=text), 1) for text in texts]
    printed = assert_same(batch([(key, value) for key in keys for value in values]), dialect)
    # Metadata that looks escaped is not the lane's.
    assert (printed.by_caller, printed.commits_alone) == (len(keys), len(keys))


LIKE_NO_TEMPLATE = {
    "hexadecimal": lambda offset, metadata: f"{offset:x}",
    "padded": lambda offset, metadata: f"{offset:08d}",
    "one more": lambda offset, metadata: f"{offset + 1}",
    "zero is special": lambda offset, metadata: str(offset or "none"),
    "cut off": lambda offset, metadata: metadata[:2],
    "its size": lambda offset, metadata: str(len(metadata)),
    "reversed": lambda offset, metadata: metadata[::-1],
}
FOLLOWED = {
    "nothing": lambda offset, metadata: "",
    "digits around": lambda offset, metadata: f"v2 {offset}/{offset} 7",
    "next to each other": lambda offset, metadata: f"{metadata}{offset}",
}


@pytest.mark.parametrize("name", LIKE_NO_TEMPLATE | FOLLOWED)
def test_a_printer_is_followed_or_prints_all_itself(name: str) -> None:
    show = (LIKE_NO_TEMPLATE | FOLLOWED)[name]

    def line(record: LogRecord) -> Output:
        value = decode(record).value
        return Output(
            b"-\n" if value is None else f"{show(value.data.offset, value.data.metadata)}\n".encode()
        )

    values = [
        label(3, commit(3, offset=at * 7, leader_epoch=at, metadata=f"metadata {at}"), 3) for at in range(40)
    ]
    printed = assert_same(
        batch([(COMMIT_KEY, value) for value in values]), Dialect("made", Printer(line, str))
    )
    assert (printed.in_lane, printed.by_caller) == ((0, 40) if name in LIKE_NO_TEMPLATE else (40, 0))


def test_an_error_is_the_callers_to_tell() -> None:
    printer = Printer(lambda record: Output(b"", f"at {record.log_offset}"), str)
    printed = assert_same(batch([(COMMIT_KEY, values(2)[4])] * 40), Dialect("made", printer))
    assert printed.in_lane == 0 and printed.errors == [f"at {place}" for place in range(40)]


def test_nothing() -> None:
    assert assert_same(b"", "json").text == b""


def test_a_value_longer_than_its_fields_is_told() -> None:
    value = b"\x00\x03" + walk.encode(commit(3, leader_epoch=1, metadata="m"), 3) + b"\x00"
    assert_same(batch([(COMMIT_KEY, value)] * 3), "json")

"""Text that is not ASCII: UTF-8 that looks like no escape stays in the lane, all else is the reference's, and rows are alike."""

from itertools import product

import numpy as np
import pytest

from offsets_tool.columns.lane.chunks import Chunk, Lane
from offsets_tool.columns.lane.layout import RecordField, RecordKind
from offsets_tool.events import Key, encode_key
from offsets_tool.records import RECORD_TYPES
from offsets_tool.wire import walk
from tests.cases import CASES, commit
from tests.columns.json.test_values import assert_printed_or_declined
from tests.columns.lane.test_chunks import batch
from tests.columns.lanes import assert_same

# The first and last character of each size and around the surrogates, and what lies just beyond them.
EDGES = """
80 ff fe fe-fe-ff-ff c0-80 c1-bf c2-80 df-bf c2-7f c2-c0
e0-9f-bf e0-a0-80 ec-bf-bf ed-80-80 ed-9f-bf ed-a0-80 ed-bf-bf ed-a0-80-ed-b0-80 ee-80-80 ef-bf-bf ef-bb-bf e2-82-ac
e2-28-a1 e2-82-28 e2-82-c0 c3-a8 f0-8f-bf-bf f0-90-80-80 f1-80-80-80 f3-bf-bf-bf f4-8f-bf-bf f4-90-80-80 f0-9f-9a-80
f5-80-80-80 f8-88-80-80-80 f0-28-8c-bc f0-90-28-bc f0-90-8c-28 7f 00
5c 5c-78 5c-5c-78-66-66 5c-78-66-66 5c-58-66-66
""".split()  # noqa: SIM905 - one table of many
SEQUENCES = [bytes.fromhex(edge.replace("-", "")) for edge in EDGES]
CUT = [whole[:size] for whole in SEQUENCES for size in range(1, len(whole))]
TEXTS = [
    b"a" * before + sequence + b"z" * after
    for sequence, before, after in product([*SEQUENCES, *CUT], (0, 1, 5, 7, 8, 9), (0, 1, 8))
]
KEY = encode_key(Key(RECORD_TYPES[1], CASES[3].key))


def _is_shown_as_it_is(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return b"\\x" not in text


def _values(version: int) -> list[bytes]:
    """Return the values of commits that differ only in their text."""
    fields = {} if version < 3 else {"leader_epoch": 1}
    marked = b"\x00%c" % version + walk.encode(commit(version, metadata="METADATA", **fields), version)
    before, after = marked.split(b"METADATA")
    if version < 4:
        return [before[:-2] + len(text).to_bytes(2, "big") + text + after for text in TEXTS]
    return [before[:-1] + bytes([len(text) + 1]) + text + after for text in TEXTS]


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_metadata(version: int) -> None:
    data = batch([(KEY, value) for value in _values(version)])
    assert_same(data)
    (chunk,) = Lane(memoryview(data), "s", 3).read()
    assert isinstance(chunk, Chunk)
    expected = [RecordKind.COMMIT if _is_shown_as_it_is(text) else RecordKind.REFERENCE for text in TEXTS]
    assert np.array_equal(chunk.records[RecordField.KIND], expected)


def test_metadata_whose_last_character_goes_on_in_the_next_field() -> None:
    """The bytes after a cut character continue it."""
    value = b"\x00\x03" + walk.encode(
        commit(3, leader_epoch=1, metadata="è", commit_timestamp=-0x5800_0000_0000_0000), 3
    )
    cut = value.replace(b"\x00\x02\xc3\xa8", b"\x00\x01\xc3")
    assert len(cut) == len(value) - 1 and cut[-8] == 0xA8
    assert_same(batch([(KEY, value), (KEY, cut)]))


def test_json_of_every_character() -> None:
    """Control characters, quotes and letters of all sizes are escaped as the reference does, or the text is the reference's."""
    case = next(
        case
        for case in CASES
        if case.type == 2 and case.value_hex and b"consumer" in bytes.fromhex(case.value_hex)
    )
    key, value = encode_key(Key(RECORD_TYPES[2], case.key)), bytes.fromhex(case.value_hex or "")
    texts = [*map(bytes, zip(range(128))), bytes(range(128)), *TEXTS]
    at = value.index(b"consumer")
    pairs = [
        (key, value[: at - 2] + len(text).to_bytes(2, "big") + text + value[at + len(b"consumer") :])
        for text in texts
    ]
    printed = assert_printed_or_declined(pairs)
    assert [text is not None for text in printed] == [_is_shown_as_it_is(text) for text in texts]

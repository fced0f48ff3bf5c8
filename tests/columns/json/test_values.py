"""Programs print what the reference prints, or decline: on every record type, and on hostile bytes."""

import numpy as np
import pytest

from offsets_tool.columns.decode import added_columns
from offsets_tool.columns.json.programs import VERSIONS, programs
from offsets_tool.columns.json.values import JsonWriter
from offsets_tool.errors import DecodeError
from offsets_tool.events import Key, decode_key, encode_key
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.kinds import COMMITS
from tests.cases import CASES
from tests.depth import DEEP
from tests.dialects.hostile import Hostile


def printed(pairs: list[tuple[bytes, bytes]]) -> list[str | None]:
    """Return the JSON that programs print of keys and values; None where they decline."""
    values = [value for _, value in pairs]
    sizes = np.array([len(value) for value in values], np.int64)
    places = np.cumsum(sizes) - sizes
    types = np.array([decode_key(key).type.id for key, _ in pairs], np.int64)
    data = np.frombuffer(b"".join(values) + bytes(8), np.uint8)
    texts = JsonWriter().write(data, types, places, sizes)
    rows = zip(texts.starts.tolist(), texts.sizes.tolist(), strict=True)
    return [None if size < 0 else texts.data[start : start + size].tobytes().decode() for start, size in rows]


def assert_printed_or_declined(pairs: list[tuple[bytes, bytes]]) -> list[str | None]:
    reference = added_columns((key, value, False) for key, value in pairs)
    ours = printed(pairs)
    for place, text in enumerate(ours):
        if text is not None:
            told = {name: reference[name][place] for name in ("value_json", "problem", "kept_raw", "layout")}
            newest = decode_key(pairs[place][0]).type.layouts[0].since
            assert told == {"value_json": text, "problem": None, "kept_raw": None, "layout": newest}, pairs[
                place
            ]
    return ours


def test_every_group_kind_has_programs() -> None:
    _, starts, _ = programs()
    has = {number // VERSIONS for number in np.flatnonzero(starts >= 0).tolist()}
    assert has == set(RECORD_TYPES) - {0, 1}


def test_cases_in_ascii_are_printed() -> None:
    cases = [c for c in CASES if c.value_hex and c.type > 1]
    pairs = [
        (
            encode_key(Key(RECORD_TYPES[c.type], c.key)).replace("è".encode(), b"ee"),
            bytes.fromhex(c.value_hex or "").replace("è".encode(), b"ee"),
        )
        for c in cases
    ]
    texts = assert_printed_or_declined(pairs)
    newest = [c.layout in ("", RECORD_TYPES[c.type].layouts[0].since) for c in cases]
    assert [text is not None for text in texts] == newest


@pytest.mark.parametrize("seed", range(20 if DEEP else 2))
def test_hostile_values(seed: int) -> None:
    hostile = Hostile(seed, tuple(RECORD_TYPES.keys() - COMMITS))
    pairs = [(key, value) for key, value in hostile.records(5_000) if key and value and _is_clean(key)]
    texts = assert_printed_or_declined(pairs)
    assert sum(text is not None for text in texts) > len(pairs) / 5


def _is_clean(key: bytes) -> bool:
    try:
        read = decode_key(key)
    except DecodeError:
        return False
    return not read.notes and not read.trailing


def test_room_grows() -> None:
    key, value = next(
        (k, v) for k, v in Hostile(3, (2,)).records(200) if k and v and len(v) > 300 and _is_clean(k)
    )
    texts = printed([(key, value)] * 2_000)
    assert len(set(texts)) == 1

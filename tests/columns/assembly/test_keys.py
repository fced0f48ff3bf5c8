"""Keys that compiled code reads say what the reference decoder says; it reads all that are clean, and no others."""

import random
import struct

import numpy as np
import pytest

from offsets_tool.columns.assembly.keys import TEXTS, KeyColumns
from offsets_tool.columns.assembly.names import TextDictionary
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.lane.interned import InternedKeys, number_of
from offsets_tool.columns.lane.key_table import KeyField, read_keys
from offsets_tool.errors import DecodeError
from offsets_tool.events import Key, decode_key, encode_key
from offsets_tool.records import RECORD_TYPES
from offsets_tool.wire.text import shown
from tests.cases import CASES
from tests.columns.jit.test_utf8 import SEQUENCES
from tests.columns.lane.test_chunks import batch
from tests.columns.lanes import assert_same
from tests.depth import DEEP
from tests.dialects.hostile import Hostile

LAST_TYPE = max(RECORD_TYPES)


def key(type_id: int, *names: bytes, partition: bytes = b"\0\0\0\7") -> bytes:
    texts = b"".join(struct.pack(">h", len(name)) + name for name in names)
    return struct.pack(">h", type_id) + texts + (partition if type_id < 2 else b"")


WHOLE = [
    key(0, b"group", b"topic"),
    key(1, b"g", "tòpic".encode()),
    key(2, "grüppe".encode()),
    key(5, b"group", "mèmber".encode()),
    key(16, b"group", b"a.*"),
]
KEYS = list(
    dict.fromkeys(
        [
            *WHOLE,
            *(whole[:size] for whole in WHOLE for size in range(len(whole))),
            *(whole + b"\0" for whole in WHOLE),
            *(key(type_id, b"", b"") for type_id in (0, 1)),
            key(2, b""),
            *(key(1, text, b"t") for text in SEQUENCES),
            *(key(1, b"g" * 9, b"t" + text) for text in SEQUENCES),
            *(key(2, text + b"x") for text in SEQUENCES),
            *(
                key(1, b"g", b"t", partition=struct.pack(">i", number))
                for number in (-1, -(2**31), 2**31 - 1)
            ),
            *(
                struct.pack(">hh", type_id, size) + b"abc"
                for type_id in range(3)
                for size in (-1, -32768, 32767, 0, 2)
            ),
            *(struct.pack(">hh1shi", 1, 1, b"g", size, 5) for size in (-1, -2, 1, 4, 32767)),
            *(
                struct.pack(">h", type_id) + WHOLE[1][2:]
                for type_id in (-1, 3, LAST_TYPE, LAST_TYPE + 1, 256, 32767, -32768)
            ),
        ]
    )
)


class Tables:
    """Keys and names as the lane keeps them."""

    def __init__(self, keys: list[bytes]) -> None:
        self.interned = InternedKeys(keys=1 << 14, arena=1 << 24)
        self.names = {name: TextDictionary() for name in TEXTS}
        for number, data in enumerate(keys):
            held = np.frombuffer(data or b"\0", np.uint8)
            assert number_of(self.interned.address, address(held), len(data)) == number
        self.columns = KeyColumns(self.interned, self.names)
        self.columns.update()

    def is_read(self, number: int) -> bool:
        """Return whether compiled code reads the key, whose names are interned because it was read before."""
        table = np.empty((number + 1, len(KeyField)), np.int32)
        shapes, names = self.columns._shapes, self.columns._name_tables()
        stopped, _why = read_keys(
            self.interned.address,
            number,
            number + 1,
            address(table),
            address(shapes),
            len(shapes),
            address(names),
        )
        return bool(stopped > number)

    def text(self, name: str, number: int) -> str | None:
        column = self.names[name].column(self.columns.table[number : number + 1, TEXTS[name]].copy())
        return column.to_pylist()[0]  # type: ignore[no-any-return]


def clean(data: bytes) -> Key | None:
    try:
        decoded = decode_key(data)
    except DecodeError:
        return None
    return decoded if not decoded.notes and not decoded.trailing else None


def assert_same_keys(keys: list[bytes]) -> None:
    tables = Tables(keys)
    for number, data in enumerate(keys):
        line, decoded = tables.columns.table[number], clean(data)
        # What is shown escaped is the reference's to read.
        assert tables.is_read(number) == (decoded is not None and b"\\x" not in data), data
        assert bool(line[KeyField.FLAGS] & 1) == (decoded is not None), data
        if decoded is None:
            continue
        fields = decoded.data
        assert line[KeyField.RECORD_TYPE] == decoded.type.id
        assert bool(line[KeyField.FLAGS] & 2) == hasattr(fields, "partition")
        assert line[KeyField.PARTITION] == getattr(fields, "partition", -1)
        assert tables.text("record_name", number) == decoded.type.name
        group = fields.group if hasattr(fields, "group") else fields.group_id
        assert tables.text("group", number) == shown(group)
        for name in ("topic", "member_id", "regular_expression"):
            text = getattr(fields, name, None)
            assert tables.text(name, number) == (None if text is None else shown(text))


def test_every_key() -> None:
    assert_same_keys(KEYS)


def test_keys_of_every_type() -> None:
    assert_same_keys(list({encode_key(Key(RECORD_TYPES[case.type], case.key)): None for case in CASES}))


@pytest.mark.parametrize("seed", range(20 if DEEP else 2))
def test_hostile_keys(seed: int) -> None:
    assert_same_keys(list({data: None for data, _ in Hostile(seed).records(3_000) if data is not None}))


def test_changed_keys() -> None:
    chance, keys = random.Random(5), {}
    for _ in range(20_000 if DEEP else 4_000):
        changed = bytearray(chance.choice(WHOLE))
        changed[chance.randrange(len(changed))] = chance.choice(
            (0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256))
        )
        keys[bytes(changed)] = None
    assert_same_keys(list(keys))


def test_rows_of_every_key() -> None:
    """Tombstones and commits under each of them, among each other."""
    value = b"\x00\x03" + struct.pack(">qihq", 5, 1, 0, 9)
    lane = assert_same(batch([(data, value if number % 2 else None) for number, data in enumerate(KEYS)]))
    assert lane.rows_in_lane == len(KEYS)


def test_names_that_do_not_fit_make_room() -> None:
    """More names than the tables of names hold at first, and longer ones."""
    keys = [key(1, b"g%d" % number * 50, b"t%d" % (number // 3)) for number in range(3_000)]
    assert_same_keys([*keys, key(1, b"g" * 32767, b"t" * 32767), key(0, b"g" * 32767, b"u" * 32767)])

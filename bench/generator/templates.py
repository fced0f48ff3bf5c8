"""Encode a value once, with holes for what changes, and fill the holes for a million records."""

from collections.abc import Sequence
from typing import Any, Final

from offsets_tool.events import Key, Value, encode_key, encode_value
from offsets_tool.records import RECORD_TYPES

OFFSET: Final = 0x5AFE_0FF5_E700_0001
TIME: Final = 0x5AFE_0FF5_E700_0002
EPOCH: Final = 0x5AFE_0003
TEXT: Final = "~hole text~"
"""What stands in a message where a hole shall be: an int64, an int64, an int32, and a text of 11 bytes."""

_BYTES: Final = {
    OFFSET: OFFSET.to_bytes(8, "big"),
    TIME: TIME.to_bytes(8, "big"),
    EPOCH: EPOCH.to_bytes(4, "big"),
    TEXT: TEXT.encode(),
}


class Template:
    """A value's bytes around its holes."""

    def __init__(self, encoded: bytes, holes: Sequence[int | str]) -> None:
        """Take an encoded value, and the constants in it that mark holes, in their order. ValueError where one is missing."""
        self._around: list[bytes] = []
        for hole in holes:
            before, found, encoded = encoded.partition(_BYTES[hole])
            if not found:
                raise ValueError(f"the encoded value has no hole {hole!r} at its place")
            self._around.append(before)
        self._last = encoded

    def fill(self, *pieces: bytes) -> bytes:
        """Return the value with `pieces` in its holes: one for each hole, and as long as it."""
        return (
            b"".join([part for pair in zip(self._around, pieces, strict=True) for part in pair]) + self._last
        )


def key(type_id: int, **fields: Any) -> bytes:
    """Return the bytes of a key of this record type, with these fields."""
    record_type = RECORD_TYPES[type_id]
    return encode_key(Key(record_type, record_type.key(**fields)))


def value(version: int, data: Any) -> bytes:
    """Return the bytes of a value, of this version."""
    return encode_value(Value(version, "", data))

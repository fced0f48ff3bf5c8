"""Compiled: the pieces of Kafka's JSON, written at an address: numbers, texts, base64.

Each returns the address after what it wrote. The caller has made sure of room: for a number 20 bytes, for `size` bytes of
text `size + 2`, for base64 four bytes for each three.
"""

from typing import Final

import numpy as np

from offsets_tool.columns.fast.machine import load_u8, step, store_u8

_STANDARD: Final = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8
)
_URL_SAFE: Final = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", np.uint8
)
_QUOTE: Final = ord('"')
_BACKSLASH: Final = ord("\\")
_MINUS: Final = ord("-")
_ZERO: Final = ord("0")
_EQUALS: Final = ord("=")
_TEN: Final = np.uint64(10)
_NONE: Final = np.uint64(0)


@step
def write_number(out: int, value: int) -> int:
    """A decimal integer."""
    if value < 0:
        store_u8(out, _MINUS)
        out += 1
    # Unsigned, so that the least integer has a magnitude too.
    left = np.uint64(-value) if value < 0 else np.uint64(value)
    digits, rest = 1, left // _TEN
    while rest > _NONE:
        digits += 1
        rest //= _TEN
    for place in range(digits - 1, -1, -1):
        store_u8(out + place, np.int64(left % _TEN) + _ZERO)
        left //= _TEN
    return out + digits


@step
def write_copy(out: int, at: int, size: int) -> int:
    """Bytes as they are."""
    for place in range(size):
        store_u8(out + place, load_u8(at + place))
    return out + size


@step
def write_text(out: int, at: int, size: int) -> int:
    """A text in quotes; 0 if it has a character that JSON escapes, or that is not ASCII."""
    store_u8(out, _QUOTE)
    for place in range(size):
        byte = load_u8(at + place)
        if byte < 0x20 or byte >= 0x80 or byte == _QUOTE or byte == _BACKSLASH:
            return 0
        store_u8(out + 1 + place, byte)
    store_u8(out + 1 + size, _QUOTE)
    return out + size + 2


@step
def write_base64(out: int, at: int, size: int) -> int:
    """Bytes in quotes, standard base64 with padding."""
    store_u8(out, _QUOTE)
    out += 1
    end = at + size
    while at < end:
        left = end - at
        first = load_u8(at)
        second = load_u8(at + 1) if left > 1 else 0
        third = load_u8(at + 2) if left > 2 else 0
        store_u8(out, _STANDARD[first >> 2])
        store_u8(out + 1, _STANDARD[(first & 3) << 4 | second >> 4])
        store_u8(out + 2, _STANDARD[(second & 15) << 2 | third >> 6] if left > 1 else _EQUALS)
        store_u8(out + 3, _STANDARD[third & 63] if left > 2 else _EQUALS)
        out += 4
        at += 3
    store_u8(out, _QUOTE)
    return out + 1


@step
def write_uuid(out: int, at: int) -> int:
    """16 bytes in quotes as Kafka's Uuid prints them: URL-safe base64 without padding."""
    store_u8(out, _QUOTE)
    out += 1
    for group in range(5):
        bits = load_u8(at + 3 * group) << 16 | load_u8(at + 3 * group + 1) << 8 | load_u8(at + 3 * group + 2)
        for place in range(4):
            store_u8(out + place, _URL_SAFE[bits >> (18 - 6 * place) & 63])
        out += 4
    last = load_u8(at + 15)
    store_u8(out, _URL_SAFE[last >> 2])
    store_u8(out + 1, _URL_SAFE[(last & 3) << 4])
    store_u8(out + 2, _QUOTE)
    return out + 3

"""Compiled: the pieces of Kafka's JSON, written at an address: numbers, texts, base64.

Each returns the address after what it wrote. The caller has made sure of room: for a number 20 bytes, for `size` bytes of
text `6 * size + 2`, for base64 four bytes for each three.
"""

from typing import Final

import numpy as np

from offsets_tool.columns.jit.machine import load_u8, step, store_u8
from offsets_tool.columns.jit.utf8 import looks_escaped, sequence_size

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
_U: Final = ord("u")
_HEX: Final = np.frombuffer(b"0123456789ABCDEF", np.uint8)
_SHORT: Final = np.frombuffer(bytes(8) + b"btn\0fr" + bytes(18), np.uint8)
"""Letters of the control characters that have one."""
_TEN: Final = np.uint64(10)
_NONE: Final = np.uint64(0)


@step
def write_number(out: int, value: int) -> int:
    """A decimal integer."""
    if value < 0:
        store_u8(out, _MINUS)
        out += 1
    # Unsigned, so that the least integer has a magnitude too.
    left = _NONE - np.uint64(value) if value < 0 else np.uint64(value)
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
    """A text in quotes, escaped as wire.json.render escapes; 0 if it has a fault or may look like an escaped byte."""
    end = at + size
    if looks_escaped(at, size):
        return 0
    store_u8(out, _QUOTE)
    out += 1
    while at < end:
        byte = load_u8(at)
        if byte >= 0x80:
            length = sequence_size(at, end)
            if length == 0:
                return 0
            out = write_copy(out, at, length)
            at += length
            continue
        if byte < 0x20 or byte == _QUOTE or byte == _BACKSLASH:
            out = _write_escaped(out, byte)
        else:
            store_u8(out, byte)
            out += 1
        at += 1
    store_u8(out, _QUOTE)
    return out + 1


@step
def _write_escaped(out: int, byte: int) -> int:
    store_u8(out, _BACKSLASH)
    short = byte if byte >= 0x20 else np.int64(_SHORT[byte])
    if short:
        store_u8(out + 1, short)
        return out + 2
    store_u8(out + 1, _U)
    store_u8(out + 2, _ZERO)
    store_u8(out + 3, _ZERO)
    store_u8(out + 4, _HEX[byte >> 4])
    store_u8(out + 5, _HEX[byte & 15])
    return out + 6


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

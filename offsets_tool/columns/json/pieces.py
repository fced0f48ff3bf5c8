"""Compiled: the pieces of Kafka's JSON, written at an address: numbers, texts, base64.

Each returns the address after what it wrote. The caller has made sure of room: for a number 20 bytes, for `size` bytes of
text `6 * size + 2`, for base64 four bytes for each three; and eight bytes more, as texts are copied eight bytes at a time.
"""

from typing import Final

import numpy as np

from offsets_tool.columns.jit.machine import encode_base64, load_u8, load_u64, step, store_i64, store_u8
from offsets_tool.columns.jit.utf8 import sequence_size

_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_STANDARD: Final = np.frombuffer(_LETTERS + b"+/", np.uint8)
_URL_SAFE: Final = np.frombuffer(_LETTERS + b"-_", np.uint8)
_BLOCK: Final = 24
_BLOCK_READ: Final = _BLOCK + 4
_encode_block: Final = encode_base64(_BLOCK, bytes(_STANDARD))
_encode_begin_of_uuid: Final = encode_base64(12, bytes(_URL_SAFE))
_QUOTE: Final = ord('"')
_BACKSLASH: Final = ord("\\")
_MINUS: Final = ord("-")
_ZERO: Final = ord("0")
_EQUALS: Final = ord("=")
_U: Final = ord("u")
_HEX: Final = np.frombuffer(b"0123456789ABCDEF", np.uint8)
_SHORT: Final = np.frombuffer(bytes(8) + b"btn\0fr" + bytes(18), np.uint8)
"""Letters of the control characters that have one."""
_X: Final = ord("x")
_NULL: Final = np.frombuffer(b"null", np.uint8)
_TEN: Final = np.uint64(10)
_HUNDRED: Final = np.uint64(100)
_NONE: Final = np.uint64(0)
_PAIRS: Final = np.frombuffer(b"".join(b"%02d" % number for number in range(100)), np.uint8)

_HIGH_BITS: Final = np.uint64(0x8080808080808080)
_ONES: Final = np.uint64(0x0101010101010101)
_SPACES: Final = np.uint64(0x2020202020202020)
_QUOTES: Final = np.uint64(0x2222222222222222)
_BACKSLASHES: Final = np.uint64(0x5C5C5C5C5C5C5C5C)


@step
def write_number(out: int, value: int) -> int:
    """Write a decimal integer; return the address behind it."""
    if value < 0:
        store_u8(out, _MINUS)
        out += 1
    # Unsigned, so that the least integer has a magnitude too.
    left = _NONE - np.uint64(value) if value < 0 else np.uint64(value)
    digits, rest = 1, left // _TEN
    while rest > _NONE:
        digits += 1
        rest //= _TEN
    end = out + digits
    place = end
    while left >= _HUNDRED:
        pair = np.int64(left % _HUNDRED)
        left //= _HUNDRED
        place -= 2
        store_u8(place, _PAIRS[2 * pair])
        store_u8(place + 1, _PAIRS[2 * pair + 1])
    pair = np.int64(left)
    store_u8(place - 1, _PAIRS[2 * pair + 1])
    if place - 2 >= out:
        store_u8(place - 2, _PAIRS[2 * pair])
    return end


@step
def write_null(out: int) -> int:
    """Write the word null; return the address behind it."""
    for place in range(4):
        store_u8(out + place, _NULL[place])
    return out + 4


@step
def write_copy(out: int, at: int, size: int) -> int:
    """Copy bytes as they are; up to seven more are read, and written behind them. Return the address behind the copy."""
    end = out + size
    while out < end:
        store_i64(out, np.int64(load_u64(at)))
        at += 8
        out += 8
    return end


@step
def write_text(out: int, at: int, size: int, limit: int) -> int:
    """Write a text in quotes, escaped as wire.json.render escapes; return 0 if it has a fault or may look like an escaped byte.

    Nothing is read from the address `limit` on.
    """
    end = at + size
    store_u8(out, _QUOTE)
    out += 1
    while at < end:
        if at + 8 <= limit:
            plain = _plain_bytes(at, end - at)
            store_i64(out, np.int64(load_u64(at)))
            out += plain
            at += plain
            if plain:
                continue
        byte = load_u8(at)
        if byte >= 0x80:
            length = sequence_size(at, end)
            if length == 0:
                return 0
            for place in range(length):
                store_u8(out + place, load_u8(at + place))
            out += length
            at += length
            continue
        if byte < 0x20 or byte == _QUOTE or byte == _BACKSLASH:
            if byte == _BACKSLASH and at + 1 < end and load_u8(at + 1) == _X:
                return 0
            out = _write_escaped(out, byte)
        else:
            store_u8(out, byte)
            out += 1
        at += 1
    store_u8(out, _QUOTE)
    return out + 1


@step
def _plain_bytes(at: int, left: int) -> int:
    """Return how many of the eight bytes at an address, `left` of which are text, may be copied as they are; 0 if not all may."""
    word = load_u64(at)
    if left < 8:
        text = ~(~_NONE << np.uint64(8 * left))
        word = (word & text) | (_SPACES & ~text)
    special = (word - _SPACES) | ((word ^ _QUOTES) - _ONES) | ((word ^ _BACKSLASHES) - _ONES) | word
    if special & _HIGH_BITS != _NONE:
        return 0
    return min(left, 8)


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
def write_base64(out: int, at: int, size: int, limit: int) -> int:
    """Write bytes in quotes, in standard base64 with padding; nothing is read from the address `limit` on."""
    store_u8(out, _QUOTE)
    out += 1
    end = at + size
    while at + _BLOCK <= end and at + _BLOCK_READ <= limit:
        _encode_block(at, out)
        at += _BLOCK
        out += _BLOCK // 3 * 4
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
    """Write 16 bytes in quotes as Kafka's Uuid prints them: URL-safe base64 without padding."""
    store_u8(out, _QUOTE)
    _encode_begin_of_uuid(at, out + 1)
    out += 17
    bits = load_u8(at + 12) << 16 | load_u8(at + 13) << 8 | load_u8(at + 14)
    for place in range(4):
        store_u8(out + place, _URL_SAFE[bits >> (18 - 6 * place) & 63])
    last = load_u8(at + 15)
    store_u8(out + 4, _URL_SAFE[last >> 2])
    store_u8(out + 5, _URL_SAFE[(last & 3) << 4])
    store_u8(out + 6, _QUOTE)
    return out + 7

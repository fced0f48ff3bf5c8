"""Compiled: the interpreter of programs.py: from a value's bytes to its JSON at an address.

Where the bytes are at fault `at` becomes DECLINED, where the output has no more room NO_ROOM, and the run ends. Knows nothing about
rows or buffers.

Pieces (numbers, texts, base64) are written at an address, and return the address after what they wrote. The caller has made sure of
room: for a number 20 bytes, for `size` bytes of text `6 * size + 2`, for base64 four bytes for each three; and eight bytes more, as
texts are copied eight bytes at a time.
"""

from typing import Final

import numpy as np

from offsets_tool.columns.jit.machine import (
    big_i16,
    big_i32,
    big_i64,
    encode_base64,
    load_i64,
    load_u8,
    load_u64,
    step,
    store_i64,
    store_u8,
)
from offsets_tool.columns.jit.utf8 import sequence_size
from offsets_tool.columns.json.programs import JsonOp

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


DECLINED: Final = -1
NO_ROOM: Final = -2
STACK: Final = 24
"""int64 of the stack: three a frame (loop or tags), eight frames."""

_INSTRUCTION: Final = 64
_LITERAL_AT: Final = 4
_LITERAL_SIZE: Final = 5
_FRAME: Final = 24
_NUMBER_ROOM: Final = 24
_TEXT_ROOM: Final = 6
_OPEN: Final = ord("[")
_CLOSE: Final = ord("]")
_COMMA: Final = ord(",")

# Compiled code takes plain integers.
_END: Final = int(JsonOp.END)
_LITERAL: Final = int(JsonOp.LITERAL)
_INT64: Final = int(JsonOp.INT64)
_INT8: Final = int(JsonOp.INT8)
_INT16: Final = int(JsonOp.INT16)
_UINT16: Final = int(JsonOp.UINT16)
_INT32: Final = int(JsonOp.INT32)
_UUID: Final = int(JsonOp.UUID)
_STRING: Final = int(JsonOp.STRING)
_BYTES: Final = int(JsonOp.BYTES)
_NUMBERS: Final = int(JsonOp.NUMBERS)
_ARRAY: Final = int(JsonOp.ARRAY)
_NEXT: Final = int(JsonOp.NEXT)
_NULLABLE: Final = int(JsonOp.NULLABLE)
_TAGS: Final = int(JsonOp.TAGS)


@step
def run_program(code: int, pc: int, pool: int, stack: int, at: int, end: int, out: int, limit: int) -> int:
    """Run one program over the bytes from `at` to `end`; return where its text ends, DECLINED or NO_ROOM."""
    top = stack - _FRAME
    while True:
        literal_size = _argument(code, pc, _LITERAL_SIZE)
        if out + literal_size + _NUMBER_ROOM > limit:
            return NO_ROOM
        out = write_copy(out, pool + _argument(code, pc, _LITERAL_AT), literal_size)
        op = _argument(code, pc, 0)
        if op == _LITERAL:
            pc += 1
        elif op == _END:
            return out if at == end else DECLINED
        elif op < _STRING:
            at, out = _fixed(op, at, end, out)
            pc += 1
        elif op <= _BYTES:
            at, out = _sized(code, pc, at, end, out, limit)
            pc += 1
        elif op == _NUMBERS:
            at, out = _numbers(code, pc, at, end, out, limit)
            pc += 1
        elif op == _ARRAY:
            pc, at, out, top = _array(code, pc, stack, top, at, end, out)
        elif op == _NEXT:
            pc, out, top = _next_element(pc, top, out)
        elif op == _NULLABLE:
            pc, at, out = _nullable(code, pc, at, end, out)
        elif op == _TAGS:
            pc, at, top = _tags(code, pc, stack, top, at, end)
        else:
            pc, at, top = _tag_end(code, pc, pool, top, at, end, out)
        if at < 0:
            return at


@step
def _argument(code: int, pc: int, number: int) -> int:
    return load_i64(code + pc * _INSTRUCTION + 8 * number)


@step
def _fixed(op: int, at: int, end: int, out: int) -> tuple[int, int]:
    """Print a number or a uuid; return the address behind its bytes, or DECLINED, and the end of the text."""
    size = _width(op)
    if at + size > end:
        return DECLINED, out
    if op == _UUID:
        return at + size, write_uuid(out, at)
    return at + size, write_number(out, _number(op, at))


@step
def _sized(code: int, pc: int, at: int, end: int, out: int, limit: int) -> tuple[int, int]:
    """Print a text, or bytes; return the address behind them, or DECLINED, and the end of the text."""
    is_text = _argument(code, pc, 0) == _STRING
    size, at = _length(at, end, _argument(code, pc, 1), is_text)
    if at < 0 or size > end - at or (size < 0 and _argument(code, pc, 2) == 0):
        return DECLINED, out
    if out + (_TEXT_ROOM if is_text else 2) * size + _NUMBER_ROOM > limit:
        return NO_ROOM, out
    if size < 0:
        return at, write_null(out)
    if is_text:
        out = write_text(out, at, size, end)
        return (at + size, out) if out else (DECLINED, out)
    return at + size, write_base64(out, at, size, end)


@step
def _numbers(code: int, pc: int, at: int, end: int, out: int, limit: int) -> tuple[int, int]:
    """Print an array of numbers; return the address behind its bytes, or DECLINED, and the end of the text."""
    size, at = _length(at, end, _argument(code, pc, 1), False)
    if at < 0 or size > end - at or (size < 0 and _argument(code, pc, 2) == 0):
        return DECLINED, out
    if size < 0:
        return at, write_null(out)
    op = _argument(code, pc, 3)
    store_u8(out, _OPEN)
    out += 1
    for number in range(size):
        if out + 2 * _NUMBER_ROOM > limit:
            return NO_ROOM, out
        at, out = _fixed(op, at, end, out)
        if at < 0:
            return DECLINED, out
        if number < size - 1:
            store_u8(out, _COMMA)
            out += 1
    store_u8(out, _CLOSE)
    return at, out + 1


@step
def _array(
    code: int, pc: int, stack: int, top: int, at: int, end: int, out: int
) -> tuple[int, int, int, int]:
    """Print the begin of an array; return first where to go on: at its element's instruction, or behind it if it has none."""
    size, at = _length(at, end, _argument(code, pc, 1), False)
    if at < 0 or size > end - at or (size < 0 and _argument(code, pc, 2) == 0):
        return pc, DECLINED, out, top
    if size < 0:
        return _argument(code, pc, 3), at, write_null(out), top
    store_u8(out, _OPEN)
    if size == 0:
        store_u8(out + 1, _CLOSE)
        return _argument(code, pc, 3), at, out + 2, top
    top += _FRAME
    if top >= stack + 8 * STACK:
        return pc, DECLINED, out, top
    store_i64(top, pc + 1)
    store_i64(top + 8, size)
    return pc + 1, at, out + 1, top


@step
def _next_element(pc: int, top: int, out: int) -> tuple[int, int, int]:
    left = load_i64(top + 8) - 1
    store_i64(top + 8, left)
    store_u8(out, _COMMA if left else _CLOSE)
    if left:
        return load_i64(top), out + 1, top
    return pc + 1, out + 1, top - _FRAME


@step
def _nullable(code: int, pc: int, at: int, end: int, out: int) -> tuple[int, int, int]:
    """Read whether a part is null, a byte, or in a tag a varint (KIP-893), and print the null; return first where to go on."""
    if _argument(code, pc, 1):
        present, at = _varint(at, end)
    elif at < end:
        present, at = (1 if load_u8(at) < 0x80 else 0), at + 1
    else:
        return pc, DECLINED, out
    if at < 0 or present:
        return pc + 1, at, out
    return _argument(code, pc, 2), at, write_null(out)


@step
def _tags(code: int, pc: int, stack: int, top: int, at: int, end: int) -> tuple[int, int, int]:
    """Begin a section of tags; its frame has how many are left, the latest tag, and where the tag's field must end."""
    count, at = _varint(at, end)
    if at < 0 or count == 0:
        return _argument(code, pc, 1), at, top
    top += _FRAME
    if top >= stack + 8 * STACK:
        return pc, DECLINED, top
    store_i64(top, count)
    store_i64(top + 8, -1)
    pc, at = _next_tag(code, pc, top, at, end)
    return pc, at, top


@step
def _tag_end(code: int, pc: int, pool: int, top: int, at: int, end: int, out: int) -> tuple[int, int, int]:
    if at != load_i64(top + 16) or _ends_with(out, pool + _argument(code, pc, 1), _argument(code, pc, 2)):
        return pc, DECLINED, top
    section, left = _argument(code, pc, 3), load_i64(top) - 1
    store_i64(top, left)
    if left == 0:
        return _argument(code, section, 1), at, top - _FRAME
    pc, at = _next_tag(code, section, top, at, end)
    return pc, at, top


@step
def _next_tag(code: int, section: int, top: int, at: int, end: int) -> tuple[int, int]:
    """Return the first instruction of the next tag's field, and where its bytes begin; tags must be known and ascend."""
    tag, at = _varint(at, end)
    size, at = _varint(at, end)
    if at < 0 or size < 0 or size > end - at or tag <= load_i64(top + 8):
        return 0, DECLINED
    store_i64(top + 8, tag)
    store_i64(top + 16, at + size)
    for entry in range(section + 1, section + 1 + _argument(code, section, 2)):
        if _argument(code, entry, 1) == tag:
            return _argument(code, entry, 2), at
    return 0, DECLINED


@step
def _varint(at: int, end: int) -> tuple[int, int]:
    """Return an unsigned varint of at most four bytes, and where it ends; DECLINED for anything else."""
    value, shift = 0, 0
    while 0 < at < end and shift < 28:
        byte = load_u8(at)
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return 0, DECLINED


@step
def _length(at: int, end: int, flexible: int, short: bool) -> tuple[int, int]:
    """Return the length before a text, bytes or an array, below 0 for null, and where it ends."""
    if flexible:
        value, at = _varint(at, end)
        if short and value > 0x8000:
            return 0, DECLINED
        return value - 1, at
    if short:
        return (big_i16(at), at + 2) if at + 2 <= end else (0, DECLINED)
    return (big_i32(at), at + 4) if at + 4 <= end else (0, DECLINED)


@step
def _width(op: int) -> int:
    if op == _INT8:
        return 1
    if op <= _UINT16:
        return 2
    if op == _INT32:
        return 4
    return 8 if op == _INT64 else 16


@step
def _number(op: int, at: int) -> int:
    if op == _INT8:
        value = load_u8(at)
        return value - 256 if value > 127 else value
    if op == _INT16:
        return big_i16(at)
    if op == _UINT16:
        return big_i16(at) & 0xFFFF
    return big_i32(at) if op == _INT32 else big_i64(at)


@step
def _ends_with(out: int, text: int, size: int) -> bool:
    place = 0
    while place < size and load_u8(out - size + place) == load_u8(text + place):
        place += 1
    return place == size

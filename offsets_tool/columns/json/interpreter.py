"""Compiled: the interpreter of programs.py: from a value's bytes to its JSON at an address.

Where the bytes are at fault `at` becomes DECLINED, where the output has no more room NO_ROOM, and the run ends. Knows nothing about
rows or buffers.
"""

from typing import Final

from offsets_tool.columns.jit.machine import (
    big_i16,
    big_i32,
    big_i64,
    load_i64,
    load_u8,
    step,
    store_i64,
    store_u8,
)
from offsets_tool.columns.json.pieces import (
    write_base64,
    write_copy,
    write_null,
    write_number,
    write_text,
    write_uuid,
)
from offsets_tool.columns.json.programs import JsonOp

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

"""Compiled: lines of text from programs, which are templates as instructions.

A line is a batch's or a record's. Numbers come from columns, texts from where they lie. Knows nothing about what is printed.
"""

from enum import IntEnum
from typing import Final

import numpy as np

from offsets_tool.columns.jit.machine import compiled, load_i64, load_u8, step, store_i64, store_u8
from offsets_tool.columns.lane.layout import NO_KEY


class TextOp(IntEnum):
    """An instruction is three int64: the operation and two arguments."""

    LITERAL = 0
    """Address and size."""
    BATCH_NUMBER = 1
    """The column's number."""
    RECORD_NUMBER = 2
    KEY = 3
    METADATA = 4
    TOPIC_ID = 5
    VALUE = 6


class KernelInput(IntEnum):
    """The places of the compiled writer's input: addresses of arrays of int64, unless the place says otherwise."""

    PROGRAMS = 0
    """Three int64 a program: address of its instructions, how many they are, the most bytes of its literals and numbers."""
    COLUMNS = 1
    """Addresses of the columns."""
    LINE_PROGRAMS = 2
    LINE_BATCHES = 3
    LINE_RECORDS = 4
    KEYS = 5
    """Each record's key."""
    KEY_STARTS = 6
    KEY_SIZES = 7
    KEY_TEXTS = 8
    """Bytes."""
    METADATA_STARTS = 9
    METADATA_SIZES = 10
    DATA = 11
    """Bytes of the chunk."""
    ESCAPES = 12
    """For each ASCII character the size of what is printed, and its eight bytes."""
    TOPIC_IDS = 13
    """Each record's topic id."""
    TOPIC_ID_TEXTS = 14
    """Bytes, TOPIC_ID_SIZE for each topic id."""
    VALUE_STARTS = 15
    """Where each record's value is as JSON."""
    VALUE_SIZES = 16
    VALUES = 17
    """Bytes."""


TOPIC_ID_SIZE: Final = 22
LONGEST_ESCAPE: Final = 8
NUMBER_SIZE: Final = 20
HAS_PART: Final = 1
HAS_CODE: Final = 2
SLACK: Final = 16
"""Bytes that may be written beyond the end of a text."""

# Compiled code takes plain integers.
_PROGRAMS: Final = 8 * int(KernelInput.PROGRAMS)
_COLUMNS: Final = 8 * int(KernelInput.COLUMNS)
_LINE_PROGRAMS: Final = 8 * int(KernelInput.LINE_PROGRAMS)
_LINE_BATCHES: Final = 8 * int(KernelInput.LINE_BATCHES)
_LINE_RECORDS: Final = 8 * int(KernelInput.LINE_RECORDS)
_KEYS: Final = 8 * int(KernelInput.KEYS)
_KEY_STARTS: Final = 8 * int(KernelInput.KEY_STARTS)
_KEY_SIZES: Final = 8 * int(KernelInput.KEY_SIZES)
_KEY_TEXTS: Final = 8 * int(KernelInput.KEY_TEXTS)
_METADATA_STARTS: Final = 8 * int(KernelInput.METADATA_STARTS)
_METADATA_SIZES: Final = 8 * int(KernelInput.METADATA_SIZES)
_DATA: Final = 8 * int(KernelInput.DATA)
_ESCAPES: Final = 8 * int(KernelInput.ESCAPES)
_TOPIC_IDS: Final = 8 * int(KernelInput.TOPIC_IDS)
_TOPIC_ID_TEXTS: Final = 8 * int(KernelInput.TOPIC_ID_TEXTS)
_VALUE_STARTS: Final = 8 * int(KernelInput.VALUE_STARTS)
_VALUE_SIZES: Final = 8 * int(KernelInput.VALUE_SIZES)
_VALUES: Final = 8 * int(KernelInput.VALUES)
_LITERAL: Final = int(TextOp.LITERAL)
_BATCH_NUMBER: Final = int(TextOp.BATCH_NUMBER)
_RECORD_NUMBER: Final = int(TextOp.RECORD_NUMBER)
_KEY: Final = int(TextOp.KEY)
_METADATA: Final = int(TextOp.METADATA)
_VALUE: Final = int(TextOp.VALUE)

_INSTRUCTION: Final = 24
_QUOTE: Final = ord('"')
_BACKSLASH: Final = ord("\\")
_U: Final = ord("u")
_DELETE: Final = 0x7F
_LATIN: Final = 0xC2
_FIRST_LATIN: Final = 0xA0
_PUNCTUATION: Final = 0xE2
_LAST_PUNCTUATION: Final = 0x81
_ARABIC: Final = 0xD8
_ARABIC_MARK: Final = 0x9C
_COLON: Final = ord(":")
_BRACE: Final = ord("{")
_HUNDRED: Final = np.uint64(100)
_PAIRS: Final = np.frombuffer(b"".join(b"%02d" % number for number in range(100)), np.uint8)
_POWERS: Final = np.array([10**digits for digits in range(19)], np.uint64)


@compiled
def write_lines(inputs: int, line: int, last: int, out: int, limit: int) -> tuple[int, int]:
    """Write lines from `line` to `last` at address `out`; return the line it stopped before, and where the text ends.

    It stops before a line that has no program, and where a line might not end before `limit`.
    """
    while line < last:
        program = _at(inputs, _LINE_PROGRAMS, line)
        if program < 0:
            break
        entry = load_i64(inputs + _PROGRAMS) + 24 * program
        record = _at(inputs, _LINE_RECORDS, line)
        if out + load_i64(entry + 16) + _texts_bound(inputs, record) > limit:
            break
        batch = _at(inputs, _LINE_BATCHES, line)
        out = _run(inputs, load_i64(entry), load_i64(entry + 8), batch, record, out)
        line += 1
    return line, out


@step
def _at(inputs: int, place: int, number: int) -> int:
    return load_i64(load_i64(inputs + place) + 8 * number)


@step
def _texts_bound(inputs: int, record: int) -> int:
    """Return the most bytes that a record's texts take."""
    if record < 0:
        return 0
    key = _at(inputs, _KEYS, record)
    size = _at(inputs, _KEY_SIZES, key) if key != NO_KEY else 0
    size += _at(inputs, _VALUE_SIZES, record)
    return size + LONGEST_ESCAPE * max(_at(inputs, _METADATA_SIZES, record), 0) + TOPIC_ID_SIZE + SLACK


@step
def _run(inputs: int, instruction: int, count: int, batch: int, record: int, out: int) -> int:
    end = instruction + _INSTRUCTION * count
    while instruction < end:
        op = load_i64(instruction)
        argument = load_i64(instruction + 8)
        if op == _LITERAL:
            out = _copy(out, argument, load_i64(instruction + 16))
        elif op == _RECORD_NUMBER:
            out = write_digits(out, load_i64(_at(inputs, _COLUMNS, argument) + 8 * record))
        elif op == _BATCH_NUMBER:
            out = write_digits(out, load_i64(_at(inputs, _COLUMNS, argument) + 8 * batch))
        else:
            out = _text(inputs, op, record, out)
        instruction += _INSTRUCTION
    return out


@step
def _text(inputs: int, op: int, record: int, out: int) -> int:
    if op == _KEY:
        key = _at(inputs, _KEYS, record)
        start = load_i64(inputs + _KEY_TEXTS) + _at(inputs, _KEY_STARTS, key)
        return _copy(out, start, _at(inputs, _KEY_SIZES, key))
    if op == _METADATA:
        start = load_i64(inputs + _DATA) + _at(inputs, _METADATA_STARTS, record)
        return _escaped(load_i64(inputs + _ESCAPES), out, start, _at(inputs, _METADATA_SIZES, record))
    if op == _VALUE:
        start = load_i64(inputs + _VALUES) + _at(inputs, _VALUE_STARTS, record)
        return _copy(out, start, _at(inputs, _VALUE_SIZES, record))
    number = _at(inputs, _TOPIC_IDS, record)
    return _copy(out, load_i64(inputs + _TOPIC_ID_TEXTS) + TOPIC_ID_SIZE * number, TOPIC_ID_SIZE)


@step
def _copy(out: int, at: int, size: int) -> int:
    """Copy bytes, eight at a time as both sides have some to spare; return the address behind them."""
    end = out + size
    while out < end:
        store_i64(out, load_i64(at))
        out += 8
        at += 8
    return end


@step
def _escaped(escapes: int, out: int, at: int, size: int) -> int:
    for place in range(size):
        escape = escapes + 16 * load_u8(at + place)
        store_i64(out, load_i64(escape + 8))
        out += load_i64(escape)
    return out


@step
def write_digits(out: int, value: int) -> int:
    """Write a number that is not negative in decimal digits; return the address behind them."""
    left = np.uint64(value)
    digits = 1
    while digits < 19 and left >= _POWERS[digits]:
        digits += 1
    at = out + digits
    while left >= _HUNDRED:
        rest = left // _HUNDRED
        pair = np.int64(left - rest * _HUNDRED)
        at -= 2
        store_u8(at, _PAIRS[2 * pair])
        store_u8(at + 1, _PAIRS[2 * pair + 1])
        left = rest
    pair = np.int64(left)
    if pair >= 10:
        store_u8(at - 2, _PAIRS[2 * pair])
    store_u8(at - 1, _PAIRS[2 * pair + 1])
    return out + digits


@compiled
def find_marks(data: int, starts: int, sizes: int, count: int, marks: int) -> None:
    """Write for each JSON text whether it has a structure outside of arrays (HAS_PART) and a character by its code (HAS_CODE).

    Some JSON writers give characters that steer a terminal by their codes, so these count as HAS_CODE too.
    """
    for number in range(count):
        at = data + load_i64(starts + 8 * number)
        end = at + load_i64(sizes + 8 * number) - 2
        found = 0
        while at < end:
            byte = load_u8(at)
            if byte == _QUOTE and load_u8(at + 1) == _COLON and load_u8(at + 2) == _BRACE:
                found |= HAS_PART
            elif (byte == _BACKSLASH and load_u8(at + 1) == _U) or (
                byte >= _DELETE and _is_unsafe(byte, load_u8(at + 1))
            ):
                found |= HAS_CODE
            at += 1
        store_i64(marks + 8 * number, found)


@step
def _is_unsafe(byte: int, next_: int) -> bool:
    """Return whether two bytes may begin a control character, or one that turns the direction of writing."""
    if byte == _DELETE or (byte == _LATIN and next_ < _FIRST_LATIN):
        return True
    return (byte == _PUNCTUATION and next_ <= _LAST_PUNCTUATION) or (
        byte == _ARABIC and next_ == _ARABIC_MARK
    )

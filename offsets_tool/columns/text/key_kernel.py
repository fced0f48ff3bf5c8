"""Compiled: texts of plain keys from programs, one after another; any other key is pointed out and left to the caller.

A plain key is a commit's: two names of letters, digits, dots and dashes, and a partition. The caller's program says how its text
is put together.
"""

from enum import IntEnum
from typing import Final

import numpy as np

from offsets_tool.columns.jit.machine import (
    big_i16,
    big_i32,
    compiled,
    load_i64,
    load_u8,
    step,
    store_i64,
    store_u8,
)
from offsets_tool.columns.lane.commits import COMMIT_TYPES
from offsets_tool.columns.lane.interned import key_at, key_size
from offsets_tool.columns.text.kernel import write_digits


class KeyOp(IntEnum):
    """The operations of a program that writes the text of a key; an instruction is three int64, the operation and two arguments."""

    LITERAL = 0
    """Address and size."""
    GROUP = 1
    TOPIC = 2
    PARTITION = 3


class KeyKernelInput(IntEnum):
    """The places of the input of `write_keys`: addresses of arrays of int64, unless the place says otherwise."""

    INTERNED = 0
    PROGRAMS = 1
    """Four int64 for each of the two types of key: address of its instructions, how many they are (0: no program), the most
    bytes of its literals and numbers, and of its names how many times a key's size."""
    CLASSES = 2
    SIZES = 3
    STARTS = 4
    """Where the texts begin."""
    TEXT_SIZES = 5
    OUT = 6
    """Bytes."""
    ROOM = 7
    """How many bytes that is: a number."""


LEFT: Final = -2
"""The class of a key that is left to the caller."""

PLAIN: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

_INTERNED: Final = 8 * int(KeyKernelInput.INTERNED)
_PROGRAMS: Final = 8 * int(KeyKernelInput.PROGRAMS)
_CLASSES: Final = 8 * int(KeyKernelInput.CLASSES)
_SIZES: Final = 8 * int(KeyKernelInput.SIZES)
_STARTS: Final = 8 * int(KeyKernelInput.STARTS)
_TEXT_SIZES: Final = 8 * int(KeyKernelInput.TEXT_SIZES)
_OUT: Final = 8 * int(KeyKernelInput.OUT)
_ROOM: Final = 8 * int(KeyKernelInput.ROOM)
_LITERAL: Final = int(KeyOp.LITERAL)
_GROUP: Final = int(KeyOp.GROUP)
_TOPIC: Final = int(KeyOp.TOPIC)

_INSTRUCTION: Final = 24
_PROGRAM: Final = 32
_OVERHEAD: Final = 10
_IS_PLAIN: Final = np.array([byte in PLAIN for byte in range(256)], np.uint8)


@compiled
def write_keys(inputs: int, number: int, last: int, used: int) -> tuple[int, int]:
    """Write the texts of the keys from `number` to `last`; return the key that had no room, or `last`, and the bytes used."""
    tables = load_i64(inputs + _INTERNED)
    while number < last:
        size, key = key_size(tables, number), key_at(tables, number)
        group = plain_group(key, size)
        program = load_i64(inputs + _PROGRAMS) + _PROGRAM * load_u8(key + 1) if group >= 0 else 0
        store_i64(load_i64(inputs + _SIZES) + 8 * number, size)
        if group < 0 or load_i64(program + 8) == 0:
            store_i64(load_i64(inputs + _CLASSES) + 8 * number, LEFT)
        else:
            if used + load_i64(program + 16) + size * load_i64(program + 24) > load_i64(inputs + _ROOM):
                break
            out = load_i64(inputs + _OUT)
            end = _run(program, key, size, group, out + used) - out
            store_i64(load_i64(inputs + _CLASSES) + 8 * number, load_u8(key + 1))
            store_i64(load_i64(inputs + _STARTS) + 8 * number, used)
            store_i64(load_i64(inputs + _TEXT_SIZES) + 8 * number, end - used)
            used = end
        number += 1
    return number, used


@step
def plain_group(key: int, size: int) -> int:
    """Return how many bytes the group of a plain key has; -1 for other keys."""
    if size < _OVERHEAD or load_u8(key) != 0 or load_u8(key + 1) >= COMMIT_TYPES:
        return -1
    group = big_i16(key + 2)
    if group <= 0 or group > size - _OVERHEAD - 1:
        return -1
    topic = big_i16(key + 4 + group)
    if group + topic + _OVERHEAD != size or big_i32(key + size - 4) < 0:
        return -1
    if not (_is_plain(key + 4, group) and _is_plain(key + 6 + group, topic)):
        return -1
    return group


@step
def _is_plain(at: int, size: int) -> bool:
    end = at + size
    while at < end and _IS_PLAIN[load_u8(at)] != 0:
        at += 1
    return at >= end


@step
def _run(program: int, key: int, size: int, group: int, out: int) -> int:
    instruction = load_i64(program)
    end = instruction + _INSTRUCTION * load_i64(program + 8)
    while instruction < end:
        op = load_i64(instruction)
        if op == _LITERAL:
            out = _copy(out, load_i64(instruction + 8), load_i64(instruction + 16))
        elif op == _GROUP:
            out = _copy(out, key + 4, group)
        elif op == _TOPIC:
            out = _copy(out, key + 6 + group, size - group - _OVERHEAD)
        else:
            out = write_digits(out, big_i32(key + size - 4))
        instruction += _INSTRUCTION
    return out


@step
def _copy(out: int, at: int, size: int) -> int:
    """Copy bytes one by one, as nothing is known of what lies behind a key; return the address behind them."""
    for place in range(size):
        store_u8(out + place, load_u8(at + place))
    return out + size

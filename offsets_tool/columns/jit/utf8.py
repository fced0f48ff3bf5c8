"""Compiled: which bytes are UTF-8 without a fault, and which may look like an escaped byte.

Faultless as Python's and Java's decoders have it: no overlong form, no surrogate, nothing beyond U+10FFFF, nothing cut. What
becomes of other text is the reference's to say, and how text is shown that looks escaped.
"""

from typing import Final

import numpy as np

from offsets_tool.columns.jit.machine import load_u8, load_u64, step

_HIGH_BITS: Final = np.uint64(0x8080808080808080)
_NONE: Final = np.uint64(0)
_LOW_BITS: Final = np.uint64(0x0101010101010101)
_BACKSLASHES: Final = np.uint64(0x5C5C5C5C5C5C5C5C)
_BACKSLASH: Final = ord("\\")
_X: Final = ord("x")


@step
def is_utf8(at: int, size: int) -> bool:
    """Return whether `size` bytes at an address are valid UTF-8."""
    end = at + size
    at = ascii_end(at, end)
    while at < end:
        length = sequence_size(at, end)
        if length == 0:
            return False
        at = ascii_end(at + length, end)
    return True


@step
def looks_escaped(at: int, size: int) -> bool:
    """Return whether a backslash before an x is in the text of `size` bytes at an address."""
    end = at + size
    while at + 8 <= end and not _has_backslash(at):
        at += 8
    while at + 1 < end:
        if load_u8(at) == _BACKSLASH and load_u8(at + 1) == _X:
            return True
        at += 1
    return False


@step
def _has_backslash(at: int) -> bool:
    """Return whether one of the eight bytes at an address is a backslash."""
    bytes_ = load_u64(at) ^ _BACKSLASHES
    return (bytes_ - _LOW_BITS) & ~bytes_ & _HIGH_BITS != _NONE  # type: ignore[no-any-return]


@step
def ascii_end(at: int, end: int) -> int:
    """Return the address of the first byte that is not ASCII, or `end`."""
    while at + 8 <= end and load_u64(at) & _HIGH_BITS == _NONE:
        at += 8
    while at < end and load_u8(at) < 0x80:
        at += 1
    return at


@step
def sequence_size(at: int, end: int) -> int:
    """Return the size of the character at an address, which is not ASCII; 0 if it is malformed."""
    first = load_u8(at)
    if first < 0xC2 or first > 0xF4:
        return 0
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if at + size > end or not _may_follow(first, load_u8(at + 1)):
        return 0
    for place in range(2, size):
        if load_u8(at + place) & 0xC0 != 0x80:
            return 0
    return size


@step
def _may_follow(first: int, second: int) -> bool:
    """Return whether a second byte may follow the first, by Unicode's table 3-7: some first bytes narrow the second's range."""
    if second & 0xC0 != 0x80:
        return False
    if first == 0xE0:
        return second >= 0xA0
    if first == 0xED:
        return second < 0xA0
    if first == 0xF0:
        return second >= 0x90
    return first != 0xF4 or second < 0x90

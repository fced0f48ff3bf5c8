"""Checksums of any part of a file, in time that does not depend on how often or how long parts overlap.

Damaged or hostile bytes can hold a fake header at every position, each claiming most of the file: checking them one by
one would be quadratic. Long parts are therefore derived from running checksums: crc(B) follows from crc(A), crc(A || B)
and len(B), because a CRC is linear. Knows nothing about batches.
"""

import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import crc32c

from offsets_tool.log.holes import Fetch, all_there

CRC32: Final = 0xEDB88320
CRC32C: Final = 0x82F63B78
STRIDE: Final = 1 << 16

Function = Callable[[memoryview, int], int]


def _multiply(a: int, b: int, polynomial: int) -> int:
    """Multiply two polynomials over GF(2) modulo the CRC's own, bits reflected (bit 31 is x^0)."""
    product = 0
    bit = 1 << 31
    while bit and a & (2 * bit - 1):
        if a & bit:
            product ^= b
        b = (b >> 1) ^ polynomial if b & 1 else b >> 1
        bit >>= 1
    return product


@lru_cache(maxsize=4)
def _powers(polynomial: int) -> tuple[int, ...]:
    """Return x^8, x^16, x^32 ... modulo the polynomial: one entry a bit of a length in bytes."""
    powers = [1 << 23]
    while len(powers) < 48:
        powers.append(_multiply(powers[-1], powers[-1], polynomial))
    return tuple(powers)


@lru_cache(maxsize=1 << 12)
def _shift_by(length: int, polynomial: int) -> int:
    shift = 1 << 31
    for bit, power in enumerate(_powers(polynomial)):
        if length >> bit & 1:
            shift = _multiply(power, shift, polynomial)
    return shift


def _extend_crc32(data: memoryview, crc: int) -> int:
    return zlib.crc32(data, crc)


def _extend_crc32c(data: memoryview, crc: int) -> int:
    return int(crc32c.crc32c(data, crc))


class RunningChecksum:
    """One kind of checksum of any part: running ones from the first long part's start, one kept every STRIDE bytes."""

    def __init__(self, data: memoryview, extend: Function, polynomial: int, fetch: Fetch = all_there) -> None:
        self._data = data
        self._fetch = fetch
        self._extend = extend
        self._polynomial = polynomial
        self._origin = 0
        self._marks: list[int] = []

    def part(self, start: int, end: int) -> int:
        """Return the checksum of the bytes from `start` to `end`."""
        if not self._marks or start < self._origin:
            self._origin, self._marks = start, [0]
        before = self._up_to(start)
        return self._up_to(end) ^ _multiply(
            _shift_by(end - start, self._polynomial), before, self._polynomial
        )

    def _up_to(self, position: int) -> int:
        mark = (position - self._origin) // STRIDE
        while len(self._marks) <= mark:
            at = self._origin + (len(self._marks) - 1) * STRIDE
            self._marks.append(self._extended(at, at + STRIDE, self._marks[-1]))
        return self._extended(self._origin + mark * STRIDE, position, self._marks[mark])

    def _extended(self, start: int, end: int, crc: int) -> int:
        self._fetch(start, end)
        return self._extend(self._data[start:end], crc)


class Checksums:
    """CRC-32 and CRC-32C of parts of one buffer."""

    def __init__(self, data: memoryview, fetch: Fetch = all_there) -> None:
        """Prepare for checksums of parts of `data`; `fetch` is called for a range that may not be in memory yet."""
        self._data = data
        self._fetch = fetch
        self._crc32 = RunningChecksum(data, _extend_crc32, CRC32, fetch)
        self._crc32c = RunningChecksum(data, _extend_crc32c, CRC32C, fetch)

    def crc32(self, start: int, end: int) -> int:
        """Return the checksum of messages of magic 0 and 1: CRC-32 of the bytes from `start` to `end`."""
        if end - start <= STRIDE:
            self._fetch(start, end)
            return zlib.crc32(self._data[start:end])
        return self._crc32.part(start, end)

    def crc32c(self, start: int, end: int) -> int:
        """Return the checksum of batches of magic 2: CRC-32C of the bytes from `start` to `end`."""
        if end - start <= STRIDE:
            self._fetch(start, end)
            return int(crc32c.crc32c(self._data[start:end]))
        return self._crc32c.part(start, end)

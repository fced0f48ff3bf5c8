"""Batches for differential tests, thousands a second and reproducible from a seed: what brokers write, with one to three faults.

A fault is a number at an edge of its type (in a header, a record's differences and lengths, a key, a value), a number that is
longer than it need be, or bytes changed by chance. Nearly all have the right checksum, so only the readers' own tests can tell.
"""

import struct
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

import crc32c

from tests.dialects.hostile import Hostile
from tests.log.encoded_batches import compress, message, uvarint, wrapper

EDGES: Final = (
    *(sign * number for number in (0, 1, 2, 9, 10, 63, 64, 99, 100, 127, 128) for sign in (1, -1)),
    *(
        sign * 2**bits + more
        for bits in (15, 16, 31, 32, 47, 48, 55, 62)
        for sign in (1, -1)
        for more in (-1, 0, 1)
    ),
    2**63 - 1,
    2**63 - 2,
    -(2**63),
    -(2**63) + 1,
    1700000000000,
)
"""Of every width that Kafka's formats and our readers have, on both sides."""

_HEADER: Final = (
    (0, "q"),
    (8, "i"),
    (12, "i"),
    (16, "b"),
    (21, "h"),
    (23, "i"),
    (27, "q"),
    (35, "q"),
    (43, "q"),
    (51, "h"),
    (53, "i"),
    (57, "i"),
)
"""Where each field of a header of magic 2 stands, and its type."""
_BITS: Final = {"b": 8, "h": 16, "i": 32, "q": 64}
_POOL: Final = 1500
_LONGEST: Final = 400
_TIME: Final = 1700000000000
_NEXT_CODEC: Final = 0.01
"""Codecs change seldom: where they do the lane begins anew, which takes longer than reading a hundred batches."""


def in_bits(number: int, bits: int) -> int:
    """Return a number cut to a signed type of `bits` bits."""
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


class Mutants:
    """A stream of batches from one seed, offset after offset."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        some = Hostile(seed).records(_POOL)
        self._pool = [pair for pair in some if len(pair[0] or b"") + len(pair[1] or b"") < _LONGEST]
        self._offset = 0
        self._codec = 0

    def batches(self, count: int) -> list[bytes]:
        """Return the next `count` batches."""
        return [self._batch() for _ in range(count)]

    def _batch(self) -> bytes:
        random = self._random
        kind = random.random()
        if kind < 0.005:
            return self._legacy()
        made = self._of_records(random.choice((1, 1, 1, 2, 3)))
        if kind < 0.1:
            made = self._header_at_an_edge(made)
        elif kind < 0.11:
            made = _checked(self._flipped(made, 61))
        elif kind < 0.113:
            made = self._flipped(made, 0)
        return made

    def _of_records(self, count: int) -> bytes:
        random = self._random
        body = b"".join(self._record(place) for place in range(count))
        if random.random() < _NEXT_CODEC:
            self._codec = random.randrange(5)
        codec = self._codec
        attributes = random.choice((0,) * 10 + (8, 16, 32, 48, 64, 72)) | codec
        base, time = self._offset, _TIME + self._offset
        self._offset += count
        last = random.randrange(4) or count - 1
        producer = (random.choice((-1, 7)), random.choice((-1, 0)), random.choice((-1, 0, 2**31 - 2)))
        head = struct.pack(">hiqqqhii", attributes, last, time, time + 5, *producer, count)
        return _finished(base, head + compress(codec, body))

    def _record(self, place: int) -> bytes:
        key, value = self._key_and_value()
        random = self._random
        numbers = [
            random.randrange(3),
            place,
            -1 if key is None else len(key),
            -1 if value is None else len(value),
            0,
        ]
        faulty = random.randrange(300)
        if faulty < len(numbers):
            numbers[faulty] = self._edge()
        time, offset, key_size, value_size, headers = map(self._varint, numbers)
        body = b"\0" + time + offset + key_size + (key or b"") + value_size + (value or b"") + headers
        return self._varint(self._edge() if faulty == 20 else len(body)) + body

    def _varint(self, number: int) -> bytes:
        made = uvarint(((number << 1) ^ (number >> 63)) & (2**64 - 1))
        if self._random.random() < 0.001:
            longer = self._random.randrange(1, 8)
            made = made[:-1] + bytes([made[-1] | 0x80]) + b"\x80" * (longer - 1) + b"\0"
        return made

    def _key_and_value(self) -> tuple[bytes | None, bytes | None]:
        random = self._random
        if random.random() < 0.3:
            return random.choice(self._pool)
        group = random.choice((b"g", b"orders", b"", b"\xff", b"a" * 60))
        key = struct.pack(">hh", random.choice((0, 1, 1, 1, 1)), len(group)) + group + b"\0\1t"
        key += struct.pack(">i", in_bits(self._edge(), 32) if random.random() < 0.1 else random.randrange(3))
        value = None if random.random() < 0.1 else self._commit()
        return key, value

    def _commit(self) -> bytes:
        random = self._random
        version, rare = random.choice((0, 1, 2, 3, 3, 3, 4)), 0.15
        offset, time, expire = (self._edge() if random.random() < rare else _TIME for _ in range(3))
        epoch = in_bits(self._edge(), 32) if random.random() < rare else 5
        text = random.choice((b"", b"", b"m", b"\x80", "è".encode()))
        size = in_bits(self._edge(), 16) if random.random() < 0.03 else len(text)
        made = struct.pack(">hq", version, offset) + (struct.pack(">i", epoch) if version >= 3 else b"")
        made += uvarint(max(size + 1, 0)) if version == 4 else struct.pack(">h", size)
        made += text + struct.pack(">q", time) + (struct.pack(">q", expire) if version == 1 else b"")
        made += b"\0" if version == 4 else b""
        return self._flipped(made, 0) if random.random() < 0.03 else made

    def _edge(self) -> int:
        return self._random.choice(EDGES)

    def _header_at_an_edge(self, made: bytes) -> bytes:
        changed = bytearray(made)
        for _ in range(self._random.choice((1, 1, 2))):
            place, type_ = self._random.choice(_HEADER)
            struct.pack_into(">" + type_, changed, place, in_bits(self._edge(), _BITS[type_]))
        return _checked(bytes(changed))

    def changed(self, made: bytes) -> bytes:
        """Return a batch of magic 2 with a number of its header at an edge, or a byte of its content changed by chance."""
        if self._random.random() < 0.5:
            return self._header_at_an_edge(made)
        return _checked(self._flipped(made, 61))

    def _flipped(self, made: bytes, first: int) -> bytes:
        changed = bytearray(made)
        if len(made) > first:
            changed[self._random.randrange(first, len(made))] = self._random.randrange(256)
        return bytes(changed)

    def _legacy(self) -> bytes:
        """Return a message or a wrapper of magic 0 or 1, with inner offsets and times at the edges of their types."""
        random = self._random
        magic = random.randrange(2)
        inner = b"".join(
            message(magic, self._some(place), *self._key_and_value(), timestamp=self._some(_TIME))
            for place in range(2)
        )
        self._offset += 2
        if random.random() < 0.3:
            return inner
        offset = random.choice((self._offset, self._offset, self._edge()))
        return wrapper(
            magic, in_bits(offset, 64), inner, random.choice((1, 2, 3)), timestamp=self._some(_TIME)
        )

    def _some(self, number: int) -> int:
        return self._edge() if self._random.random() < 0.1 else number


def _finished(base: int, tail: bytes) -> bytes:
    return struct.pack(">qiibI", base, len(tail) + 9, 0, 2, crc32c.crc32c(tail)) + tail


def _checked(made: bytes) -> bytes:
    """Return the batch with the right checksum of its changed bytes."""
    return made[:17] + struct.pack(">I", crc32c.crc32c(made[21:])) + made[21:]


def least(batches: Sequence[bytes], differs: Callable[[list[bytes]], bool]) -> list[bytes]:
    """Return as few of these batches as still make the lanes differ, in their order."""
    left, size = list(batches), len(batches) // 2
    while size:
        for first in range(0, len(left), size):
            fewer = left[:first] + left[first + size :]
            if fewer and differs(fewer):
                left = fewer
                break
        else:
            size //= 2
    return left

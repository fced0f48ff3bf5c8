"""Segments for differential tests: hostile records in batches and messages of every magic, with gaps, markers and bad ends."""

from random import Random
from typing import Final

from tests.dialects.hostile import Record
from tests.log import encoded_batches

_HEADERS: Final = ((), (), ((b"h", b"x"), ("è".encode(), None)))
_PRODUCERS: Final = ((-1, -1, -1), (-1, -1, 0), (7, 2, 2**31 - 2))
_ATTRIBUTES: Final = (0, 0, 16, 8, 64)
"""None, transactional, log append time, delete horizon."""
_MAGIC_1_CODECS: Final = (encoded_batches.GZIP, encoded_batches.SNAPPY)
_CODECS: Final = (encoded_batches.NONE, encoded_batches.NONE, *_MAGIC_1_CODECS)


def segment(records: list[Record], random: Random, base_offset: int) -> bytes:
    """Return a segment with all the records in order, with gaps before some batches and markers after some."""
    content, offset = b"", base_offset
    while records:
        some, records = records[:3], records[3:]
        offset += random.choice((0, 0, 0, 3))
        content += random.choice((_batch, _batch, _batch, _messages, _wrapper))(some, random, offset)
        offset += len(some)
        if random.random() < 0.05:
            content += _marker(random, offset)
            offset += 1
    return content


def _batch(records: list[Record], random: Random, offset: int) -> bytes:
    body = [
        encoded_batches.record(delta, key, value, delta - 1, headers=random.choice(_HEADERS))
        for delta, (key, value) in enumerate(records)
    ]
    return encoded_batches.v2(
        offset,
        body,
        codec=random.choice(_CODECS),
        attributes=random.choice(_ATTRIBUTES),
        producer=random.choice(_PRODUCERS),
    )


def _messages(records: list[Record], random: Random, offset: int) -> bytes:
    magic = random.choice((0, 1))
    return b"".join(
        encoded_batches.message(magic, offset + i, key, value) for i, (key, value) in enumerate(records)
    )


def _wrapper(records: list[Record], random: Random, offset: int) -> bytes:
    magic = random.choice((0, 1))
    # The cleaner of 0.10.0 left messages of another magic than their wrapper's (KAFKA-4298).
    magics = (magic, magic, 1 - magic) if random.random() < 0.3 else (magic,)
    first = 0 if magic else offset
    inner = b"".join(
        encoded_batches.message(random.choice(magics), first + i, key, value)
        for i, (key, value) in enumerate(records)
    )
    append_time = magic and random.random() < 0.3
    codec = random.choice(_MAGIC_1_CODECS)
    return encoded_batches.wrapper(
        magic, offset + len(records) - 1, inner, codec, attributes=8 if append_time else 0
    )


def _marker(random: Random, offset: int) -> bytes:
    marker = encoded_batches.record(0, b"\0\0\0" + random.choice((b"\0", b"\1")), b"\0\0\0\0\0\x05")
    return encoded_batches.v2(offset, [marker], attributes=48, producer=(7, 2, -1))


def end(random: Random) -> bytes:
    """Return the end of a segment: mostly nothing, else zeros, or the first bytes of a batch."""
    chance = random.random()
    if chance < 0.1:
        return bytes(random.choice((5, 17, 18, 40)))
    return encoded_batches.v2(999)[: random.randrange(1, 60)] if chance < 0.2 else b""

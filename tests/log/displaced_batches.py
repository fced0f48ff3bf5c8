"""Logs with displaced batches: header bytes that no checksum covers flipped, batches repeated, swapped, moved, junk between."""

import random
import struct

from offsets_tool.events import Key, encode_key
from offsets_tool.records import RECORD_TYPES
from offsets_tool.wire import walk
from tests.cases import CASES, commit
from tests.log.encoded_batches import GZIP, ZSTD, message, record, v2, wrapper

KEYS = tuple(encode_key(Key(RECORD_TYPES[case.type], case.key)) for case in CASES[:8])
VALUE = b"\x00\x03" + walk.encode(commit(3, leader_epoch=1, metadata="m"), 3)


def one(chance: random.Random, offset: int) -> tuple[bytes, int]:
    """Return a batch of a random format, with gaps now and then, and the offset after its last."""
    count = chance.choice((1, 1, 2, 5))
    keys = [chance.choice(KEYS) for _ in range(count)]
    kind = chance.choice(("v2", "v2", "v2", "zstd", "empty", "gap", "message", "wrapper"))
    if kind == "message":
        return message(chance.choice((0, 1)), offset, keys[0], VALUE), offset + 1
    if kind == "wrapper":
        magic = chance.choice((0, 1))
        inner = b"".join(
            message(magic, at + (0 if magic else offset), key, VALUE) for at, key in enumerate(keys)
        )
        return wrapper(magic, offset + count - 1, inner, GZIP), offset + count
    if kind == "empty":
        return v2(offset, [], last_offset_delta=count - 1), offset + count
    step = 3 if kind == "gap" else 1
    body = [record(at * step, key, VALUE) for at, key in enumerate(keys)]
    last = (count - 1) * step
    packed = ZSTD if kind == "zstd" else 0
    return v2(offset, body, codec=packed, last_offset_delta=last), offset + last + 1


def log(chance: random.Random, batches: int, offset: int = 0) -> list[bytes]:
    """Return batches whose offsets follow each other as brokers write them."""
    found = []
    for _ in range(batches):
        batch, offset = one(chance, offset + chance.choice((0, 0, 0, 7)))
        found.append(batch)
    return found


def flipped(chance: random.Random, batch: bytes) -> bytes:
    """Return the batch with a flipped bit in its offset, or (magic 2) its leader epoch, which its checksum does not cover."""
    is_new = batch[16] == 2
    at = chance.choice((*range(8), *(range(12, 16) if is_new else ())))
    changed = bytearray(batch)
    changed[at] ^= 1 << chance.randrange(8)
    return bytes(changed)


def moved(batch: bytes, offset: int) -> bytes:
    """Return the batch with another base offset in its header."""
    return struct.pack(">q", offset) + batch[8:]


def displaced(chance: random.Random) -> bytes:
    """Return a log of some batches, of which some are displaced."""
    batches = log(chance, chance.randint(1, 14), chance.choice((0, 100)))
    for _ in range(chance.randint(0, 4)):
        at = chance.randrange(len(batches))
        match chance.choice(("flip", "flip", "move", "swap", "twice", "junk", "broken")):
            case "flip" if len(batches[at]) > 16:
                batches[at] = flipped(chance, batches[at])
            case "move":
                batches[at] = moved(batches[at], chance.choice((0, 1, 50, 2**31, 2**47, 2**62, 2**63 - 1)))
            case "swap":
                other = chance.randrange(len(batches))
                batches[at], batches[other] = batches[other], batches[at]
            case "twice":
                batches.insert(chance.randrange(len(batches)), batches[at])
            case "junk":
                batches.insert(at, chance.randbytes(chance.randint(1, 60)))
            case "broken" | "flip":
                batches[at] = batches[at][:-1] + bytes([batches[at][-1] ^ 1])
    return b"".join(batches)

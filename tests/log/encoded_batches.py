"""Writes batches as brokers do, and as hostile hands might: the tests' own encoder, apart from the readers it checks."""

import struct
import zlib

import cramjam
import crc32c

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def varint(value: int) -> bytes:
    return uvarint((value << 1) ^ (value >> 63))


def sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record(
    offset_delta: int = 0,
    key: bytes | None = b"key",
    value: bytes | None = b"value",
    timestamp_delta: int = 0,
    headers: tuple[tuple[bytes, bytes | None], ...] = (),
) -> bytes:
    body = (
        b"\0"
        + varint(timestamp_delta)
        + varint(offset_delta)
        + sized(key)
        + sized(value)
        + varint(len(headers))
    )
    body += b"".join(sized(name) + sized(content) for name, content in headers)
    return varint(len(body)) + body


def v2(
    base_offset: int = 0,
    records: list[bytes] | None = None,
    *,
    content: bytes | None = None,
    codec: int = NONE,
    attributes: int = 0,
    count: int | None = None,
    last_offset_delta: int | None = None,
    base_timestamp: int = 1000,
    max_timestamp: int = 2000,
    producer: tuple[int, int, int] = (-1, -1, -1),
    leader_epoch: int = 0,
) -> bytes:
    """Return a batch of magic 2; `content` replaces its compressed records."""
    records = [record()] if records is None else records
    if content is None:
        content = compress(codec, b"".join(records))
    count = len(records) if count is None else count
    delta = max(count - 1, 0) if last_offset_delta is None else last_offset_delta
    times = (base_timestamp, max_timestamp)
    tail = struct.pack(">hiqqqhii", attributes | codec, delta, *times, *producer, count) + content
    return struct.pack(">qiibI", base_offset, len(tail) + 9, leader_epoch, 2, crc32c.crc32c(tail)) + tail


def message(
    magic: int,
    offset: int,
    key: bytes | None = b"key",
    value: bytes | None = b"value",
    *,
    timestamp: int = 1000,
    attributes: int = 0,
) -> bytes:
    body = struct.pack(">BB", magic, attributes) + (struct.pack(">q", timestamp) if magic else b"")
    for field in (key, value):
        body += struct.pack(">i", -1) if field is None else struct.pack(">i", len(field)) + field
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def wrapper(magic: int, offset: int, inner: bytes, codec: int = GZIP, **fields: int) -> bytes:
    attributes = fields.pop("attributes", 0) | codec
    return message(magic, offset, None, compress(codec, inner), attributes=attributes, **fields)


def compress(codec: int, data: bytes) -> bytes:
    return (bytes, gzip_member, xerial, lz4_frame, zstd_frame)[codec](data)


def gzip_member(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=31)
    return packer.compress(data) + packer.flush()


def snappy_block(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def xerial(data: bytes, chunk: int = 1 << 15) -> bytes:
    blocks = [snappy_block(data[at : at + chunk]) for at in range(0, len(data), chunk)]
    return XERIAL + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def lz4_frame(data: bytes, *, flags: int = 0x60, header_checksum: int = 0) -> bytes:
    """Return an LZ4 frame of independent blocks of 64 KiB, with any checksum of its header."""
    out = struct.pack("<IBBB", 0x184D2204, flags, 0x40, header_checksum)
    for at in range(0, len(data), 1 << 16):
        block = bytes(cramjam.lz4.compress_block(data[at : at + (1 << 16)], store_size=False))
        out += struct.pack("<I", len(block)) + block
    return out + b"\0\0\0\0"


def zstd_frame(data: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(data))

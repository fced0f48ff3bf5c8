"""Each codec as Kafka's readers take it, and nothing but a DecodeError from bytes that lie."""

import struct
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.errors import DecodeError
from offsets_tool.log.batches.compression import inflate, zstd_bound
from offsets_tool.rows import Codec
from tests.log import encoded_batches

CODECS: Final = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
DATA: Final = b"".join(b"offset %d of many; " % number for number in range(20_000))


def packed(codec: Codec, data: bytes) -> bytes:
    return encoded_batches.compress(list(Codec).index(codec), data)


def opened(codec: Codec, data: bytes, limit: int = 1 << 22) -> bytes:
    return inflate(codec, memoryview(data), limit)


@pytest.mark.parametrize("codec", CODECS)
def test_what_was_packed_comes_back(codec: Codec) -> None:
    assert opened(codec, packed(codec, DATA)) == DATA


def test_without_a_codec_nothing_is_done() -> None:
    assert opened(Codec.NONE, b"as it is") == b"as it is"


@pytest.mark.parametrize("codec", CODECS)
def test_the_limit_is_exact_or_safe(codec: Codec) -> None:
    data = packed(codec, DATA)
    assert opened(codec, data, len(DATA) + (128 << 10)) == DATA
    with pytest.raises(DecodeError, match="--max-batch-bytes"):
        opened(codec, data, len(DATA) - 1)


@pytest.mark.parametrize("codec", CODECS)
def test_every_prefix_is_a_decode_error_or_ends_where_the_data_may(codec: Codec) -> None:
    data = packed(codec, DATA[:200])
    for cut in range(len(data)):
        try:
            assert DATA.startswith(opened(codec, data[:cut]))
        except DecodeError:
            continue


@given(codec=st.sampled_from(CODECS), data=st.binary(max_size=300))
def test_any_bytes_are_content_or_a_decode_error(codec: Codec, data: bytes) -> None:
    try:
        assert len(opened(codec, data, 1 << 16)) <= 1 << 16
    except DecodeError:
        return


@given(codec=st.sampled_from(CODECS), position=st.integers(0, 400), flip=st.integers(1, 255))
def test_a_flipped_byte_is_content_or_a_decode_error(codec: Codec, position: int, flip: int) -> None:
    data = bytearray(packed(codec, DATA[:500]))
    data[position % len(data)] ^= flip
    try:
        assert len(opened(codec, bytes(data), 1 << 20)) <= 1 << 20
    except DecodeError:
        return


def test_gzip_members_follow_each_other_and_junk_behind_them_is_ignored() -> None:
    members = [encoded_batches.gzip_member(part) for part in (DATA, b"", b"and more")]
    assert opened(Codec.GZIP, b"".join(members)) == DATA + b"and more"
    assert opened(Codec.GZIP, members[0] + b"junk") == DATA


def test_thousands_of_gzip_members_each_cost_what_they_are() -> None:
    assert opened(Codec.GZIP, encoded_batches.gzip_member(b"x") * 5000) == b"x" * 5000


def test_snappy_raw_and_framed_and_two_framed_streams() -> None:
    assert opened(Codec.SNAPPY, encoded_batches.snappy_block(DATA)) == DATA
    assert (
        opened(Codec.SNAPPY, encoded_batches.xerial(DATA, 1000) + encoded_batches.xerial(b"more"))
        == DATA + b"more"
    )
    assert opened(Codec.SNAPPY, encoded_batches.XERIAL) == b""


def test_a_snappy_block_that_claims_gigabytes_is_refused_before_they_are_allocated() -> None:
    with pytest.raises(DecodeError, match="cannot inflate to"):
        opened(Codec.SNAPPY, b"\xff\xff\xff\x3f\x00", limit=1 << 31)


@pytest.mark.parametrize("size", [-1, 5, 2**31 - 1])
def test_a_snappy_chunk_longer_than_what_is_left(size: int) -> None:
    with pytest.raises(DecodeError, match="chunk"):
        opened(Codec.SNAPPY, encoded_batches.XERIAL + struct.pack(">i", size) + b"abc")


@pytest.mark.parametrize("checksum", [0x82, 0x1A])
def test_lz4_with_the_right_header_checksum_and_with_that_of_magic_0(checksum: int) -> None:
    assert opened(Codec.LZ4, encoded_batches.lz4_frame(DATA, header_checksum=checksum)) == DATA


def test_lz4_stored_blocks_checksums_and_content_size() -> None:
    head = struct.pack("<IBBQB", 0x184D2204, 0x60 | 0x08 | 0x10, 0x40, 9, 0)
    block = struct.pack("<I", 0x80000009) + b"as it is " + b"\xde\xad\xbe\xef"
    assert opened(Codec.LZ4, head + block + b"\0\0\0\0" + b"ignored") == b"as it is "


@pytest.mark.parametrize(("flags", "words"), [(0x40, "depend on each other"), (0xA0, "descriptor")])
def test_lz4_frames_that_kafka_refuses(flags: int, words: str) -> None:
    with pytest.raises(DecodeError, match=words):
        opened(Codec.LZ4, encoded_batches.lz4_frame(DATA, flags=flags))


def zstd_frame_of_repeats(blocks: int) -> bytes:
    """Return a zstd frame whose blocks of four bytes inflate to 128 KiB each."""
    block = struct.pack("<I", 1 << 1 | (128 << 10) << 3)[:3] + b"x"
    last = struct.pack("<I", 1 | 1 << 1 | (128 << 10) << 3)[:3] + b"x"
    return struct.pack("<IBB", 0xFD2FB528, 0, 0x58) + block * (blocks - 1) + last


def test_zstd_is_measured_before_it_is_inflated() -> None:
    assert len(opened(Codec.ZSTD, zstd_frame_of_repeats(8))) == 8 * (128 << 10)
    assert zstd_bound(memoryview(zstd_frame_of_repeats(1 << 16))) == 1 << 33
    with pytest.raises(DecodeError, match="--max-batch-bytes"):
        opened(Codec.ZSTD, zstd_frame_of_repeats(1 << 16))


def test_zstd_frames_follow_each_other_with_skippable_ones_between() -> None:
    skippable = struct.pack("<II", 0x184D2A53, 3) + b"abc"
    frames = encoded_batches.zstd_frame(DATA) + skippable + encoded_batches.zstd_frame(b"more")
    assert opened(Codec.ZSTD, frames) == DATA + b"more"


@given(data=st.binary(max_size=1 << 18))
def test_the_zstd_bound_is_one(data: bytes) -> None:
    assert zstd_bound(memoryview(encoded_batches.zstd_frame(data))) >= len(data)

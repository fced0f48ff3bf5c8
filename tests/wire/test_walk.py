"""Version, null and tag rules, on declarations made for the purpose; hostile lengths in bounded memory."""

import tracemalloc
from uuid import UUID

import pytest

from offsets_tool.errors import DecodeError
from offsets_tool.wire.cursor import Cursor
from offsets_tool.wire.schema import (
    Bytes,
    Int8,
    Int32,
    Int64,
    JavaChars,
    JavaUtf,
    String,
    Uuid,
    message,
    part,
    since,
)
from offsets_tool.wire.walk import decode, encode


@part
class Inner:
    """A message that is a part of another."""

    name: String
    size: Int8 = since("1+", default=7)


@message(versions="0-2", flexible="2+")
class Sample:
    """A message with a field for every rule of the wire format."""

    ident: Uuid
    text: String | None
    blob: Bytes | None = since("1+", default=None)
    inner: Inner | None
    inners: tuple[Inner, ...] | None
    note: String = since("2+", tag=3, default="-")
    nested: Inner | None = since("2+", tag=5, default=Inner(name="", size=0))


FULL = Sample(
    ident=UUID(int=5),
    text="é",
    blob=b"\x00\xff",
    inner=Inner(name="a", size=-1),
    inners=(Inner(name="b", size=2),),
    note="n",
    nested=None,
    unknown_tags=((1, b"x"), (9, b"")),
)
SPARSE = Sample(ident=UUID(int=0), text=None, inner=None, inners=None)


@pytest.mark.parametrize("value", [FULL, SPARSE])
def test_flexible_version_round_trips_with_unknown_tags_in_order(value: Sample) -> None:
    data = encode(value, 2)
    assert decode(Sample, 2, data) == (value, len(data), ())
    if value is FULL:
        assert data.endswith(
            bytes.fromhex("04 01 01 78 03 02 02 6e".replace(" ", "")) + b"\x05\x01\x00\x09\x00"
        )


@pytest.mark.parametrize("version", [0, 1])
def test_older_versions_leave_out_what_they_lack_and_read_its_default(version: int) -> None:
    read = decode(Sample, version, encode(FULL, version)).message
    assert (read.note, read.nested, read.unknown_tags) == ("-", Inner(name="", size=0), ())
    assert read.blob == (b"\x00\xff" if version else None)
    assert read.inner == Inner(name="a", size=-1 if version else 7)


def test_what_repeats_is_read_once_and_what_is_odd_is_noted_each_time() -> None:
    data = encode(FULL, 1)
    assert decode(Sample, 1, data).message.inners is decode(Sample, 1, data).message.inners
    odd = b"\0\0" + data.replace(b"b", b"\xff")
    noted = decode(Sample, 1, odd, 2)
    assert noted.notes and decode(Sample, 1, odd, 2) == noted


def test_errors_name_field_and_byte() -> None:
    data = encode(FULL, 1)
    with pytest.raises(DecodeError) as refused:
        decode(Sample, 1, data[:-1])
    assert (refused.value.path, refused.value.position) == ("inners[0].size", len(data) - 1)
    assert refused.value.kafka == "null"


def test_a_tag_that_lies_about_its_size_is_read_as_kafka_reads_it_and_noted() -> None:
    data = encode(SPARSE, 2)[:-1] + b"\x01\x03\x09\x02n"
    read = decode(Sample, 2, data)
    assert read.message.note == "n"
    assert read.notes == ("note: tag 3 announces 9 byte(s) but has 2",)


HOSTILE = (
    (
        b"\x7f\xff\xff\xff",
        "Tried to allocate a collection of size 2147483647, but there are only 0 bytes remaining.",
    ),
    (b"\xff\xff\xff\xff", "non-nullable field items was serialized as null"),
)


@message(versions="0")
class Items:
    """A message with a list of numbers."""

    items: tuple[Int64, ...]


@message(versions="0", flexible="0+")
class FlexibleItems:
    """A flexible message with lists of texts, also in tagged fields."""

    items: tuple[String, ...]


@pytest.mark.parametrize(("data", "words"), HOSTILE)
def test_hostile_counts_are_refused_in_kafkas_words(data: bytes, words: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(DecodeError) as refused:
            decode(Items, 0, data)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert refused.value.kafka == words


FLEXIBLE_HOSTILE = (
    (b"\x00", "non-nullable field items was serialized as null"),
    (b"\x03\x00\x00", "non-nullable field items element was serialized as null"),
    (b"\x02\x85\x80\x02", "string field items element had invalid length 32772"),
    (b"\x02\x05ab", "Error reading byte array of 4 byte(s): only 2 byte(s) available"),
    (b"\x01\x01\x00\x80\x80\x80\x80\x08", "-2147483648"),
    (
        b"\xff\xff\xff\xff\xff\x01",
        "Varint is too long, the most significant bit in the 5th byte is set, converted value: ffffffff",
    ),
)


@pytest.mark.parametrize(("data", "words"), FLEXIBLE_HOSTILE)
def test_hostile_compact_lengths_are_refused_in_kafkas_words(data: bytes, words: str) -> None:
    with pytest.raises(DecodeError) as refused:
        decode(FlexibleItems, 0, data)
    assert refused.value.kafka == words


def test_a_negative_number_of_tags_is_none() -> None:
    assert decode(FlexibleItems, 0, b"\x01\xff\xff\xff\xff\x0f").end == 6


VARINTS = (
    (b"\x00", 0),
    (b"\x7f", 127),
    (b"\x80\x01", 128),
    (b"\xff\xff\xff\xff\x07", 2**31 - 1),
    (b"\xff\xff\xff\xff\x0f", -1),
)


@pytest.mark.parametrize(("data", "value"), VARINTS)
def test_unsigned_varints_are_java_ints(data: bytes, value: int) -> None:
    assert Cursor(data).unsigned_varint() == value


@message(versions="0")
class JavaTexts:
    """A message with texts as java.io.DataOutput writes them."""

    utf: JavaUtf
    chars: JavaChars
    end: Int32


@pytest.mark.parametrize("text", ["", "plain", "nul\0", "é", "😀"])
def test_java_texts_round_trip(text: str) -> None:
    value = JavaTexts(utf=text, chars=text, end=1)
    data = encode(value, 0)
    assert decode(JavaTexts, 0, data).message == value
    assert (
        len(data)
        == 2
        + len("".join({"\0": "..", "é": "..", "😀": "......"}.get(c, c) for c in text))
        + 8
        + 2 * len(text.encode("utf-16-be")) // 2
    )

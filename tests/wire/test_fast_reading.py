"""Readers that are written out, against those that go step by step: each declared class and version, whole and damaged bytes."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import NamedTuple

import pytest

from offsets_tool.errors import DecodeError
from offsets_tool.records import RECORD_TYPES, consumer, embedded
from offsets_tool.wire import walk
from offsets_tool.wire.fast_reading import DECLINES, Declined, fast_struct
from offsets_tool.wire.kept import Kept
from offsets_tool.wire.schema import OPEN_END, FieldValue, Int32, String, message, schema_of, since
from tests.depth import DEEP
from tests.dialects.hostile import Hostile

MESSAGES = 400 if DEEP else 12
"""How many messages are made of each class and version."""


BEFORE = b"\xff\x80"
"""What stands before a message is not looked at."""


class Bytes(NamedTuple):
    """Bytes for the reader of a class in a version."""

    cls: type
    version: int
    data: bytes
    is_whole: bool


def declared() -> Iterator[tuple[type, int]]:
    """Yield every class that is a message of its own, with each of its versions."""
    of_records = {record.key for record in RECORD_TYPES.values()}
    of_records |= {layout.value for record in RECORD_TYPES.values() for layout in record.layouts}
    blobs = {each for each in vars(embedded).values() if hasattr(each, "__schema__")}
    for cls in sorted(of_records | blobs, key=lambda cls: (cls.__module__, cls.__name__)):
        low, high = schema_of(cls).versions
        yield from ((cls, version) for version in range(low, high + 1) if high < OPEN_END)


def samples(seed: int) -> list[Bytes]:
    """Return messages of all classes, and after each what becomes of it when it is cut, and when a byte changes."""
    hostile, random, made = Hostile(seed), Random(seed), list[Bytes]()
    for cls, version in declared():
        for _ in range(MESSAGES):
            data = walk.encode(hostile.message(cls, version), version)
            at = random.randrange(len(data) + 1)
            changed = (
                data[:at] + random.choice((b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff")) + data[at + 1 :]
            )
            made.append(Bytes(cls, version, data + random.choice((b"", b"\x00")), is_whole=True))
            made += [Bytes(cls, version, some, is_whole=False) for some in (data[:at], changed)]
    return made


def forget_readers() -> None:
    for made in (walk.struct_reader, walk._fast_reader, walk._step_by_step, walk._tags_reader):
        made.cache_clear()


@contextmanager
def changed(**names: object) -> Iterator[None]:
    """Change what walk has under these names; readers that were made are forgotten before and after it."""
    forget_readers()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in names.items():
            patch.setattr(walk, name, value)
        yield
    forget_readers()


def readings(some: list[Bytes]) -> list[object]:
    """Return what each of them decodes to, or all that its error says."""
    return [outcome(*each) for each in some]


def outcome(cls: type, version: int, data: bytes, is_whole: bool) -> object:
    try:
        return walk.decode(cls, version, BEFORE + data, len(BEFORE))
    except DecodeError as error:
        return str(error), error.kafka


def declining(*_: object) -> tuple[FieldValue, int]:
    raise Declined


def test_both_ways_read_and_refuse_alike() -> None:
    some = samples(2026)
    with changed(_fast_reader=lambda *_: declining, fast_or=lambda _, reader: reader()):
        expected = readings(some)
    with changed(_ENDS=Kept(0)):
        assert readings(some) == expected


def test_what_is_whole_and_clean_is_read_fast() -> None:
    """Nothing but odd text and odd tags is declined."""
    declined = set[type]()
    for cls, version, data, is_whole in samples(7):
        if not is_whole or walk.decode(cls, version, data).notes:
            continue
        try:
            fast_struct(cls, version, version in schema_of(cls).flexible, walk._tags_reader)(data, 0)
        except DECLINES:
            declined.add(cls)
    assert not declined


def test_a_text_longer_than_kafka_reads_is_refused_though_it_is_there() -> None:
    value = consumer.ConsumerGroupRegularExpressionValue(topics=("t" * 0x8000,), version=1, timestamp=2)
    with pytest.raises(DecodeError, match="invalid length 32768"):
        walk.decode(type(value), 0, walk.encode(value, 0))


@message(versions="0", flexible="0+")
class Tagged:
    """A message of nothing but a tag."""

    note: String = since("0+", tag=0, default="")


def test_a_message_of_nothing_but_tags() -> None:
    for value in (Tagged(), Tagged(note="n")):
        assert walk.decode(Tagged, 0, walk.encode(value, 0)).message == value


@message(versions="0", flexible="0+")
class Headed:
    """A message of which the last fields are kept."""

    name: String
    epoch: Int32
    topics: tuple[String, ...]
    note: String = since("0+", tag=0, default="none")


@pytest.mark.parametrize("note", ["none", "n"])
def test_messages_that_end_alike_are_read_whole(note: str) -> None:
    for epoch in range(3):
        value = Headed(name=f"group-{epoch}", epoch=epoch, topics=("a", "b"), note=note)
        assert walk.decode(Headed, 0, walk.encode(value, 0)) == (value, len(walk.encode(value, 0)), ())

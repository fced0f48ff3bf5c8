"""Templates hold what a printer does, or there is none: printers that no template can follow print all themselves."""

import struct
from collections.abc import Callable

import numpy as np
import pytest

from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.lane.interned import InternedKeys, key_number
from offsets_tool.columns.text.keys import KeyTable, KeyTexts
from offsets_tool.columns.text.request import Printer
from offsets_tool.columns.text.template import Number, PrintedProbe, Text, fill, learn
from offsets_tool.dialects.output import Output
from offsets_tool.events import decode, decode_key
from offsets_tool.records.offsets import OffsetCommitKey
from offsets_tool.rows import LogRecord
from tests.cases import commit
from tests.columns.lane.test_chunks import batch
from tests.columns.text.printing import Dialect, assert_same
from tests.dialects.samples import COMMIT_KEY, label


def data() -> bytes:
    """Commits that only differ in numbers and texts."""
    metadata = ("m", 'a"b', "tab\t", "x" * 40)
    values = [
        label(3, commit(3, offset=number * 7, leader_epoch=number, metadata=metadata[number % 4]), 3)
        for number in range(40)
    ]
    return batch([(COMMIT_KEY, value) for value in values])


def of(show: Callable[[int, str, int], str]) -> Dialect:
    """Return a dialect whose printer shows committed offset, metadata and log offset by a function."""

    def line(record: LogRecord) -> Output:
        value = decode(record).value
        if value is None:
            return Output(b"-\n")
        return Output(f"{show(value.data.offset, value.data.metadata, record.log_offset)}\n".encode())

    return Dialect("made", Printer(line))


REFUSED = {
    "hexadecimal": lambda offset, metadata, at: f"{offset:x}",
    "padded": lambda offset, metadata, at: f"{offset:08d}",
    "separated": lambda offset, metadata, at: f"{offset:,}",
    "a sum": lambda offset, metadata, at: f"{offset + at}",
    "one more": lambda offset, metadata, at: f"{offset + 1}",
    "zero is special": lambda offset, metadata, at: str(offset or "none"),
    "large is special": lambda offset, metadata, at: "much" if offset > 1 << 62 else str(offset),
    "upper case": lambda offset, metadata, at: metadata.upper(),
    "cut off": lambda offset, metadata, at: metadata[:30],
    "its size": lambda offset, metadata, at: str(len(metadata)),
    "by neighbours": lambda offset, metadata, at: metadata.replace("ab", "a-b").replace("\x00\x01", "?"),
    "reversed": lambda offset, metadata, at: metadata[::-1],
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    assert assert_same(data(), of(REFUSED[name])).in_lane == 0


FOLLOWED = {
    "nothing": lambda offset, metadata, at: "",
    "digits around": lambda offset, metadata, at: f"v2 {offset}/{at} 7",
    "next to each other": lambda offset, metadata, at: f"{metadata}{offset}",
    "twice": lambda offset, metadata, at: f"{offset} {offset} {metadata}",
    "escaped": lambda offset, metadata, at: metadata.replace('"', "&quot;") + str(at),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_followed(name: str) -> None:
    assert assert_same(data(), of(FOLLOWED[name])).by_caller == 0


def test_an_error_is_the_callers_to_tell() -> None:
    printer = Printer(lambda record: Output(b"", f"at {record.log_offset}"))
    printed = assert_same(data(), Dialect("made", printer))
    assert printed.in_lane == 0 and printed.errors == [f"at {place}" for place in range(40)]


def printed(line: str, numbers: tuple[int, int], text: str = "") -> PrintedProbe:
    return PrintedProbe(line.encode(), {"a": numbers[0], "b": numbers[1]}, {Text.METADATA: text.encode()})


def test_numbers_and_texts_are_found() -> None:
    one, other = printed("x 17:q7 (18)", (17, 18), "q7"), printed("x 25:rr (26)", (25, 26), "rr")
    template = learn([one, other])
    assert template == (b"x ", Number("a"), b":", Text.METADATA, b" (", Number("b"), b")")
    assert fill(template, printed("", (3, 4), "s")) == b"x 3:s (4)"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (printed("17", (17, 17)), printed("25", (25, 25))),
        (printed("17", (17, 18)), printed("26", (25, 26))),
        (printed("17 x", (17, 18)), printed("25 y", (25, 26))),
        (printed("17", (17, 18)), printed("25 25", (25, 26))),
        (printed("q", (17, 18), "q"), printed("17", (25, 26), "r")),
    ],
    ids=["which of two", "not the same", "words differ", "one more", "text or number"],
)
def test_what_is_not_one_template_is_none(one: PrintedProbe, other: PrintedProbe) -> None:
    assert learn([one, other]) is None


KEYS = [
    label(1, OffsetCommitKey(group=group, topic=topic, partition=partition))
    for group, topic, partition in (
        ("orders", "t-1", 0),
        ("g", "t", 2**31 - 1),
        ("a.b_c-D9", "0", 17),
        ("è", "topic", 3),
        ('"', "\\", 4),
        ("", "", 5),
        ("g", "t", -1),
        ("x" * 300, "y", 100_000),
    )
]
KEY_SHOWS: dict[str, Callable[[OffsetCommitKey], str]] = {
    "as they are": lambda key: f"{key.group}/{key.topic}/{key.partition}",
    "the other way round": lambda key: f"{key.partition} {key.topic} {key.group}",
    "padded": lambda key: f"{key.group} {key.partition:06d}",
    "changed": lambda key: f"{key.group.upper()}:{key.topic[::-1]}",
    "their sizes": lambda key: f"{len(key.group)}:{len(key.topic)}",
    "one of them": lambda key: key.topic,
}


@pytest.mark.parametrize("name", KEY_SHOWS)
def test_keys_are_printed_as_the_printer_prints_them(name: str) -> None:
    def line(record: LogRecord) -> Output:
        key = decode(record).key
        assert key is not None
        return Output(f"{record.log_offset} {KEY_SHOWS[name](key.data)} end\n".encode())

    value = label(3, commit(3, leader_epoch=1, metadata=""), 3)
    printed = assert_same(batch([(key, value) for key in KEYS] * 2), Dialect("made", Printer(line)))
    # Sizes are in no text that could be found; and keys without names have none to be found by.
    assert printed.in_lane == 0 if name == "their sizes" else printed.in_lane >= 12


def test_keys_have_the_texts_that_they_have_one_by_one() -> None:
    """Plain ones from compiled code, and those that differ from them by one byte."""
    key = KEYS[0]
    damaged = (
        key[:-1],
        key + b"\0",
        b"\0\2" + key[2:],
        b"\1" + key[1:],
        key[:3] + b"\xff" + key[4:],
        key[:-4] + b"\xff" * 4,
    )
    changed = (key[:4] + b" " + key[5:], key[:4] + b"\0" + key[5:], key[:4] + b"\x80" + key[5:], b"\0", b"")
    long = struct.pack(">hh", 0, 30_000) + b"g" * 30_000 + struct.pack(">h1si", 1, b"t", 2**31 - 1)
    keys = list(dict.fromkeys((*KEYS, *damaged, *changed, *(long[:-1] + bytes((i,)) for i in range(30)))))
    interned, texts = InternedKeys(), KeyTexts(lambda r: Output(repr(decode_key(r.key or b"").data).encode()))
    table = KeyTable(interned, texts, None)
    for place, one in enumerate(keys):
        held = np.frombuffer(one + b"\0", np.uint8)
        number = key_number(interned.address, address(held), len(one))
        if number < 0:
            interned.grow(len(one))
            number = key_number(interned.address, address(held), len(one))
        assert number == place
        if place % 10 == 0:
            table.update()
    table.update()
    for number, one in enumerate(keys):
        text, start = texts.text(one), table.text_starts[number]
        assert table.sizes[number] == len(one)
        assert (table.classes[number] >= 0) == (text is not None)
        assert text is None or bytes(table.arena[start : start + table.text_sizes[number]]) == text

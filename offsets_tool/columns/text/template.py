"""Templates: the text of a class of records as literals, numbers and texts, learned by comparing what is printed of probes.

Numbers are found by their digits, texts by searching for them. A template prints every probe exactly, or there is none.
"""

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple


class Text(IntEnum):
    """The texts that a record's line may hold."""

    KEY = 0
    """All that is printed of the key."""
    METADATA = 1
    TOPIC_ID = 2
    GROUP = 3
    """The group that the key names."""
    TOPIC = 4
    VALUE = 5
    """A value as Kafka's JSON."""


class Number(NamedTuple):
    """A number, by its name in fields.NUMBERS."""

    name: str


TemplatePart = bytes | Number | Text
Template = tuple[TemplatePart, ...]
Escapes = tuple[bytes, ...]
"""What is printed for each ASCII character of the metadata."""


class PrintedProbe(NamedTuple):
    """The line printed of a probe, and what the probe has in it: its numbers, and its texts as they are printed."""

    line: bytes
    numbers: Mapping[str, int]
    texts: Mapping[Text, bytes]


_DIGITS: Final = rb"[0-9]+"


def learn(printed: Sequence[PrintedProbe]) -> Template | None:
    """Return the template that prints all of these lines; None if there is none. The numbers of the first two probes are all
    different.
    """
    template = _compared(printed[0], printed[1])
    if template is None or any(fill(template, each) != each.line for each in printed):
        return None
    return template


def fill(template: Template, values: PrintedProbe) -> bytes:
    """Return the line that a template prints for the numbers and texts of a probe."""
    return b"".join(_filled(piece, values) for piece in template)


def _filled(piece: TemplatePart, values: PrintedProbe) -> bytes:
    if isinstance(piece, Number):
        return b"%d" % values.numbers[piece.name]
    return values.texts[piece] if isinstance(piece, Text) else piece


def _compared(one: PrintedProbe, other: PrintedProbe) -> Template | None:
    pieces, others = _pieces(one), _pieces(other)
    if len(pieces) != len(others):
        return None
    template: list[TemplatePart] = []
    for piece, counterpart in zip(pieces, others, strict=True):
        found = piece if piece == counterpart else _number(piece, counterpart, one, other)
        if found is None:
            return None
        if isinstance(found, bytes) and template and isinstance(template[-1], bytes):
            template[-1] += found
        else:
            template.append(found)
    return tuple(template)


def _pieces(printed: PrintedProbe) -> list[bytes | Text]:
    """Return a line cut at its texts and numbers; numbers are still digits."""
    texts = {text: kind for kind, text in printed.texts.items() if text}
    longest_first = sorted(texts, key=len, reverse=True)
    pattern = b"|".join([*map(re.escape, longest_first), _DIGITS])
    parts = re.split(b"(" + pattern + b")", printed.line)
    return [texts.get(part, part) if place % 2 else part for place, part in enumerate(parts)]


def _number(
    piece: bytes | Text, counterpart: bytes | Text, one: PrintedProbe, other: PrintedProbe
) -> Number | None:
    """Return the one number that is `piece` in one probe and `counterpart` in the other; None unless there is just one."""
    if isinstance(piece, Text) or isinstance(counterpart, Text):
        return None
    names = [
        name
        for name, value in one.numbers.items()
        if b"%d" % value == piece and b"%d" % other.numbers[name] == counterpart
    ]
    return Number(names[0]) if len(names) == 1 else None

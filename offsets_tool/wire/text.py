r"""Strings as Kafka's brokers and tools see them, and as they are shown.

A decoded string keeps every byte: what is not UTF-8 is held as lone surrogates (Python's surrogateescape), so that it can be
encoded again unchanged. `shown` writes such a string as text that every table, file and terminal takes, `from_shown` reads that
again: a byte that is not UTF-8 is `\xff`. `java_text` gives the characters that Java shows for it: U+FFFD for each malformed
sequence. `visible` is for screens: nothing in it moves a cursor, sets a colour, turns a line around or cannot be seen.
"""

import re
from typing import Final
from unicodedata import category

from offsets_tool.wire.schema import FieldValue


def decode_text(data: bytes) -> str:
    """Return the text of UTF-8 bytes; bytes that are not UTF-8 become lone surrogates, so that nothing is lost."""
    return data.decode("utf-8", "surrogateescape")


def encode_text(text: str) -> bytes:
    """Return the bytes that `decode_text` made this text of."""
    return text.encode("utf-8", "surrogateescape")


def is_clean(text: str) -> bool:
    """Return whether a decoded text was valid UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_ESCAPE: Final = "\\x"
ESCAPE: Final = _ESCAPE.encode()
"""What the bytes of a text have in them if `shown` may show it otherwise than it is; else only what is not UTF-8 is shown so."""
_TO_ESCAPE: Final = re.compile(r"[\ud800-\udfff]|\\(?=x[0-9a-f]{2})")
_ESCAPED: Final = re.compile(rb"\\x([0-9a-f]{2})")


def shown(text: str) -> str:
    r"""Return the text as valid Unicode, two different texts never alike; `from_shown` gives the text back.

    A byte that is not UTF-8 is shown as `\xff`; the backslash of what only looks like such a byte as `\x5c`. All else stays as it
    is.
    """
    if _ESCAPE not in text and is_clean(text):
        return text
    return _TO_ESCAPE.sub(lambda found: _by_bytes(found[0]), text)


def from_shown(text: str) -> str:
    """Return the text that `shown` or `visible` shows so; bytes that a command line passes as they are stay as they are."""
    if _ESCAPE not in text:
        return text
    return decode_text(_ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode()), encode_text(text)))


def shown_row(row: tuple[FieldValue, ...]) -> tuple[FieldValue, ...]:
    """Return the values of a row with its texts, and those in its tuples, as `shown` writes them."""
    return tuple(map(_shown_value, row))


def _shown_value(value: FieldValue) -> FieldValue:
    if isinstance(value, tuple):
        return shown_row(value)
    return shown(value) if isinstance(value, str) else value


_UNSEEN: Final = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x2800, 0x2800),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFFA0, 0xFFA0),
        (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)
"""Characters that Python takes for printable and that show nothing: fillers, selectors, joiners."""


def visible(text: str) -> str:
    r"""Return the text with everything escaped (`\x1b`) that a terminal obeys or that nobody sees.

    That is: control characters, line ends, characters that turn the direction of writing, blanks other than a space, and bytes
    that are not UTF-8.

    >>> visible("two\nlines"), visible("as it is")
    ('two\\x0alines', 'as it is')
    """
    if text.isprintable() and (text.isascii() or _UNSEEN.isdisjoint(text)):
        return text
    return "".join(c if c.isprintable() and c not in _UNSEEN else _by_bytes(c) for c in text)


ABSENT: Final = "-"
"""How a cell of a table shows that there is nothing."""


def in_cell(text: str) -> str:
    """Return the text for a cell of a table: in quotes if it is blank, or looks like the sign of absence or like a text in quotes.

    Two different texts never look alike; `from_cell` gives the text back.
    """
    begins_badly = text.startswith(("'", " ")) or category(text[:1] or " ") in ("Mn", "Mc", "Me")
    is_plain = text not in ("", ABSENT) and not begins_badly and not text.endswith(" ")
    return text if is_plain else f"'{text}'"


def from_cell(text: str) -> str:
    """Return the text that a cell shows so; a text in quotes that no cell would have stays as it is."""
    inner = text[1:-1]
    return inner if in_cell(inner) == text else text


def _by_bytes(character: str) -> str:
    errors = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return "".join(f"{_ESCAPE}{byte:02x}" for byte in character.encode("utf-8", errors))


_ENCODED_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def java_text(text: str) -> str:
    """Return the text that Java's `new String(bytes, UTF_8)` makes of the same bytes.

    Java and Python replace malformed input alike, but for surrogates encoded as three bytes (CESU-8), whole or cut: Java shows one
    U+FFFD for the sequence, Python one for each byte.
    """
    if is_clean(text):
        return text
    return _ENCODED_SURROGATE.sub(b"\xef\xbf\xbd", encode_text(text)).decode("utf-8", "replace")

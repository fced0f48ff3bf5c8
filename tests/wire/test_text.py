r"""How names are shown: every byte string has a text of its own, that reads back, and that a screen takes.

Names are any bytes: what no broker wrote is what damage and attackers leave.
"""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from offsets_tool.wire.text import decode_text, encode_text, from_shown, is_clean, shown, visible

PARTS = (
    *(
        b"\\",
        b"x",
        b"\\x",
        b"\\x5",
        b"ff",
        b"5c",
        b"\\xff",
        b"\\x5cxff",
        b"\\\\xff",
        b"\\xFF",
        b"\\x00",
        b"c3",
        b"a9",
    ),
    *(
        b"\xff",
        b"\xfe",
        b"\xc3",
        b"\xa9",
        b"\xc3\xa9",
        b"\xed\xa0\x80",
        b"\xed\xb3\xbf",
        b"\xc0\x80",
        b"\xf4\x90\x80\x80",
    ),
    *(
        "\ufffd?\0\x1b\x07\x7f\x9b\n\r\t\u202e\u2066\u200b\u200d\ufeff\u00a0\u2028\u3164\ufe0f\u2800\U000e0041".encode(),
        b"",
        b" ",
    ),
    *("è中😀אب'\"=+-@,;".encode(), b"g", b"orders"),
)
"""What escapes are made of, what is not UTF-8, and what screens obey."""
NAMES = st.lists(st.one_of(st.sampled_from(PARTS), st.binary(max_size=3)), max_size=8).map(b"".join)


@given(NAMES)
@example(b"\xff")
@example(b"\\xff")
@example(b"\\x5cxff")
def test_a_name_reads_back_from_how_it_is_shown_and_seen(name: bytes) -> None:
    text = shown(decode_text(name))
    assert is_clean(text)
    assert encode_text(from_shown(text)) == name
    assert encode_text(from_shown(visible(text))) == name


@given(NAMES, NAMES)
@example(b"\xff", b"\\xff")
@example(b"\xff", b"\xfe")
@example(b"\xff", "\ufffd".encode())
@example(b"\xff", b"?")
def test_two_names_are_never_shown_alike(one: bytes, other: bytes) -> None:
    texts = [shown(decode_text(name)) for name in (one, other)]
    assert (texts[0] == texts[1]) == (one == other)
    assert (visible(texts[0]) == visible(texts[1])) == (one == other)


@given(NAMES)
def test_bytes_of_the_command_line_are_read_as_what_is_shown_of_them(name: bytes) -> None:
    """`--group $'\\xff'` is one byte that is no character, of an argument as Python has it."""
    text = decode_text(name)
    if "\\x" not in text:
        assert from_shown(text) == text


@given(NAMES)
def test_what_is_seen_obeys_no_terminal_and_stays_when_seen_again(name: bytes) -> None:
    text = visible(shown(decode_text(name)))
    assert {unicodedata.category(c) for c in text}.isdisjoint({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
    assert visible(text) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_utf8_is_shown_as_it_is_unless_it_looks_like_an_escape(text: str) -> None:
    assert shown(text) == text or "\\x" in text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (b"\xff", r"\xff"),
        (b"?", "?"),
        (b"\\xff", r"\x5cxff"),
        (b"a\\b", r"a\b"),
        (b"\\\xff", r"\\xff"),
        (b"\\\\xff", r"\\x5cxff"),
        (b"\\xFF", r"\xFF"),
        ("\ufffd".encode(), "\ufffd"),
        (b"\xed\xa0\x80", r"\xed\xa0\x80"),
        (b"\xc0\x80", r"\xc0\x80"),
        (b"g\xffo\xc3", r"g\xffo\xc3"),
    ],
)
def test_names_as_they_are_shown(name: bytes, text: str) -> None:
    assert shown(decode_text(name)) == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("orders è中😀", "orders è中😀"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\nb", r"a\x0ab"),
        ("a\x9bb", r"a\xc2\x9bb"),
        ("a\u202eb", r"a\xe2\x80\xaeb"),
        ("a\u200bb", r"a\xe2\x80\x8bb"),
        ("\ud800", r"\xed\xa0\x80"),
    ],
)
def test_names_as_they_are_seen(text: str, seen: str) -> None:
    assert visible(text) == seen

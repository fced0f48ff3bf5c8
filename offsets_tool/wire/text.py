"""Strings as Kafka's brokers and tools see them.

A decoded string keeps every byte: what is not UTF-8 is held as lone surrogates (Python's surrogateescape), so that it can be
encoded again unchanged. `java_text` gives the characters that Java shows for it: U+FFFD for each malformed sequence.
"""

import re


def decode_text(data: bytes) -> str:
    """UTF-8 to text, losing nothing."""
    return data.decode("utf-8", "surrogateescape")


def encode_text(text: str) -> bytes:
    """The bytes `decode_text` was given."""
    return text.encode("utf-8", "surrogateescape")


def is_clean(text: str) -> bool:
    """Whether the text was valid UTF-8."""
    return text.isascii() or not any("\udc80" <= c <= "\udcff" for c in text)


_ENCODED_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def java_text(text: str) -> str:
    """The text as Java's `new String(bytes, UTF_8)` decodes the same bytes.

    Java and Python replace malformed input alike, but for surrogates encoded as three bytes (CESU-8), whole or cut:
    Java shows one U+FFFD for the sequence, Python one for each byte.
    """
    if is_clean(text):
        return text
    return _ENCODED_SURROGATE.sub(b"\xef\xbf\xbd", encode_text(text)).decode("utf-8", "replace")

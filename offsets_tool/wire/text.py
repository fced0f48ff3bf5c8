"""Strings as Kafka's brokers and tools see them.

A decoded string keeps every byte: what is not UTF-8 is held as lone surrogates (Python's surrogateescape), so that it can be
encoded again unchanged. `java_text` gives the characters that Java shows for it: U+FFFD for each malformed sequence.
"""


def decode_text(data: bytes) -> str:
    """UTF-8 to text, losing nothing."""
    return data.decode("utf-8", "surrogateescape")


def encode_text(text: str) -> bytes:
    """The bytes `decode_text` was given."""
    return text.encode("utf-8", "surrogateescape")


def is_clean(text: str) -> bool:
    """Whether the text was valid UTF-8."""
    return text.isascii() or not any("\udc80" <= c <= "\udcff" for c in text)


def java_text(text: str) -> str:
    """The text as Java's `new String(bytes, UTF_8)` decodes the same bytes.

    Java and Python replace malformed input alike, but for surrogates encoded as three bytes (CESU-8):
    Java shows one U+FFFD for the three, Python three.
    """
    if is_clean(text):
        return text
    return _merge_encoded_surrogates(encode_text(text)).decode("utf-8", "replace")


def _merge_encoded_surrogates(data: bytes) -> bytes:
    """Replaces each well-formed three-byte surrogate (ED A0..BF 80..BF) by the three bytes of U+FFFD."""
    out = bytearray()
    position = 0
    while position < len(data):
        if _is_encoded_surrogate(data, position):
            out += b"\xef\xbf\xbd"
            position += 3
        else:
            out.append(data[position])
            position += 1
    return bytes(out)


def _is_encoded_surrogate(data: bytes, at: int) -> bool:
    return (
        data[at] == 0xED
        and at + 2 < len(data)
        and 0xA0 <= data[at + 1] <= 0xBF
        and 0x80 <= data[at + 2] <= 0xBF
    )

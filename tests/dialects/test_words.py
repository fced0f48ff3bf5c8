"""What formatters say when they throw, in the words of each release, and what they take without a word."""

import pytest

from tests.dialects.samples import (
    COMMIT_KEY,
    FUTURE_KEY,
    GROUP_KEY,
    commit,
    group,
    member,
    text,
    threw,
)

UNDERFLOW = "java.nio.BufferUnderflowException"


@pytest.mark.parametrize(
    ("release", "key", "value", "said"),
    [
        ("0.8.2", COMMIT_KEY, None, "Unknown offset schema version 1"),
        ("2.3", FUTURE_KEY, None, "Unknown offset schema version 99"),
        ("2.4", FUTURE_KEY, None, "Unknown message key schema version 99"),
        ("2.8", FUTURE_KEY, None, "Unknown group metadata message version: 99"),
        ("3.4.0", FUTURE_KEY, None, "Unknown group metadata message version: 99"),
        ("2.0", COMMIT_KEY, commit(2), "Unknown offset schema version 2"),
        ("3.4.0", COMMIT_KEY, commit(4), "Unknown offset message version: 4"),
        ("3.8", COMMIT_KEY, b"\0\x05", "Unknown offset message version: 5"),
        ("1.1", b"\0", None, UNDERFLOW),
        ("3.6", COMMIT_KEY, b"", UNDERFLOW),
        ("3.9", COMMIT_KEY, commit(3)[:-1], UNDERFLOW),
        ("2.7", COMMIT_KEY, commit(3)[:-1], f"Error reading field 'commit_timestamp': {UNDERFLOW}"),
        ("2.7", COMMIT_KEY, commit(0)[:-1], f"Error reading field 'timestamp': {UNDERFLOW}"),
        (
            "1.1",
            b"\0\x01\0\x09g",
            None,
            "Error reading field 'group': Error reading string of length 9, only 1 bytes available",
        ),
        ("1.1", b"\0\x01\xff\xffg", None, "Error reading field 'group': String length -1 cannot be negative"),
        (
            "0.9",
            b"\0\x01\xff\xffg",
            None,
            "Error reading field 'group': java.lang.NegativeArraySizeException",
        ),
        ("0.9", b"\0\x01\0\x09g", None, f"Error reading field 'group': {UNDERFLOW}"),
        ("2.8.2", b"\0\x01\0\x09g", None, "Error reading byte array of 9 byte(s): only 1 byte(s) available"),
        ("2.8.1", b"\0\x01\0\x09g", None, UNDERFLOW),
        ("2.8", b"\0\x01\xff\xffg", None, "non-nullable field group was serialized as null"),
        (
            "4.3",
            b"\0",
            None,
            "Could not read record at offset 7 due to: Could not read version from key's buffer.",
        ),
    ],
)
def test_the_words_of_each_release(release: str, key: bytes, value: bytes | None, said: str) -> None:
    assert threw(release, key, value) == said


@pytest.mark.parametrize(
    ("release", "value", "said"),
    [
        ("2.2", group(3), "Unknown group metadata version 3"),
        ("3.4.0", group(4), "Unknown group metadata message version: 4"),
        (
            "0.10.0",
            group(0, protocol=None),
            "Error reading field 'protocol': String length -1 cannot be negative",
        ),
        (
            "1.1",
            group(1)[:-4] + b"\xff\xff\xff\xff",
            "Error reading field 'members': Array size -1 cannot be negative",
        ),
        (
            "1.1",
            group(1)[:-1] + b"\x09",
            "Error reading field 'members': Error reading array of size 9, only 0 bytes available",
        ),
        (
            "1.1",
            group(1, member())[:-4] + b"\xff\xff\xff\xfe",
            "Error reading field 'members': Error reading field 'assignment': Bytes size -2 cannot be negative",
        ),
        (
            "0.9",
            group(0, member())[:-4] + b"\0\0\0\x09",
            "Error reading field 'members': Error reading field 'assignment': java.lang.IllegalArgumentException",
        ),
    ],
)
def test_the_words_for_groups(release: str, value: bytes, said: str) -> None:
    assert threw(release, GROUP_KEY, value, "group-metadata") == said


def test_trailing_bytes_are_ignored() -> None:
    for release in ("0.9", "2.0"):
        assert text(release, COMMIT_KEY + b"x", commit(1) + b"x") == text(release, COMMIT_KEY, commit(1))
    for release in ("3.6", "4.3"):
        assert text(release, COMMIT_KEY + b"x", commit(3) + b"x") == text(release, COMMIT_KEY, commit(3))


def test_strings_are_printed_raw_in_text_and_escaped_in_json() -> None:
    odd = commit(3, metadata='a"\n\x01è\udcff')
    assert 'metadata=a"\n\x01è\ufffd,' in text("3.6", COMMIT_KEY, odd)
    assert '"metadata":"a\\"\\n\\u0001è\ufffd"' in text("4.3", COMMIT_KEY, odd)

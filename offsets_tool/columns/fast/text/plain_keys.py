"""Texts of the keys that nearly all keys are like: two names of letters, digits, dots and dashes, and a partition.

How their text is put together is learned from what is printed of probe keys; any other key is not plain, and has its text from the
printer itself.
"""

import re
import struct
from collections.abc import Callable
from typing import Final

from offsets_tool.columns.fast.text.template import Printed, Template, Text, fill, learn

TextOfKey = Callable[[bytes], bytes | None]

_PLAIN: Final = re.compile(rb"[A-Za-z0-9._-]+")
_CHARACTERS: Final = b"._-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
_PARTITION: Final = "partition"
_PROBES: Final = (
    (b"GroupOfTheFirst", b"TopicOfTheFirst", 1_234_567),
    (b"anotherGroup", b"andAnotherTopic.that-is_longer", 76_543),
    (b"g", b"t", 0),
    (_CHARACTERS, _CHARACTERS[::-1] * 3, 2**31 - 1),
    (b"0", b"007", 8),
    (b"x" * 500, b"-", 10),
)
_OVERHEAD: Final = 10


class PlainKeys:
    """Texts of plain keys, by `printed`: what is printed of one key."""

    def __init__(self, printed: TextOfKey) -> None:
        self._printed = printed
        self._templates: dict[int, Template | None] = {}

    def text(self, key: bytes) -> bytes | None:
        """The text of a plain key; None for others."""
        names = _names(key)
        if names is None:
            return None
        template = self._template(key[1])
        return None if template is None else fill(template, _values(b"", *names))

    def _template(self, type_id: int) -> Template | None:
        if type_id not in self._templates:
            self._templates[type_id] = self._learned(type_id)
        return self._templates[type_id]

    def _learned(self, type_id: int) -> Template | None:
        probes = []
        for group, topic, partition in _PROBES:
            text = self._printed(_key(type_id, group, topic, partition))
            if text is None:
                return None
            probes.append(_values(text, group, topic, partition))
        return learn(probes)


def _values(line: bytes, group: bytes, topic: bytes, partition: int) -> Printed:
    return Printed(line, {_PARTITION: partition}, {Text.GROUP: group, Text.TOPIC: topic})


def _key(type_id: int, group: bytes, topic: bytes, partition: int) -> bytes:
    names = b"".join(struct.pack(">h", len(name)) + name for name in (group, topic))
    return struct.pack(">h", type_id) + names + struct.pack(">i", partition)


def _names(key: bytes) -> tuple[bytes, bytes, int] | None:
    """Group, topic and partition of a plain key."""
    if len(key) < _OVERHEAD or key[:2] not in (b"\0\0", b"\0\1"):
        return None
    topic_at = 4 + (key[2] << 8 | key[3])
    end = len(key) - 4
    if topic_at + 2 > end or topic_at + 2 + (key[topic_at] << 8 | key[topic_at + 1]) != end:
        return None
    group, topic = key[4:topic_at], key[topic_at + 2 : end]
    # A first byte of 0x80 or more is a negative length or partition.
    if max(key[2], key[topic_at], key[end]) >= 0x80 or not (
        _PLAIN.fullmatch(group) and _PLAIN.fullmatch(topic)
    ):
        return None
    return group, topic, int.from_bytes(key[end:], "big")

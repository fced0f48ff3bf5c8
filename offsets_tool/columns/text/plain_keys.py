"""Learns from printed probe keys how the text of plain keys is put together, as programs for compiled code.

Nearly all keys are plain (key_kernel.py); any other one has its text from the printer itself.
"""

import struct
from collections.abc import Callable
from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.text.kernel import NUMBER_SIZE
from offsets_tool.columns.text.key_kernel import PLAIN, KeyOp
from offsets_tool.columns.text.template import Number, PrintedProbe, Template, TemplatePart, Text, learn
from offsets_tool.records.kinds import COMMITS

TextOfKey = Callable[[bytes], bytes | None]

_PARTITION: Final = "partition"
_PROBES: Final = (
    (b"GroupOfTheFirst", b"TopicOfTheFirst", 1_234_567),
    (b"anotherGroup", b"andAnotherTopic.that-is_longer", 76_543),
    (b"g", b"t", 0),
    (PLAIN, PLAIN[::-1] * 3, 2**31 - 1),
    (b"0", b"007", 8),
    (b"x" * 500, b"-", 10),
)


class PlainKeys:
    """Programs for the texts of plain keys, by `printed`: what is printed of one key."""

    def __init__(self, printed: TextOfKey) -> None:
        self._kept: list[Array] = []
        self.programs: Final = np.array(
            [self._program(_learned(printed, t)) for t in sorted(COMMITS)], np.int64
        )

    def _program(self, template: Template | None) -> tuple[int, int, int, int]:
        if not template:
            return 0, 0, 0, 0
        code = np.array([self._instruction(piece) for piece in template], np.int64)
        self._kept.append(code)
        fixed = sum(len(piece) if isinstance(piece, bytes) else NUMBER_SIZE for piece in template)
        return address(code), len(code), fixed, sum(isinstance(piece, Text) for piece in template)

    def _instruction(self, piece: TemplatePart) -> tuple[int, int, int]:
        if isinstance(piece, Number):
            return KeyOp.PARTITION, 0, 0
        if isinstance(piece, Text):
            return (KeyOp.GROUP if piece is Text.GROUP else KeyOp.TOPIC), 0, 0
        literal = np.frombuffer(piece, np.uint8)
        self._kept.append(literal)
        return KeyOp.LITERAL, address(literal), len(piece)


def _learned(printed: TextOfKey, type_id: int) -> Template | None:
    probes = []
    for group, topic, partition in _PROBES:
        text = printed(_key(type_id, group, topic, partition))
        if text is None:
            return None
        probes.append(PrintedProbe(text, {_PARTITION: partition}, {Text.GROUP: group, Text.TOPIC: topic}))
    return learn(probes)


def _key(type_id: int, group: bytes, topic: bytes, partition: int) -> bytes:
    names = b"".join(struct.pack(">h", len(name)) + name for name in (group, topic))
    return struct.pack(">h", type_id) + names + struct.pack(">i", partition)

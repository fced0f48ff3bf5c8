"""Templates as programs for compiled code, one for each class that was asked for; what a class has in it is learned once."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.text.fields import NUMBERS, PER_RECORD
from offsets_tool.columns.text.kernel import NUMBER_SIZE, SLACK, TextOp
from offsets_tool.columns.text.template import Number, Template, TemplatePart, Text

REFUSED: Final = -1
"""The number of a class's program that has none."""

_TEXTS: Final = {
    Text.KEY: TextOp.KEY,
    Text.METADATA: TextOp.METADATA,
    Text.TOPIC_ID: TextOp.TOPIC_ID,
    Text.VALUE: TextOp.VALUE,
}


class Programs:
    """Programs by number; their instructions and literals stay where they are."""

    def __init__(self) -> None:
        self._kept: list[Array] = []
        self._entries: list[tuple[int, int, int]] = []
        self.table: Array = np.zeros((1, 3), np.int64)

    def add(self, template: Template | None) -> int:
        """Add the program of a template, and return its number; REFUSED without a template."""
        if template is None:
            return REFUSED
        code = np.array([self._instruction(piece) for piece in template] or np.empty((0, 3)), np.int64)
        self._kept.append(code)
        self._entries.append((address(code), len(code), _bound(template)))
        self.table = np.array(self._entries, np.int64)
        return len(self._entries) - 1

    def _instruction(self, piece: TemplatePart) -> tuple[int, int, int]:
        if isinstance(piece, Number):
            number = NUMBERS.index(piece.name)
            return (TextOp.BATCH_NUMBER if number < PER_RECORD else TextOp.RECORD_NUMBER), number, 0
        if isinstance(piece, Text):
            return _TEXTS[piece], 0, 0
        literal = np.frombuffer(piece + bytes(SLACK), np.uint8)
        self._kept.append(literal)
        return TextOp.LITERAL, address(literal), len(piece)


def _bound(template: Sequence[TemplatePart]) -> int:
    sizes = (len(piece) if isinstance(piece, bytes) else NUMBER_SIZE for piece in template)
    return sum(sizes) + SLACK

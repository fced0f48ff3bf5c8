"""Compiled: a value's bytes as Kafka's JSON, by a program from programs.py.

Declines whatever the program does not print exactly as the reference would: text that is no UTF-8, unknown tags, a tag with its
default, bytes that are missing or left over. Then the reference reads the record.
"""

from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address, big_i16, compiled, load_i64, store_i64
from offsets_tool.columns.json.interpreter import DECLINED, NO_ROOM, STACK, run_program
from offsets_tool.columns.json.programs import VERSIONS, programs


class JsonTexts(NamedTuple):
    """The JSON of many values in one array of bytes, one after another: where each begins in `data`, and its size; -1 where the
    program declined.

    `data` is the caller's, and has SLACK bytes more than its texts.
    """

    data: Array
    starts: Array
    sizes: Array


SLACK: Final = 16
"""Bytes after the last text that may be read and overwritten."""

_FIRST_GROWTH: Final = 3.0
"""How many bytes of JSON a byte of a value becomes, before that is known."""
_ROOM_FOR_ONE: Final = 1 << 12


class JsonWriter:
    """Runs programs over the values of a chunk."""

    def __init__(self) -> None:
        self._code, self._starts, self._pool = programs()
        self._stack = np.zeros(STACK, np.int64)
        self._growth = _FIRST_GROWTH

    def write(self, data: Array, types: Array, places: Array, sizes: Array) -> JsonTexts:
        """Return the JSON of values at `places` of `data`, whose keys have `types` (-1: none); a size of -1 is null. All are
        int64.
        """
        count = len(types)
        starts, lengths = np.zeros(count, np.int64), np.full(count, DECLINED, np.int64)
        size = int(np.maximum(sizes, 0).sum())
        # Memory that is not written to costs nothing; to run out of room costs a copy.
        out = np.empty(int(self._growth * size) + _ROOM_FOR_ONE, np.uint8)
        done, used = 0, 0
        while True:
            done, used = _write_all(
                address(self._code),
                address(self._starts),
                address(self._pool),
                address(self._stack),
                address(data),
                address(types),
                address(places),
                address(sizes),
                address(starts),
                address(lengths),
                done,
                count,
                address(out),
                used,
                len(out) - SLACK,
            )
            if done == count:
                self._growth = 1.2 * used / size if size else self._growth
                return JsonTexts(out[: used + SLACK], starts, lengths)
            out = np.concatenate((out[:used], np.empty(2 * len(out) - used, np.uint8)))


@compiled
def _write_all(
    code: int,
    programs: int,
    pool: int,
    stack: int,
    data: int,
    types: int,
    places: int,
    sizes: int,
    starts: int,
    lengths: int,
    row: int,
    count: int,
    out: int,
    used: int,
    room: int,
) -> tuple[int, int]:
    """Print rows from `row` on; return the row where room ran out (or `count`), and how much of `out` is used."""
    while row < count:
        type_id, size = load_i64(types + 8 * row), load_i64(sizes + 8 * row)
        at = data + load_i64(places + 8 * row)
        version = big_i16(at) if size >= 2 else -1
        if type_id >= 0 and 0 <= version < VERSIONS:
            pc = load_i64(programs + 8 * (type_id * VERSIONS + version))
            if pc >= 0:
                end = run_program(code, pc, pool, stack, at + 2, at + size, out + used, out + room)
                if end == NO_ROOM:
                    return row, used
                if end > 0:
                    store_i64(starts + 8 * row, used)
                    store_i64(lengths + 8 * row, end - out - used)
                    used = end - out
        row += 1
    return row, used

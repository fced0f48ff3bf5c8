"""Compiled: a value's bytes as Kafka's JSON, by a program from programs.py.

Declines whatever the program does not print exactly as the reference would: text that is no UTF-8, unknown tags, a tag with its
default, bytes that are missing or left over. Then the reference reads the record.
"""

from typing import NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address, big_i16, compiled, load_i64, store_i64
from offsets_tool.columns.json.interpreter import DECLINED, NO_ROOM, STACK, run_program
from offsets_tool.columns.json.programs import VERSIONS, programs


class JsonTexts(NamedTuple):
    """The JSON of many values in one array of bytes: where each begins in `data`, and its size; -1 where the program declined."""

    data: Array
    starts: Array
    sizes: Array


class JsonWriter:
    """Runs programs over the values of a chunk; keeps its buffers from one chunk to the next."""

    def __init__(self) -> None:
        self._code, self._starts, self._pool = programs()
        self._stack = np.zeros(STACK, np.int64)
        self._out = np.empty(1 << 16, np.uint8)

    def write(self, data: Array, types: Array, places: Array, sizes: Array) -> JsonTexts:
        """Return the JSON of values at `places` of `data`, whose keys have `types` (-1: none); a size of -1 is null. All are
        int64.
        """
        starts, lengths = np.empty(len(types), np.int64), np.full(len(types), DECLINED, np.int64)
        done, used = 0, 0
        while done < len(types):
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
                len(types),
                address(self._out),
                used,
                len(self._out),
            )
            if done < len(types):
                self._out = np.concatenate((self._out, np.empty(len(self._out), np.uint8)))
        return JsonTexts(self._out, starts, lengths)


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
    """Rows from `row` on; returns the row where room ran out (or count), and how much of `out` is used."""
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

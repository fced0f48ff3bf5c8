"""CRC-32C in compiled code: the CPU's instruction eight bytes at a time, or, without it, eight tables (slicing-by-8)."""

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from offsets_tool.columns.fast.machine import HAS_CRC32, compiled, load_u8, load_u64

_POLYNOMIAL: Final = 0x82F63B78
_START: Final = np.uint64(0xFFFFFFFF)
_BYTE: Final = np.uint64(0xFF)


def _instruction(bits: int) -> Any:
    """An intrinsic `f(crc, data)` for SSE 4.2's crc32 over 64 or 8 bits, on uint64."""

    @intrinsic
    def step(typing_context: Any, crc: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            wide = ir.IntType(64 if bits == 64 else 32)
            name = f"llvm.x86.sse42.crc32.{'64.64' if bits == 64 else '32.8'}"
            function = builder.module.declare_intrinsic(
                name, (), ir.FunctionType(wide, [wide, ir.IntType(bits)])
            )
            if bits == 64:
                return builder.call(function, arguments)
            narrow = [builder.trunc(arguments[0], wide), builder.trunc(arguments[1], ir.IntType(8))]
            return builder.zext(builder.call(function, narrow), ir.IntType(64))

        return types.uint64(types.uint64, types.uint64), generate

    return step


_step_64 = _instruction(64)
_step_8 = _instruction(8)


def _tables() -> "np.ndarray[Any, np.dtype[np.uint32]]":
    tables = np.zeros((8, 256), np.uint32)
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        tables[0, byte] = value
    for level in range(1, 8):
        for byte in range(256):
            before = int(tables[level - 1, byte])
            tables[level, byte] = (before >> 8) ^ int(tables[0, before & 0xFF])
    return tables


_TABLES: Final = _tables()


@compiled
def crc32c_by_tables(at: int, end: int) -> Any:
    """CRC-32C of the bytes from address `at` to `end`, on any CPU."""
    crc = _START
    while at + 8 <= end:
        word = load_u64(at) ^ crc
        crc = np.uint64(0)
        for level in range(8):
            crc ^= np.uint64(_TABLES[7 - level, (word >> np.uint64(8 * level)) & _BYTE])
        at += 8
    while at < end:
        crc = np.uint64(_TABLES[0, (crc ^ np.uint64(load_u8(at))) & _BYTE]) ^ (crc >> np.uint64(8))
        at += 1
    return np.int64(crc ^ _START)


@compiled
def crc32c_by_instruction(at: int, end: int) -> Any:
    """The same on a CPU with SSE 4.2."""
    crc = _START
    while at + 8 <= end:
        crc = _step_64(crc, load_u64(at))
        at += 8
    while at < end:
        crc = _step_8(crc, np.uint64(load_u8(at)))
        at += 1
    return np.int64(crc ^ _START)


crc32c = crc32c_by_instruction if HAS_CRC32 else crc32c_by_tables

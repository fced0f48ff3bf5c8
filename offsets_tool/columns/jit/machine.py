"""The machine's instructions for compiled code: loads and stores at an address, and the CPU's CRC-32C where it has one.

Compiled functions take addresses and sizes as plain integers, not arrays: calls stay cheap and compiling is quick. Nothing here
checks a bound; functions that read foreign bytes check before they load. This module has only names: compiling.py turns them into
code.
"""

from collections.abc import Callable
from typing import (
    Final,
    Literal,
    NamedTuple,
    SupportsIndex,
    TypeAlias,
    TypeVar,
    cast,
)

import llvmlite.binding
import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.native import Compiled

HAS_CRC32: Final[bool] = bool(llvmlite.binding.get_host_cpu_features().get("sse4.2", False))

_Function = TypeVar("_Function", bound=Callable[..., object])


def compiled(function: _Function) -> _Function:
    """Decorate a function that Python calls: it is compiled on its first call, kept, and runs without the interpreter's lock."""
    return Compiled(function)  # type: ignore[return-value, arg-type]


def step(function: _Function) -> _Function:
    """Decorate a function that only compiled code calls: it is compiled into its callers."""
    return Compiled(function)  # type: ignore[return-value, arg-type]


def address(array: Array) -> int:
    """Return where an array's bytes are; the caller keeps the array alive and contiguous."""
    # Not array.__array_interface__: its names are interned anew each time, and where a process knows many, their table with them.
    return int(array.ctypes.data)


class Instruction(NamedTuple):
    """An operation that only compiled code has: an unaligned load from an address, a store of the low bits, a step of CRC-32C,
    so many bits to base64 at once.
    """

    name: Literal["load", "store", "crc32", "load_cell", "store_cell", "base64", "prefetch"]
    bits: int = 64
    is_big_endian: bool = False
    is_signed: bool = False
    width: int = 0
    alphabet: bytes = b""


Load: TypeAlias = Callable[[int], int]
"""`f(address)`: the number at this address."""
Store: TypeAlias = Callable[[int, SupportsIndex], None]
"""`f(address, number)`: write the number there."""
_Crc: TypeAlias = Callable[[np.uint64, np.uint64], np.uint64]

load_u8: Final = cast(Load, Instruction("load", 8))
load_u64: Final = cast(Callable[[int], np.uint64], Instruction("load", 64))
load_i64: Final = cast(Load, Instruction("load", 64, is_signed=True))
load_i32: Final = cast(Load, Instruction("load", 32, is_signed=True))
big_i16: Final = cast(Load, Instruction("load", 16, is_big_endian=True, is_signed=True))
big_i32: Final = cast(Load, Instruction("load", 32, is_big_endian=True, is_signed=True))
big_u32: Final = cast(Load, Instruction("load", 32, is_big_endian=True))
big_i64: Final = cast(Load, Instruction("load", 64, is_big_endian=True, is_signed=True))
store_u8: Final = cast(Store, Instruction("store", 8))
store_i32: Final = cast(Store, Instruction("store", 32))
store_i64: Final = cast(Store, Instruction("store", 64))
prefetch: Final = cast(Callable[[int], None], Instruction("prefetch"))
"""`f(address)`: have the CPU bring the bytes near, which are needed soon."""
# (crc, data) of uint64, both ways.
crc32_u64: Final = cast(_Crc, Instruction("crc32", 64))
crc32_u8: Final = cast(_Crc, Instruction("crc32", 8))


def encode_base64(size: int, alphabet: bytes) -> Callable[[int, int], None]:
    """Return the instruction `f(address, to)`, which writes `size` bytes, 12 or 24, as base64; it reads four bytes more."""
    return cast(Callable[[int, int], None], Instruction("base64", 8 * size, alphabet=alphabet))


def load_cell(width: int) -> Callable[[int, int, int], int]:
    """Return the instruction `f(table, line, column)`, which loads a cell of a table of int64 with `width` cells a line."""
    return cast(Callable[[int, int, int], int], Instruction("load_cell", width=width))


def store_cell(width: int) -> Callable[[int, int, int, int], None]:
    """Return the instruction `f(table, line, column, value)`, which sets a cell of a table of int64 with `width` cells a line."""
    return cast(Callable[[int, int, int, int], None], Instruction("store_cell", width=width))

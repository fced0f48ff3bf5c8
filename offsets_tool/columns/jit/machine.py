"""What compiled code asks of the machine: loads and stores at an address, and the CPU's CRC-32C instruction where it has one.

Compiled functions take addresses and sizes as plain integers, not arrays: calls stay cheap and compiling quick. Nothing here checks
a bound; the functions that read foreign bytes do, before they load. Here are only names: compiling.py knows what they stand for.
"""

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple, TypeVar

import llvmlite.binding

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.native import Compiled

HAS_CRC32: Final[bool] = bool(llvmlite.binding.get_host_cpu_features().get("sse4.2", False))

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function) -> _Function:
    """What Python calls: compiled on first use and kept; releases the interpreter's lock while it runs."""
    return Compiled(function)  # type: ignore[return-value, arg-type]


def step(function: _Function) -> _Function:
    """What only compiled code calls: compiled into its callers."""
    return Compiled(function)  # type: ignore[return-value, arg-type]


def address(array: Array) -> int:
    """Where an array's bytes are; the caller keeps the array alive and contiguous."""
    return int(array.ctypes.data)


class Instruction(NamedTuple):
    """Of compiled code only: an unaligned load from an address, a store of the low bits there, a step of CRC-32C."""

    name: Literal["load", "store", "crc32", "load_cell", "store_cell"]
    bits: int = 64
    big_endian: bool = False
    signed: bool = False
    width: int = 0


# Loads give int64, or uint64 if they are of 64 bits unsigned.
load_u8: Final[Any] = Instruction("load", 8)
load_u64: Final[Any] = Instruction("load", 64)
load_i64: Final[Any] = Instruction("load", 64, signed=True)
load_i32: Final[Any] = Instruction("load", 32, signed=True)
big_i16: Final[Any] = Instruction("load", 16, big_endian=True, signed=True)
big_i32: Final[Any] = Instruction("load", 32, big_endian=True, signed=True)
big_u32: Final[Any] = Instruction("load", 32, big_endian=True)
big_i64: Final[Any] = Instruction("load", 64, big_endian=True, signed=True)
store_u8: Final[Any] = Instruction("store", 8)
store_i32: Final[Any] = Instruction("store", 32)
store_i64: Final[Any] = Instruction("store", 64)
# (crc, data) of uint64, both ways.
crc32_u64: Final[Any] = Instruction("crc32", 64)
crc32_u8: Final[Any] = Instruction("crc32", 8)


def load_cell(width: int) -> Any:
    """An instruction `f(table, line, column)` that loads a cell of a table of int64 of so many columns."""
    return Instruction("load_cell", width=width)


def store_cell(width: int) -> Any:
    """An instruction `f(table, line, column, value)` that stores one."""
    return Instruction("store_cell", width=width)

"""What compiled code asks of the machine: loads and stores at an address, and the CPU's CRC-32C instruction where it has one.

Compiled functions take addresses and sizes as plain integers, not arrays: calls stay cheap and compiling quick. Nothing here checks
a bound; the functions that read foreign bytes do, before they load.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

HAS_CRC32: Final[bool] = bool(llvmlite.binding.get_host_cpu_features().get("sse4.2", False))

compiled: Final = numba.njit(cache=True, nogil=True)
"""What Python calls: compiled on first use and kept in Numba's cache; releases the interpreter's lock while it runs."""

_NO_DOOR: Final[dict[str, Any]] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_Step = TypeVar("_Step", bound=Callable[..., Any])


def step(function: _Step) -> _Step:
    """What only compiled code calls: compiled into its callers, and quicker, having no door to Python."""
    return numba.njit(**_NO_DOOR)(function)  # type: ignore[no-any-return]


def address(array: "np.ndarray[Any, Any]") -> int:
    """Where an array's bytes are; the caller keeps the array alive and contiguous."""
    return int(array.ctypes.data)


def _load(bits: int, *, big_endian: bool, signed: bool) -> Any:
    """An intrinsic `f(address)` that loads an unaligned integer as int64, or as uint64 if it is 64 bits unsigned."""

    @intrinsic
    def load(typing_context: Any, place: Any) -> Any:
        result = types.int64 if signed or bits < 64 else types.uint64

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number = ir.IntType(bits)
            value = builder.load(builder.inttoptr(arguments[0], number.as_pointer()))
            value.align = 1
            if big_endian and bits > 8:
                value = builder.call(builder.module.declare_intrinsic("llvm.bswap", [number]), [value])
            if bits == 64:
                return value
            return (builder.sext if signed else builder.zext)(value, ir.IntType(64))

        return result(types.int64), generate

    return load


load_u8 = _load(8, big_endian=False, signed=False)
load_u64 = _load(64, big_endian=False, signed=False)
load_i64 = _load(64, big_endian=False, signed=True)
load_i32 = _load(32, big_endian=False, signed=True)
big_i16 = _load(16, big_endian=True, signed=True)
big_i32 = _load(32, big_endian=True, signed=True)
big_u32 = _load(32, big_endian=True, signed=False)
big_i64 = _load(64, big_endian=True, signed=True)


def _store(bits: int) -> Any:
    """An intrinsic `f(address, value)` that stores the low bits of an int64."""

    @intrinsic
    def store(typing_context: Any, place: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number = ir.IntType(bits)
            held = arguments[1] if bits == 64 else builder.trunc(arguments[1], number)
            builder.store(held, builder.inttoptr(arguments[0], number.as_pointer())).align = 1
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return store


store_u8 = _store(8)
store_i32 = _store(32)
store_i64 = _store(64)


def _cell(context: Any, builder: Any, width: int, arguments: Any) -> Any:
    """Pointer to a cell of the table at arguments[0], by line and column; `width` cells a line."""
    table, line, column = arguments[:3]
    number = builder.add(builder.mul(line, line.type(width)), column)
    place = builder.add(table, builder.shl(number, number.type(3)))
    return builder.inttoptr(place, ir.IntType(64).as_pointer())


def load_cell(width: int) -> Any:
    """An intrinsic `f(table, line, column)` that loads a cell of a table of int64 of so many columns."""

    @intrinsic
    def load(typing_context: Any, table: Any, line: Any, column: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(_cell(context, builder, width, arguments))

        return types.int64(types.int64, types.int64, types.int64), generate

    return load


def store_cell(width: int) -> Any:
    """An intrinsic `f(table, line, column, value)` that stores one."""

    @intrinsic
    def store(typing_context: Any, table: Any, line: Any, column: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store(arguments[3], _cell(context, builder, width, arguments))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64, types.int64), generate

    return store

"""Numba at work: a compiled function, with all that it calls, as one object file. Loaded only when something is to be compiled."""

from types import FunctionType
from typing import Any, Final

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from offsets_tool.columns.jit.machine import Instruction
from offsets_tool.columns.jit.native import Code, Compiled, target_machine

_NO_DOOR: Final[dict[str, Any]] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compile_function(entry: Compiled) -> Code:
    """TypeError if it gives what a compiled function cannot give."""
    dispatcher = _dispatcher(entry)
    (made,) = dispatcher.overloads.values()
    symbol = made.fndesc.llvm_func_name
    module = llvm.parse_assembly(made.library.get_llvm_str())
    for function in module.functions:
        if not function.is_declaration and function.name != symbol:
            function.linkage = "internal"
    return Code(symbol, _results(made.signature.return_type), target_machine().emit_object(module))


def _results(given: Any) -> int:
    if isinstance(given, types.UniTuple) and isinstance(given.dtype, types.Integer):
        return -len(given)
    if given == types.none:
        return 0
    if given == types.boolean:
        return -1
    if isinstance(given, types.Integer):
        return 1
    raise TypeError(f"a compiled function cannot give {given}")


_known: Final[dict[Compiled | Instruction, Any]] = {}
"""What has been given to Numba: a step that several functions call is compiled once."""


def _dispatcher(of: Compiled) -> Any:
    """The function as Numba's, and so all that it calls."""
    if of not in _known:
        names = of.function.__globals__.copy()
        for name, value in of.used().items():
            if isinstance(value, Compiled):
                names[name] = _dispatcher(value)
            elif isinstance(value, Instruction):
                names[name] = _known.setdefault(value, _intrinsic(value))
        function = FunctionType(of.function.__code__, names, of.function.__name__)
        _known[of] = numba.njit(_signature(of.function), **_NO_DOOR)(function)
    return _known[of]


def _signature(function: FunctionType) -> tuple[Any, ...]:
    """Arguments as they are annotated; told beforehand, lest each constant that is given makes another version."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    return tuple(types.boolean if function.__annotations__[name] is bool else types.int64 for name in names)


def _intrinsic(of: Instruction) -> Any:
    kinds = {
        "load": _load,
        "store": _store,
        "crc32": _crc32,
        "load_cell": _load_cell,
        "store_cell": _store_cell,
    }
    return kinds[of.name](of)


def _load(of: Instruction) -> Any:
    result = types.uint64 if of.bits == 64 and not of.signed else types.int64

    @intrinsic
    def load(typing_context: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number = ir.IntType(of.bits)
            value = builder.load(builder.inttoptr(arguments[0], number.as_pointer()))
            value.align = 1
            if of.big_endian:
                value = builder.call(builder.module.declare_intrinsic("llvm.bswap", [number]), [value])
            if of.bits == 64:
                return value
            return (builder.sext if of.signed else builder.zext)(value, ir.IntType(64))

        return result(types.int64), generate

    return load


def _store(of: Instruction) -> Any:
    @intrinsic
    def store(typing_context: Any, place: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number = ir.IntType(of.bits)
            held = arguments[1] if of.bits == 64 else builder.trunc(arguments[1], number)
            builder.store(held, builder.inttoptr(arguments[0], number.as_pointer())).align = 1
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return store


def _crc32(of: Instruction) -> Any:
    """SSE 4.2's instruction."""
    wide = ir.IntType(64 if of.bits == 64 else 32)
    name = "llvm.x86.sse42.crc32." + ("64.64" if of.bits == 64 else "32.8")

    @intrinsic
    def step(typing_context: Any, crc: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            type_ = ir.FunctionType(wide, [wide, ir.IntType(of.bits)])
            function = builder.module.declare_intrinsic(name, (), type_)
            if of.bits == 64:
                return builder.call(function, arguments)
            narrow = [builder.trunc(arguments[0], wide), builder.trunc(arguments[1], ir.IntType(8))]
            return builder.zext(builder.call(function, narrow), ir.IntType(64))

        return types.uint64(types.uint64, types.uint64), generate

    return step


def _cell(builder: Any, width: int, arguments: Any) -> Any:
    """Pointer to a cell of the table at arguments[0], by line and column; `width` cells a line."""
    table, line, column = arguments[:3]
    number = builder.add(builder.mul(line, line.type(width)), column)
    place = builder.add(table, builder.shl(number, number.type(3)))
    return builder.inttoptr(place, ir.IntType(64).as_pointer())


def _load_cell(of: Instruction) -> Any:
    @intrinsic
    def load(typing_context: Any, table: Any, line: Any, column: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(_cell(builder, of.width, arguments))

        return types.int64(types.int64, types.int64, types.int64), generate

    return load


def _store_cell(of: Instruction) -> Any:
    @intrinsic
    def store(typing_context: Any, table: Any, line: Any, column: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store(arguments[3], _cell(builder, of.width, arguments))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64, types.int64), generate

    return store

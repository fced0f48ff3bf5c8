"""Numba at work: a compiled function, with all that it calls, as one object file. Loaded only when something is to be compiled.

Numba's own objects are called by their classes here; which of them are typed differs from one release of it to the next.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, TypeAlias

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from offsets_tool.columns.jit.machine import Instruction
from offsets_tool.columns.jit.native import Code, Compiled, target_machine

Numba: TypeAlias = Any
"""An object of Numba's: a dispatcher, an intrinsic, the context that code is made in."""
Generator: TypeAlias = Callable[[Numba, ir.IRBuilder, Numba, list[ir.Value]], ir.Value]
"""Writes one instruction in LLVM's language: of context, builder, signature and arguments."""

_NO_DOOR: Final = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Without the entries for Python that Numba makes: jit.native has its own."""

_INLINED: Final = 2_000
"""LLVM's measure of the size up to which a function is compiled into its callers: all of ours, where 225 is usual."""


def compile_function(entry: Compiled) -> Code:
    """Return a function's machine code; TypeError if it returns what a compiled function cannot return."""
    dispatcher = _dispatcher(entry)
    (made,) = dispatcher.overloads.values()
    symbol = made.fndesc.llvm_func_name
    module = llvm.parse_assembly(made.library.get_llvm_str())
    for function in module.functions:
        if not function.is_declaration and function.name != symbol:
            function.linkage = "internal"
    _inline(module)
    return Code(symbol, _result_code(made.signature.return_type), target_machine().emit_object(module))


def _inline(module: llvm.ModuleRef) -> None:
    """Inline steps into their callers: Numba also keeps each as a function, and a call costs more than most steps."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.inlining_threshold = _INLINED
    passes = llvm.create_pass_builder(target_machine(), options)
    passes.getModulePassManager().run(module, passes)


def _result_code(type_: types.Type) -> int:
    """Return the number that stands for a function's type of result in Code."""
    if isinstance(type_, types.UniTuple) and isinstance(type_.dtype, types.Integer):
        return -len(type_)
    if type_ == types.none:
        return 0
    if type_ == types.boolean:
        return -1
    if isinstance(type_, types.Integer):
        return 1
    raise TypeError(f"a compiled function cannot return {type_}")


_compiled: Final[dict[Compiled | Instruction, Numba]] = {}
"""What Numba has compiled so far: a step that several functions call is compiled once."""


def _dispatcher(of: Compiled) -> Numba:
    """Return Numba's dispatcher of a function, after those of all functions that it calls."""
    if of not in _compiled:
        names = of.function.__globals__.copy()
        for name, value in of.used().items():
            if isinstance(value, Compiled):
                names[name] = _dispatcher(value)
            elif isinstance(value, Instruction):
                names[name] = _compiled.setdefault(value, _intrinsic(value))
        function = FunctionType(of.function.__code__, names, of.function.__name__)
        make: Numba = numba.njit(_signature(of.function), **_NO_DOOR)  # type: ignore[call-overload, unused-ignore]
        _compiled[of] = make(function)
    return _compiled[of]


def _signature(function: FunctionType) -> tuple[types.Type, ...]:
    """Return the arguments' types by their annotations.

    Said beforehand, because Numba would compile another version for each constant that is passed.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    return tuple(types.boolean if function.__annotations__[name] is bool else types.int64 for name in names)


def _intrinsic(of: Instruction) -> Numba:
    kinds = {
        "load": _load,
        "store": _store,
        "crc32": _crc32,
        "load_cell": _load_cell,
        "store_cell": _store_cell,
        "base64": _base64,
        "prefetch": _prefetch,
    }
    return kinds[of.name](of)


def _load(of: Instruction) -> Numba:
    result = types.uint64 if of.bits == 64 and not of.is_signed else types.int64

    @intrinsic
    def load(typing_context: Numba, place: types.Type) -> tuple[Numba, Generator]:
        def generate(_: Numba, builder: ir.IRBuilder, __: Numba, arguments: list[ir.Value]) -> ir.Value:
            number = ir.IntType(of.bits)
            value = builder.load(builder.inttoptr(arguments[0], number.as_pointer()))
            value.align = 1
            if of.is_big_endian:
                value = builder.call(builder.module.declare_intrinsic("llvm.bswap", [number]), [value])
            if of.bits == 64:
                return value
            return (builder.sext if of.is_signed else builder.zext)(value, ir.IntType(64))

        return result(types.int64), generate

    return load


def _store(of: Instruction) -> Numba:
    @intrinsic
    def store(typing_context: Numba, place: types.Type, value: types.Type) -> tuple[Numba, Generator]:
        def generate(context: Numba, builder: ir.IRBuilder, _: Numba, arguments: list[ir.Value]) -> ir.Value:
            number = ir.IntType(of.bits)
            stored = arguments[1] if of.bits == 64 else builder.trunc(arguments[1], number)
            builder.store(stored, builder.inttoptr(arguments[0], number.as_pointer())).align = 1
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return store


def _prefetch(of: Instruction) -> Numba:
    @intrinsic
    def prefetch(typing_context: Numba, place: types.Type) -> tuple[Numba, Generator]:
        def generate(context: Numba, builder: ir.IRBuilder, _: Numba, arguments: list[ir.Value]) -> ir.Value:
            number = ir.IntType(32)
            place = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
            type_ = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
            function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], type_)
            # To read, keep it near, data.
            builder.call(function, [place, number(0), number(3), number(1)])
            return context.get_dummy_value()

        return types.void(types.int64), generate

    return prefetch


def _crc32(of: Instruction) -> Numba:
    """Return the CRC-32C instruction of SSE 4.2, for eight bytes or for one."""
    wide = ir.IntType(64 if of.bits == 64 else 32)
    name = "llvm.x86.sse42.crc32." + ("64.64" if of.bits == 64 else "32.8")

    @intrinsic
    def step(typing_context: Numba, crc: types.Type, value: types.Type) -> tuple[Numba, Generator]:
        def generate(_: Numba, builder: ir.IRBuilder, __: Numba, arguments: list[ir.Value]) -> ir.Value:
            type_ = ir.FunctionType(wide, [wide, ir.IntType(of.bits)])
            function = builder.module.declare_intrinsic(name, (), type_)
            if of.bits == 64:
                return builder.call(function, arguments)
            narrow = [builder.trunc(arguments[0], wide), builder.trunc(arguments[1], ir.IntType(8))]
            return builder.zext(builder.call(function, narrow), ir.IntType(64))

        return types.uint64(types.uint64, types.uint64), generate

    return step


def _cell(builder: ir.IRBuilder, width: int, arguments: list[ir.Value]) -> ir.Value:
    """Return the pointer to a cell of a table, given its address, line and column; a line has `width` cells."""
    table, line, column = arguments[:3]
    number = builder.add(builder.mul(line, line.type(width)), column)
    place = builder.add(table, builder.shl(number, number.type(3)))
    return builder.inttoptr(place, ir.IntType(64).as_pointer())


def _load_cell(of: Instruction) -> Numba:
    @intrinsic
    def load(
        typing_context: Numba, table: types.Type, line: types.Type, column: types.Type
    ) -> tuple[Numba, Generator]:
        def generate(_: Numba, builder: ir.IRBuilder, __: Numba, arguments: list[ir.Value]) -> ir.Value:
            return builder.load(_cell(builder, of.width, arguments))

        return types.int64(types.int64, types.int64, types.int64), generate

    return load


def _store_cell(of: Instruction) -> Numba:
    @intrinsic
    def store(
        typing_context: Numba, table: types.Type, line: types.Type, column: types.Type, value: types.Type
    ) -> tuple[Numba, Generator]:
        def generate(context: Numba, builder: ir.IRBuilder, _: Numba, arguments: list[ir.Value]) -> ir.Value:
            builder.store(arguments[3], _cell(builder, of.width, arguments))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64, types.int64), generate

    return store


_BASE64_STEP: Final = 12
"""Bytes that 16 letters are made of: a vector that every CPU has."""


def _base64(of: Instruction) -> Numba:
    """Write bytes as base64, all letters at once: vectors of LLVM's language, which it fits to the CPU."""
    steps = of.bits // 8 // _BASE64_STEP

    @intrinsic
    def encode(typing_context: Numba, at: types.Type, to: types.Type) -> tuple[Numba, Generator]:
        def generate(context: Numba, builder: ir.IRBuilder, _: Numba, arguments: list[ir.Value]) -> ir.Value:
            sixes = _sixes(builder, _triples(builder, arguments[0], steps))
            letters = _letters(builder, builder.bitcast(sixes, ir.VectorType(_BYTE, 16 * steps)), of.alphabet)
            builder.store(letters, builder.inttoptr(arguments[1], letters.type.as_pointer())).align = 1
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return encode


_BYTE: Final = ir.IntType(8)


def _triples(builder: ir.IRBuilder, at: ir.Value, steps: int) -> ir.Value:
    """Return the bytes of one step or two in groups of three, each in an int32, first byte highest; the fourth is undefined."""
    places = [builder.add(at, at.type(_BASE64_STEP * number)) for number in range(steps)]
    wide = ir.VectorType(_BYTE, 16).as_pointer()
    parts = [builder.load(builder.inttoptr(place, wide), align=1) for place in places]
    order = [
        16 * step + 3 * word + byte for step in range(steps) for word in range(4) for byte in (2, 1, 0, 0)
    ]
    ordered = builder.shuffle_vector(parts[0], parts[-1], _constant(ir.IntType(32), order))
    return builder.bitcast(ordered, ir.VectorType(ir.IntType(32), 4 * steps))


def _sixes(builder: ir.IRBuilder, triples: ir.Value) -> ir.Value:
    """Return six bits a byte, in the order of the letters, of three bytes an int32."""

    def every(number: int) -> ir.Constant:
        return _constant(triples.type.element, [number] * triples.type.count)

    first = builder.and_(builder.lshr(triples, every(18)), every(0x3F))
    second = builder.and_(builder.lshr(triples, every(4)), every(0x3F00))
    third = builder.and_(builder.shl(triples, every(10)), every(0x3F0000))
    fourth = builder.and_(builder.shl(triples, every(24)), every(0x3F000000))
    return builder.or_(builder.or_(first, second), builder.or_(third, fourth))


def _letters(builder: ir.IRBuilder, sixes: ir.Value, alphabet: bytes) -> ir.Value:
    """Return the letters of numbers below 64: a number, and for each run of the alphabet from its first letter on a step."""

    def every(number: int) -> ir.Constant:
        return _constant(_BYTE, [number & 0xFF] * sixes.type.count)

    letters = builder.add(sixes, every(alphabet[0]))
    for number in range(1, len(alphabet)):
        step = alphabet[number] - alphabet[number - 1] - 1
        if step:
            reached = builder.sext(builder.icmp_unsigned(">=", sixes, every(number)), sixes.type)
            letters = builder.add(letters, builder.and_(reached, every(step)))
    return letters


def _constant(type_: ir.Type, values: list[int]) -> ir.Constant:
    return ir.Constant(ir.VectorType(type_, len(values)), values)

"""Compiled functions: Numba makes their machine code once, and later it is loaded without Numba, which is ten times as quick.

A function takes integers and returns nothing, a bool, an integer or a tuple of integers. Kept code is bound to the function's
code, to all that it calls, and to the CPU; code that does not match is compiled again.
"""

import ctypes
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from functools import cache, cached_property, update_wrapper
from types import CodeType, FunctionType, ModuleType
from typing import Final, NamedTuple, TypeAlias

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from offsets_tool.columns.jit.code_cache import read_cached, store

_FORMAT: Final = 3
"""To be raised when compiling.py makes other code of the same functions."""
_SUCCESS: Final = (0, -2)
"""What functions give back as they return; -2 where that is None."""


Result: TypeAlias = tuple[int, ...] | int | bool | None
"""What a compiled function can give."""
Native: TypeAlias = Callable[..., Result]


class Code(NamedTuple):
    """A function's machine code: its name in an object file, and the kind of its result.

    `results` is the number of integers it returns: 0 for None, -1 for a bool, -2 for a tuple of two, -3 for one of three.
    """

    symbol: str
    results: int
    content: bytes

    def digest(self) -> str:
        """Return the SHA-256 of name, kind of result and content."""
        return hashlib.sha256(repr(self[:-1]).encode() + self.content).hexdigest()


class Compiled:
    """A function that runs as machine code: compiled, or loaded, when it is first called."""

    def __init__(self, function: FunctionType) -> None:
        self.function: Final = function
        update_wrapper(self, function)

    def __call__(self, *arguments: int) -> Result:
        return self._native(*arguments)

    @cached_property
    def _native(self) -> Native:
        return _loaded(self.kept() or self._made(), self.function.__code__.co_argcount)

    def kept(self) -> Code | None:
        """Return the kept machine code of this function, in its present form and for this CPU; None if there is none."""
        kept = read_cached(self._name())
        if kept is None:
            return None
        head, _, content = kept.partition(b"\n")
        try:
            said = json.loads(head)
        except ValueError:
            return None
        if not isinstance(said, dict) or said.get("key") != self._key():
            return None
        symbol, results = said["code"]
        code = Code(symbol, results, content)
        # Damaged machine code would end the process.
        return code if said.get("sha256") == code.digest() else None

    def _made(self) -> Code:
        from offsets_tool.columns.jit.compiling import compile_function  # noqa: PLC0415 - Numba

        code = compile_function(self)
        said = {"key": self._key(), "sha256": code.digest(), "code": code[:-1]}
        store(self._name(), json.dumps(said).encode() + b"\n" + code.content)
        return code

    def _name(self) -> str:
        return f"{self.function.__module__}.{self.function.__name__}-{_machine()}.native"

    def _key(self) -> str:
        return hashlib.sha256(b"\0".join(self._parts(set()))).hexdigest()

    def _parts(self, seen: set["Compiled"]) -> Iterator[bytes]:
        """Yield everything that decides about the machine code, of this function and of all that it calls."""
        seen.add(self)
        code = self.function.__code__
        yield from (code.co_code, repr((code.co_names, code.co_varnames, _constants(code))).encode())
        yield repr(self.function.__annotations__).encode()
        for value in self.used().values():
            if isinstance(value, np.ndarray):
                yield from (repr((value.dtype, value.shape)).encode(), value.tobytes())
            elif not isinstance(value, Compiled):
                yield repr(value).encode()
            elif value not in seen:
                yield from value._parts(seen)
            else:
                yield repr((value.function.__module__, value.function.__name__)).encode()

    def used(self) -> dict[str, object]:
        """Return the global names that the function uses, without modules."""
        found = self.function.__globals__
        names = [name for name in self.function.__code__.co_names if name in found]
        return {name: found[name] for name in names if not isinstance(found[name], ModuleType)}


def _constants(code: CodeType) -> tuple[object, ...]:
    """Return the constants of a function without texts, as its docstring decides nothing."""
    return tuple(value for value in code.co_consts if not isinstance(value, str))


@cache
def _machine() -> str:
    """Return a digest of what machine code depends on besides its function: the CPU and the versions of the compilers."""
    features = llvm.get_host_cpu_features().flatten()
    facts = (
        _FORMAT,
        llvmlite.__version__,
        sys.version_info[:2],
        llvm.get_host_cpu_name(),
        features,
    )
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]


@cache
def target_machine() -> llvm.TargetMachine:
    """Return the CPU that this runs on, as LLVM describes it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=3, codemodel="jitdefault", jit=True
    )


_engines: Final[list[llvm.ExecutionEngine]] = []
"""The engines that own the memory of compiled code, kept for as long as the process lives."""


def _loaded(code: Code, arguments: int) -> Native:
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.content))
    engine.finalize_object()
    _engines.append(engine)
    # Numba's own convention: where results go, where an exception would go, then the arguments.
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * arguments
    )
    return _caller(prototype(engine.get_function_address(code.symbol)), code.results)


def _caller(function: Callable[..., int], results: int) -> Native:
    room = ctypes.c_int64 * max(1, abs(results))

    def call(*arguments: int) -> Result:
        given, thrown = room(), ctypes.c_void_p()
        if function(ctypes.byref(given), ctypes.byref(thrown), *arguments) not in _SUCCESS:
            raise ArithmeticError("compiled code threw an exception")
        if results < -1:
            return tuple(given)
        if results == -1:
            return bool(given[0])
        return given[0] if results else None

    return call

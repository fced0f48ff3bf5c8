"""Declarations compiled to small programs: what the kernel in values.py runs to turn a value's bytes into Kafka's JSON.

One program for each record type, value version and newest layout, made from the same declaration as the reference reader, so that
each rule about fields stays in one place. A declaration whose tags do not come last and in order has no program.
"""

from enum import IntEnum
from functools import cache
from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.records.kinds import COMMITS, RECORD_TYPES
from offsets_tool.wire.json import camel, render, to_json
from offsets_tool.wire.schema import FieldSpec, Primitive, Schema, Shape, schema_of

VERSIONS: Final = 1 + max(schema_of(each.layouts[0].value).versions.high for each in RECORD_TYPES.values())
"""Value versions below this one: a program's place is type * VERSIONS + version."""


class JsonOp(IntEnum):
    """An instruction is eight int64: the operation, up to three arguments, and the place and size in the pool of a literal.

    The literal is written before the operation.
    """

    END = 0
    LITERAL = 1
    """Nothing but the literal."""
    INT8 = 2
    INT16 = 3
    UINT16 = 4
    INT32 = 5
    INT64 = 6
    UUID = 7
    STRING = 8
    """Arguments: flexible, nullable."""
    BYTES = 9
    NUMBERS = 10
    """An array of numbers. Arguments: flexible, nullable, operation of an element."""
    ARRAY = 11
    """Arguments: flexible, nullable, instruction after its end. The element's instructions follow, then NEXT."""
    NEXT = 12
    """The end of an element."""
    NULLABLE = 13
    """A marker byte (or, flexible, a varint in a tag) that may mean null. Arguments: in a tag, instruction after the part."""
    TAGS = 14
    """How many tags there are. Argument: instruction after the section. TAG instructions follow, one for each known tag."""
    TAG = 15
    """A known tag. Arguments: its number, its first instruction, how far the section goes."""
    TAG_END = 16
    """The end of a tag's field. Arguments: place and size in the pool of the default's JSON, and the TAGS instruction."""


_NUMBERS: Final[dict[Primitive | None, JsonOp]] = {
    Primitive.INT8: JsonOp.INT8,
    Primitive.INT16: JsonOp.INT16,
    Primitive.UINT16: JsonOp.UINT16,
    Primitive.INT32: JsonOp.INT32,
    Primitive.INT64: JsonOp.INT64,
}
_PRIMITIVES: Final = _NUMBERS | {Primitive.UUID: JsonOp.UUID}
_ARGUMENTS: Final = 3
_UNUSED: Final = (0, 0)
"""With them an instruction is as long as a line of the CPU's cache."""


class _Unsupported(Exception):
    """A declaration that has something programs cannot print, such as bytes."""


class _Program:
    """Instructions and literals of one program while it is made."""

    def __init__(self, version: int, flexible: bool, pool: bytearray) -> None:
        self.code: list[list[int]] = []
        self._version = version
        self._flexible = int(flexible)
        self._pool = pool
        self._literal = ""

    def emit(self, op: JsonOp, *arguments: int) -> int:
        """Add an instruction, and what is to be written before it; return its number."""
        literal, self._literal = self._literal, ""
        self.code.append([*_padded(op, *arguments), *self._pooled(literal), *_UNUSED])
        return len(self.code) - 1

    def amend(self, number: int, *arguments: int) -> None:
        """Set the arguments of an instruction, given by its number, that was emitted before they were known."""
        instruction = self.code[number]
        instruction[: 1 + _ARGUMENTS] = _padded(instruction[0], *arguments)

    def literal(self, text: str) -> None:
        """Write a text before the next instruction."""
        self._literal += text

    def _next_instruction(self) -> int:
        """Return the number of the next instruction, as the target of a jump; emit a gathered literal before."""
        if self._literal:
            self.emit(JsonOp.LITERAL)
        return len(self.code)

    def _pooled(self, text: str) -> tuple[int, int]:
        data = text.encode()
        place = self._pool.find(data)
        if place < 0:
            place = len(self._pool)
            self._pool += data
        return place, len(data)

    def structure(self, schema: Schema) -> None:
        """Add the instructions that print an object: its untagged fields, then its tags."""
        fields = [spec for spec in schema.fields if self._version in spec.versions]
        tagged = [spec for spec in fields if spec.tag is not None]
        untagged = [spec for spec in fields if spec.tag is None]
        if fields != untagged + tagged or [spec.tag for spec in tagged] != sorted(
            spec.tag or 0 for spec in tagged
        ):
            raise _Unsupported
        for place, spec in enumerate(untagged):
            self.literal(f'{"," if place else "{"}"{camel(spec.name)}":')
            self.value(spec.shape)
        if self._flexible:
            self._tags(tagged)
        self.literal("}")

    def _tags(self, tagged: list[FieldSpec]) -> None:
        section = self.emit(JsonOp.TAGS)
        entries = [self.emit(JsonOp.TAG) for _ in tagged]
        for entry, spec in zip(entries, tagged, strict=True):
            self.amend(entry, spec.tag or 0, self._next_instruction())
            self.literal(f',"{camel(spec.name)}":')
            self.value(spec.shape, in_tag=True)
            # With the end of the name before it, so that only the whole of a value can be the default.
            self.emit(JsonOp.TAG_END, *self._pooled(f'":{_default_json(spec, self._version)}'), section)
        self.amend(section, self._next_instruction(), len(tagged))

    def value(self, shape: Shape, *, in_tag: bool = False) -> None:
        """Add the instructions that print a value of a shape; `in_tag` tells whether it is the value of a tag."""
        if shape.element is not None:
            self._array(shape)
        elif shape.part is not None:
            self._part(shape, in_tag=in_tag)
        elif shape.primitive in _PRIMITIVES:
            self.emit(_PRIMITIVES[shape.primitive])
        elif shape.primitive in (Primitive.STRING, Primitive.BYTES):
            op = JsonOp.STRING if shape.primitive is Primitive.STRING else JsonOp.BYTES
            self.emit(op, self._flexible, int(shape.is_nullable))
        else:
            raise _Unsupported

    def _array(self, shape: Shape) -> None:
        assert shape.element is not None
        number = _NUMBERS.get(shape.element.primitive)
        if number is not None:
            self.emit(JsonOp.NUMBERS, self._flexible, int(shape.is_nullable), number)
            return
        begin = self.emit(JsonOp.ARRAY)
        self.value(shape.element)
        self.emit(JsonOp.NEXT)
        self.amend(begin, self._flexible, int(shape.is_nullable), self._next_instruction())

    def _part(self, shape: Shape, *, in_tag: bool) -> None:
        assert shape.part is not None
        begin = self.emit(JsonOp.NULLABLE) if shape.is_nullable else None
        self.structure(schema_of(shape.part))
        if begin is not None:
            self.amend(begin, int(in_tag), self._next_instruction())


def _padded(op: int, *arguments: int) -> list[int]:
    return [op, *arguments, *[0] * (_ARGUMENTS - len(arguments))]


def _default_json(spec: FieldSpec, version: int) -> str:
    """Return the JSON of a field's default: Kafka's converter leaves out a tag that has it."""
    if spec.shape.part is not None and spec.default is not None:
        return render(to_json(spec.default, version))
    if spec.shape.element is not None:
        return "[]" if spec.default == () else "null"
    if not isinstance(spec.default, int):
        raise _Unsupported
    return str(spec.default)


@cache
def programs() -> tuple[Array, Array, Array]:
    """Return all programs: instructions, where each program begins (-1 for none), and the pool of literals."""
    code: list[list[int]] = []
    starts = np.full((max(RECORD_TYPES) + 1) * VERSIONS, -1, np.int64)
    pool = bytearray()
    for record_type in RECORD_TYPES.values():
        schema = schema_of(record_type.layouts[0].value)
        for version in range(VERSIONS):
            if record_type.id in COMMITS or version not in schema.versions:
                continue
            program = _Program(version, version in schema.flexible, pool)
            try:
                program.structure(schema)
            except _Unsupported:
                continue
            program.emit(JsonOp.END)
            starts[record_type.id * VERSIONS + version] = len(code)
            code += _relocated(program.code, len(code))
    # Literals are copied eight bytes at a time.
    return np.array(code, np.int64), starts, np.frombuffer(bytes(pool) + bytes(8), np.uint8)


_TARGETS: Final = {JsonOp.ARRAY: 3, JsonOp.NULLABLE: 2, JsonOp.TAGS: 1, JsonOp.TAG: 2, JsonOp.TAG_END: 3}
"""Which argument of an instruction is the number of another."""


def _relocated(code: list[list[int]], by: int) -> list[list[int]]:
    moved = [list(instruction) for instruction in code]
    for instruction in moved:
        target = _TARGETS.get(JsonOp(instruction[0]))
        if target is not None:
            instruction[target] += by
    return moved

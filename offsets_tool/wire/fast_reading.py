"""Readers of declared fields as plain Python code: a function for each class and version, in which every step is written out.

They may decline, never decide. What does not read plainly (an early end, a null where none may be, text that is not UTF-8, odd
tags) is left to the readers of wire.walk, which read it or say why not; so here are no messages and no notes.
"""

import dataclasses
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING
from functools import cache
from typing import Final, TypeAlias

from offsets_tool.errors import DecodeError
from offsets_tool.wire.cursor import Cursor, uuid_of
from offsets_tool.wire.primitives import FIXED_READERS, LAYOUTS, LONGEST_STRING, ReadValue
from offsets_tool.wire.schema import FieldSpec, FieldValue, Primitive, Shape, absent, schema_of, untagged

FastReader: TypeAlias = Callable[[bytes, int], tuple[FieldValue, int]]
"""Reads what begins at a byte of some data; returns it and the position behind it."""
ReadTags: TypeAlias = Callable[[Cursor, dict[str, FieldValue]], None]
"""Reads the tags where a cursor stands into values by field name."""
TagsOf: TypeAlias = Callable[[type, int], ReadTags]
"""Returns the reader of the tags of a class in a version."""


class Declined(Exception):
    """Some bytes are not for a fast reader."""


DECLINES: Final = (Declined, DecodeError, struct.error, IndexError, ValueError)
"""What a fast reader raises where it declines; nothing was read then."""

_LETTERS: Final = {primitive: layout.format[1:] for primitive, layout in LAYOUTS.items()}
"""The letters by which struct knows the integers."""


def _varint(data: bytes, position: int) -> tuple[int, int]:
    cursor = Cursor(data, position)
    return cursor.unsigned_varint(), cursor.position


def fast_last_fields(
    cls: type, version: int, flexible: bool, specs: Sequence[FieldSpec], tags_of: TagsOf
) -> FastReader:
    """Return a reader of the last of a class's fields, with tags and all that a version lacks, as a dictionary."""
    code = _Code(version, flexible, tags_of)
    code.last_fields(cls, specs, "made")
    return code.compiled(cls)


def fast_message(
    cls: type,
    version: int,
    flexible: bool,
    tags_of: TagsOf,
    *,
    first: Sequence[FieldSpec],
    read_others: FastReader,
) -> FastReader:
    """Return a reader of a class in one version that reads its `first` fields, and the others by one of `fast_last_fields`."""
    code = _Code(version, flexible, tags_of)
    code.whole(cls, first, read_others, "made")
    return code.compiled(cls)


def fast_struct(cls: type, version: int, flexible: bool, tags_of: TagsOf) -> FastReader:
    """Return a reader of a class in one version; `flexible` tells whether it has compact lengths and tags."""
    code = _Code(version, flexible, tags_of)
    code.part(cls, "made")
    return code.compiled(cls)


def fast_or(fast: FastReader, reader: Callable[[], ReadValue]) -> ReadValue:
    """Return a reader that reads what `fast` does not decline as it does, and all else by `reader()`, made when first needed."""
    made = cache(reader)

    def read(cursor: Cursor) -> FieldValue:
        try:
            value, cursor.position = fast(cursor.data, cursor.position)
        except DECLINES:
            return made()(cursor)
        return value

    return read


class _Code:
    """Writes the code of one reader: `data` has `end` bytes, and `at` is the byte that is read next."""

    def __init__(self, version: int, flexible: bool, tags_of: TagsOf) -> None:
        self._version, self._flexible, self._tags_of = version, flexible, tags_of
        self._lines = ["def read(data, at):", " end = len(data)"]
        self._depth = 1
        self._names: dict[str, object] = {"Cursor": Cursor, "Declined": Declined, "uuid": uuid_of}
        self._names |= {"varint": _varint, "unpack": struct.unpack_from, "new": object.__new__}
        self._names |= {f"read_{_LETTERS[each]}": layout.unpack_from for each, layout in LAYOUTS.items()}
        self._variables = 0

    def compiled(self, cls: type) -> FastReader:
        """Return the reader, which returns the variable `made`."""
        self._line("return made, at")
        code = compile("\n".join(self._lines), f"<reader of {cls.__name__} {self._version}>", "exec")
        # All of the text was written here, from declarations.
        exec(code, self._names)
        reader: FastReader = self._names["read"]  # type: ignore[assignment]
        return reader

    def part(self, cls: type, name: str) -> None:
        """Write how a whole structure is read into a variable."""
        held = self._values(untagged(schema_of(cls), self._version)) | self._absent(cls)
        if not self._flexible:
            self._object(cls, name, held)
            return
        with self._block("if data[at]:"):
            self._read_tags(cls)
            fields = "".join(f"{field}={value}, " for field, value in held.items())
            self._line(f"{name} = {self._named(cls)}({fields}**tags)")
        with self._block("else:"):
            self._line("at += 1")
            self._object(cls, name, held)

    def last_fields(self, cls: type, specs: Sequence[FieldSpec], name: str) -> None:
        """Write how the last fields of a structure, and tags, are read into a dictionary, which has all that is in none of both."""
        held = self._defaults(cls) | self._absent(cls) | self._values(specs)
        items = "".join(f"{field!r}: {value}, " for field, value in held.items())
        if self._flexible:
            with self._block("if data[at]:"):
                self._read_tags(cls)
            with self._block("else:"):
                self._line("at, tags = at + 1, {}")
        self._line(f"{name} = {{{items}{'**tags' if self._flexible else ''}}}")

    def whole(self, cls: type, first: Sequence[FieldSpec], read_others: FastReader, name: str) -> None:
        """Write how a structure is read into a variable, of which a reader reads all behind the `first` fields."""
        held = self._values(first)
        self._line(f"others, at = {self._named(read_others)}(data, at)")
        fields = (field.name for field in dataclasses.fields(cls))
        self._object(cls, name, {field: f"others[{field!r}]" for field in fields} | held)

    def _object(self, cls: type, name: str, held: dict[str, str]) -> None:
        """Write how an object is made of its fields: one by one, which takes half as long as to call its class."""
        self._line(f"{name} = new({self._named(cls)})")
        for field, value in (self._defaults(cls) | held).items():
            self._line(f"{self._named(getattr(cls, field).__set__)}({name}, {value})")

    def _values(self, specs: Sequence[FieldSpec]) -> dict[str, str]:
        """Write how fields are read, and return the variables that have them."""
        return {spec.name: self._value(spec.shape) for spec in specs}

    def _absent(self, cls: type) -> dict[str, str]:
        return {field: self._named(value) for field, value in absent(schema_of(cls), self._version).items()}

    def _defaults(self, cls: type) -> dict[str, str]:
        """Return the values of the fields that an object may be made without."""
        fields = dataclasses.fields(cls)
        return {field.name: self._named(field.default) for field in fields if field.default is not MISSING}

    def _read_tags(self, cls: type) -> None:
        self._line("cursor, tags = Cursor(data, at), {}")
        self._line(f"{self._named(self._tags_of(cls, self._version))}(cursor, tags)")
        self._line("at = cursor.position")
        with self._block("if cursor.notes:"):
            self._line("raise Declined")

    def _value(self, shape: Shape) -> str:
        """Write how a value is read, and return the variable that has it."""
        name = self._variable()
        if shape.element is not None:
            self._sized(shape, name, Primitive.INT32, lambda size: self._elements(shape.element, name, size))
        elif shape.part is not None:
            self._part(shape, name)
        elif shape.primitive is Primitive.BYTES:
            self._sized(shape, name, Primitive.INT32, lambda size: self._slice(name, size, ""))
        elif shape.primitive is Primitive.STRING:
            self._sized(shape, name, Primitive.INT16, lambda size: self._slice(name, size, ".decode()"))
        else:
            self._fixed(shape.primitive, name)
        return name

    def _fixed(self, primitive: Primitive | None, name: str) -> None:
        assert primitive is not None
        if primitive in LAYOUTS:
            self._line(f"{name} = read_{_LETTERS[primitive]}(data, at)[0]")
            self._line(f"at += {LAYOUTS[primitive].size}")
        elif primitive is Primitive.UUID:
            self._line(f"{name} = uuid(data[at : at + 16])")
            self._line("at += 16")
        else:
            self._line("cursor = Cursor(data, at)")
            self._line(f"{name} = {self._named(FIXED_READERS[primitive])}(cursor)")
            self._line("at = cursor.position")

    def _sized(self, shape: Shape, name: str, length: Primitive, write: Callable[[str], None]) -> None:
        """Write how a length is read, compact or as `length`, and by `write` what it is of; where it is negative, a null."""
        size = self._variable()
        if self._flexible:
            self._line(f"{size} = data[at]")
            self._line("at += 1")
            with self._block(f"if {size} > 127:"):
                self._line(f"{size}, at = varint(data, at - 1)")
            self._line(f"{size} -= 1")
        else:
            self._fixed(length, size)
        with self._block(f"if {size} < 0:"):
            self._line(f"{name} = None" if shape.is_nullable else "raise Declined")
        with self._block(f"elif {size} > end - at:"):
            self._line("raise Declined")
        with self._block("else:"):
            write(size)

    def _slice(self, name: str, size: str, decoded: str) -> None:
        if decoded and self._flexible:
            with self._block(f"if {size} > {LONGEST_STRING}:"):
                self._line("raise Declined")
        self._line(f"{name} = data[at : at + {size}]{decoded}")
        self._line(f"at += {size}")

    def _elements(self, element: Shape | None, name: str, count: str) -> None:
        assert element is not None
        if element.primitive in LAYOUTS:
            self._line(f'{name} = unpack(f">{{{count}}}{_LETTERS[element.primitive]}", data, at)')
            self._line(f"at += {LAYOUTS[element.primitive].size} * {count}")
            return
        found = self._variable()
        self._line(f"{found} = []")
        with self._block(f"for _ in range({count}):"):
            self._line(f"{found}.append({self._value(element)})")
        self._line(f"{name} = tuple({found})")

    def _part(self, shape: Shape, name: str) -> None:
        assert shape.part is not None
        if not shape.is_nullable:
            self.part(shape.part, name)
            return
        self._line("at += 1")
        with self._block("if read_b(data, at - 1)[0] < 0:"):
            self._line(f"{name} = None")
        with self._block("else:"):
            self.part(shape.part, name)

    def _variable(self) -> str:
        self._variables += 1
        return f"v{self._variables}"

    def _named(self, value: object) -> str:
        """Return the name by which the code knows an object."""
        name = f"known_{len(self._names)}"
        self._names[name] = value
        return name

    def _line(self, text: str) -> None:
        self._lines.append(" " * self._depth + text)

    @contextmanager
    def _block(self, head: str) -> Iterator[None]:
        self._line(head)
        self._depth += 1
        yield
        self._depth -= 1

"""The messages of Kafka's exceptions for bytes that do not decode, in the words of each release.

Up to 2.7 the tools read with hand-written schemas (org.apache.kafka.common.protocol.types), from 2.8 on with generated classes,
whose checks of sizes came with a patch (CVE-2022-34917). Unpatched ones allocate for a size beyond the bytes, and read on until
something fails: here that is an underflow. Knows nothing about records.
"""

from typing import Final

from offsets_tool.dialects.versions import ByRelease, newest
from offsets_tool.errors import DecodeError
from offsets_tool.wire.json import Release
from offsets_tool.wire.schema import Primitive, Shape, schema_of

UNDERFLOW: Final = "null"
"""What a BufferUnderflowException says: it has no message."""

_UNDERFLOW_CLASS: Final = "java.nio.BufferUnderflowException"
_SCHEMA_REFUSES_SIZES: Final = (0, 10)
_CHECKS_SIZES: Final[ByRelease[bool]] = (
    ((0, 8), False),
    ((2, 8, 2), True),
    ((3, 0), False),
    ((3, 0, 2), True),
    ((3, 1), False),
    ((3, 1, 2), True),
    ((3, 2), False),
    ((3, 2, 2), True),
)
_SIZE_CHECKS: Final = ("Error reading byte array", "Tried to allocate")


def generated_words(error: DecodeError, release: Release) -> str:
    """Return the message of an error in a generated class of the release; UNDERFLOW for an error without a message."""
    if error.kafka.startswith(_SIZE_CHECKS) and not newest(_CHECKS_SIZES, release):
        return UNDERFLOW
    return error.kafka


def trace_head(message: str) -> str:
    """Return a message as a stack trace begins with it: the exception's class where there is no message."""
    return _UNDERFLOW_CLASS if message == UNDERFLOW else message


def schema_words(
    error: DecodeError, cls: type, data: bytes, release: Release, renamed: dict[str, str] | None = None
) -> str:
    """Return the message of an error in a hand-written schema of the release; `renamed` are fields that had another name then."""
    names = [part.partition("[")[0] for part in error.path.split(".")]
    chain = "".join(f"Error reading field '{(renamed or {}).get(name, name)}': " for name in names)
    return chain + _leaf(error, _shape_at(cls, error.path), data, release)


def _shape_at(cls: type, path: str) -> Shape:
    shape = Shape(part=cls)
    for part in path.split("."):
        assert shape.part is not None
        name, index, _ = part.partition("[")
        shape = next(field.shape for field in schema_of(shape.part).fields if field.name == name)
        if index and shape.element is not None:
            shape = shape.element
    return shape


def _leaf(error: DecodeError, shape: Shape, data: bytes, release: Release) -> str:
    if error.kafka == UNDERFLOW:
        return _UNDERFLOW_CLASS
    width = 2 if shape.primitive is Primitive.STRING else 4
    size = int.from_bytes(data[error.position - width : error.position], "big", signed=True)
    return _refused_size(shape, size, len(data) - error.position, release)


def _refused_size(shape: Shape, size: int, left: int, release: Release) -> str:
    kind = "array" if shape.element is not None else str(shape.primitive)
    if release < _SCHEMA_REFUSES_SIZES and (size < 0 or kind != "array"):
        return _EARLY[kind, size < 0]
    word, measure = ("string", "length") if kind == "string" else (kind, "size")
    if size < 0:
        return f"{word.capitalize()} {measure} {size} cannot be negative"
    return f"Error reading {word} of {measure} {size}, only {left} bytes available"


# What Java itself throws for (kind, negative size), where the schema did not look first.
_EARLY: Final = {
    ("string", True): "java.lang.NegativeArraySizeException",
    ("string", False): _UNDERFLOW_CLASS,
    ("bytes", True): "java.lang.IllegalArgumentException",
    ("bytes", False): "java.lang.IllegalArgumentException",
    ("array", True): "java.lang.NegativeArraySizeException",
}

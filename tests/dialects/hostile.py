"""Records for differential tests: messages made from the declarations, then cut, lengthened, flipped, mislabelled, or garbage.

Reproducible from a seed. Values lean to the edges: huge and negative numbers, odd characters, invalid UTF-8, groups with many
members (their order in Scala's maps is part of the output), the same member twice, blobs that do not parse.
"""

import struct
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final
from uuid import UUID

from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.classic import GroupMetadataValue, MemberMetadata
from offsets_tool.records.embedded import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from offsets_tool.wire import walk
from offsets_tool.wire.schema import Primitive, Shape, schema_of

Record = tuple[bytes | None, bytes | None]

_WIDTHS: Final = {Primitive.INT8: 8, Primitive.INT16: 16, Primitive.INT32: 32, Primitive.INT64: 64}
_TEXTS: Final = (
    "",
    "orders",
    "a,b]::[c",
    "line\nbreak\ttab",
    "<DELETE>",
    'quote"back\\slash/',
    "\x00\x01\x1f\x7f\x80\x9f",
    "pagamenti-è",
    "中文\u2028\u2029",
    "\U0001f600\U00010348",
    "\ufffd\uffff",
    "bad\udcff\udcc3",
    "\udced\udca0\udc80",
    "x" * 127,
    "x" * 300,
)
_BLOBS: Final = (
    b"",
    b"\x00",
    b"\x00\x00",
    b"\x00\x00\x00\x00",
    b"\xff\xff\xff\xff\xff\xff",
    bytes(range(256)),
)


class Hostile:
    """A stream of records from one seed."""

    def __init__(self, seed: int, types: tuple[int, ...] = tuple(RECORD_TYPES)) -> None:
        self._random = Random(seed)
        self._types = types

    def records(self, count: int) -> list[Record]:
        return [self._damaged(self._record()) for _ in range(count)]

    # ---- whole records

    def _record(self) -> Record:
        random = self._random
        if random.random() < 0.03:
            return random.randbytes(random.randrange(12)), random.randbytes(random.randrange(40))
        type_id = random.choice(self._types)
        record_type = RECORD_TYPES[type_id]
        key = struct.pack(">h", type_id) + walk.encode(self.message(record_type.key, 0), 0)
        if random.random() < 0.1:
            return key, None
        layout = random.choice(record_type.layouts).value
        version = random.randint(0, schema_of(layout).versions.high)
        make = self._group if layout is GroupMetadataValue else self.message
        value = make(layout, version)
        return key, struct.pack(">h", version) + walk.encode(value, version)

    def message(self, cls: type, version: int) -> Any:
        """Return a message of a declaration, with all its fields filled by chance."""
        fields = {
            spec.name: self._value(spec.shape, version)
            for spec in schema_of(cls).fields
            if version in spec.versions and (spec.tag is None or self._random.random() < 0.5)
        }
        tags = (
            ((77, self._random.randbytes(3)),)
            if version in schema_of(cls).flexible and self._random.random() < 0.2
            else ()
        )
        return cls(**fields, unknown_tags=tags)

    def _value(self, shape: Shape, version: int) -> Any:
        random = self._random
        if shape.is_nullable and random.random() < 0.3:
            return None
        if shape.element is not None:
            return tuple(self._value(shape.element, version) for _ in range(random.choice((0, 1, 1, 2, 3))))
        if shape.part is not None:
            return self.message(shape.part, version)
        assert shape.primitive is not None
        return self._primitives[shape.primitive](self)

    def _integer(self, bits: int) -> int:
        random = self._random
        edge = 1 << (bits - 1)
        return random.choice(
            (0, 1, 7, -1, edge - 1, -edge, random.randrange(-edge, edge), random.randrange(100))
        )

    def _text(self) -> str:
        random = self._random
        return random.choice(_TEXTS) if random.random() < 0.5 else f"name-{random.randrange(1 << 20):x}"

    def _java_text(self) -> str:
        return self._text().encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def _blob(self) -> bytes:
        return self._random.choice(_BLOBS)

    def _uuid(self) -> UUID:
        return UUID(int=self._random.getrandbits(128) if self._random.random() < 0.8 else 0)

    _primitives: Final[dict[Primitive, Callable[["Hostile"], Any]]] = {
        Primitive.INT8: lambda self: self._integer(8),
        Primitive.INT16: lambda self: self._integer(16),
        Primitive.UINT16: lambda self: self._random.randrange(1 << 16),
        Primitive.INT32: lambda self: self._integer(32),
        Primitive.INT64: lambda self: self._integer(64),
        Primitive.STRING: lambda self: self._text(),
        Primitive.BYTES: lambda self: self._blob(),
        Primitive.UUID: lambda self: self._uuid(),
        Primitive.JAVA_UTF: lambda self: self._java_text(),
        Primitive.JAVA_CHARS: lambda self: self._java_text(),
    }

    # ---- classic groups

    def _group(self, cls: type, version: int) -> Any:
        random = self._random
        group = self.message(cls, version)
        protocol_type = random.choice(("consumer", "consumer", "connect", "", "sr"))
        protocol = random.choice(("range", None)) if random.random() < 0.5 else "sticky"
        members = tuple(self._member(version) for _ in range(random.choice((0, 1, 2, 5, 11, 12, 13, 30))))
        if members and random.random() < 0.1:
            members += (random.choice(members),) * random.choice((1, 2))
        return cls(
            protocol_type=protocol_type,
            generation=group.generation,
            protocol=protocol,
            leader=group.leader,
            current_state_timestamp=group.current_state_timestamp,
            members=members,
        )

    def _member(self, version: int) -> MemberMetadata:
        random = self._random
        member = self.message(MemberMetadata, version)
        return MemberMetadata(
            member_id=f"consumer-{random.getrandbits(64):x}" if random.random() < 0.9 else self._text(),
            group_instance_id=f"instance-{random.randrange(1 << 30)}"
            if version >= 3 and random.random() < 0.4
            else None,
            client_id=member.client_id,
            client_host="/127.0.0.1",
            rebalance_timeout=member.rebalance_timeout,
            session_timeout=member.session_timeout,
            subscription=self._protocol_blob(ConsumerProtocolSubscription),
            assignment=self._protocol_blob(ConsumerProtocolAssignment),
        )

    def _protocol_blob(self, cls: type) -> bytes:
        random = self._random
        if random.random() < 0.02:
            return self._blob()
        version = random.choice((0, 0, 1, 1, 2, 3, 3))
        message = walk.encode(self.message(cls, version), version)
        shown = version if random.random() < 0.97 else random.choice((4, 99, -1))
        return struct.pack(">h", shown) + message + (b"\x05" if random.random() < 0.05 else b"")

    # ---- damage

    def _damaged(self, record: Record) -> Record:
        random = self._random
        key, value = record
        chance = random.random()
        if chance < 0.5:
            return record
        if chance < 0.6 or value is None:
            return (None if random.random() < 0.1 else self._damage(key), value)
        return key, self._damage(value)

    def _damage(self, data: bytes | None) -> bytes | None:
        return None if data is None else self._random.choice(_DAMAGES)(data, self._random)


def _cut(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _flip(data: bytes, random: Random) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]


def _fill(data: bytes, random: Random) -> bytes:
    """Return data with some bytes set to ones or zeros, so that lengths become null, zero or enormous."""
    at, size = random.randrange(len(data) + 1), random.choice((1, 2, 4))
    return data[:at] + random.choice((b"\xff", b"\x00", b"\x7f")) * size + data[at + size :]


def _longer(data: bytes, random: Random) -> bytes:
    return data + random.randbytes(random.randrange(1, 5))


def _relabelled(data: bytes, random: Random) -> bytes:
    """Return data with another record type or value version at its beginning."""
    return struct.pack(">h", random.choice((*range(-2, 26), 32767, -32768))) + data[2:]


_DAMAGES: Final = (_cut, _flip, _flip, _fill, _longer, _relabelled)


def batches(records: list[Record], size: int) -> Iterator[list[Record]]:
    """Yield the records in lists of `size`."""
    for start in range(0, len(records), size):
        yield records[start : start + size]

"""A cursor over bytes: each method reads one primitive at the present position and advances it. No other code counts bytes.

Every refusal is a DecodeError at the byte where it happened, with Kafka's own words beside ours (ByteBufferAccessor, ByteUtils).
"""

import struct
from functools import lru_cache
from uuid import UUID

from offsets_tool.errors import DecodeError

_INT16 = struct.Struct(">h")
_UINT16 = struct.Struct(">H")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")


@lru_cache(1 << 14)
def uuid_of(data: bytes) -> UUID:
    """Return the uuid of 16 bytes; ValueError for more or fewer. Those of topics repeat, and to make one takes long."""
    return UUID(bytes=data)


class Cursor:
    """A position in `data`. `notes` collects what is odd but does not stop Kafka from reading."""

    __slots__ = ("data", "end", "notes", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.position = position
        self.end = len(data)
        self.notes: list[str] = []

    def remaining(self) -> int:
        """Return how many bytes are left."""
        return self.end - self.position

    def _fixed(self, layout: struct.Struct) -> int:
        try:
            (value,) = layout.unpack_from(self.data, self.position)
        except struct.error:
            left = self.remaining()
            reason = f"{layout.size} byte(s) wanted, only {left} left"
            # A BufferUnderflowException has no message: Kafka's tools print "null".
            raise DecodeError(reason, self.position, kafka="null") from None
        self.position += layout.size
        return value  # type: ignore[no-any-return]

    def int8(self) -> int:
        """Read a signed byte; DecodeError where none is left."""
        value = self.uint8()
        return value - 256 if value > 127 else value

    def uint8(self) -> int:
        """Read an unsigned byte; DecodeError where none is left."""
        if self.position >= self.end:
            raise DecodeError("1 byte wanted, only 0 left", self.position, kafka="null")
        value = self.data[self.position]
        self.position += 1
        return value

    def int16(self) -> int:
        """Read a signed big-endian integer of 2 bytes; DecodeError where they are not there."""
        return self._fixed(_INT16)

    def uint16(self) -> int:
        """Read an unsigned big-endian integer of 2 bytes; DecodeError where they are not there."""
        return self._fixed(_UINT16)

    def int32(self) -> int:
        """Read a signed big-endian integer of 4 bytes; DecodeError where they are not there."""
        return self._fixed(_INT32)

    def int64(self) -> int:
        """Read a signed big-endian integer of 8 bytes; DecodeError where they are not there."""
        return self._fixed(_INT64)

    def uuid(self) -> UUID:
        """Read a uuid of 16 bytes; DecodeError where they are not there."""
        start = self.position
        if self.remaining() < 16:
            raise DecodeError(f"16 byte(s) wanted, only {self.remaining()} left", start, kafka="null")
        self.position = start + 16
        return uuid_of(self.data[start : start + 16])

    def raw(self, size: int) -> bytes:
        """Read `size` bytes; DecodeError in the words of Kafka's ByteBufferAccessor.readArray where they are not there."""
        if size < 0:
            raise DecodeError(f"negative size {size}", self.position, kafka=str(size))
        if size > self.remaining():
            raise DecodeError(
                f"Error reading byte array of {size} byte(s): only {self.remaining()} byte(s) available",
                self.position,
            )
        start = self.position
        self.position = start + size
        return self.data[start : self.position]

    def unsigned_varint(self) -> int:
        """Read an unsigned variable-length integer as Kafka's ByteUtils does: into a Java int, so that five bytes can make it
        negative.
        """
        value, shift = 0, 0
        start = self.position
        while True:
            byte = self.uint8()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 28:
                raise self._varint_too_long(start, value)
        value &= 0xFFFFFFFF
        return value - 0x100000000 if value > 0x7FFFFFFF else value

    def _varint_too_long(self, start: int, value: int) -> DecodeError:
        converted = value & 0xFFFFFFFF
        return DecodeError(
            "Varint is too long, the most significant bit in the 5th byte is set, "
            f"converted value: {converted:x}",
            start,
        )

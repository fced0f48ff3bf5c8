"""The texts that a dialect prints of keys: it prints each distinct key once.

It prints a record that is always equal but for the key. Where the output for two keys of one size differs, from the first to the
last difference, is the key's text. Keys that do not decode cleanly have no text here.
"""

import struct
from collections.abc import Callable
from functools import cached_property
from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.columns.text.fields import TYPES_AT, KeyClass
from offsets_tool.columns.text.key_kernel import LEFT, KeyKernelInput, write_keys
from offsets_tool.columns.text.plain_keys import PlainKeys
from offsets_tool.columns.text.samples import key_json
from offsets_tool.dialects.output import Output
from offsets_tool.errors import DecodeError
from offsets_tool.events import decode_key
from offsets_tool.records.kinds import COMMITS
from offsets_tool.rows import Batch, Codec, LogRecord, TimestampType

PrintRecord = Callable[[LogRecord], Output]

_MARKER_KEYS: Final = (b"\0\0\0\0", b"\0\0\0\1")
_OVERHEAD: Final = 10
"""Bytes of a commit's key beside the names: type, two lengths, partition."""
_SHORTEST: Final = _OVERHEAD + 2
"""A key whose names have a character each; shorter ones have no text here."""
_TOPIC: Final = 3
_FIRST_ROOM: Final = 1 << 12
_SPARE: Final = 8
"""Compiled code reads texts eight bytes at a time."""

_BATCH: Final = Batch(
    position=0,
    size=100,
    magic=2,
    codec=Codec.NONE,
    crc=0,
    crc_valid=True,
    base_offset=0,
    last_offset=0,
    timestamp_type=TimestampType.CREATE_TIME,
    base_timestamp=0,
    max_timestamp=0,
    count=1,
)
_VALUE: Final = struct.pack(">hqhq", 0, 0, 0, 0)
"""An offset commit of version 0: every release reads it under both types of key."""


class KeyTexts:
    """Texts of keys, as one printer prints them."""

    def __init__(self, show: PrintRecord) -> None:
        self._show = show
        self._frames: dict[tuple[int, int], tuple[bytes, bytes] | None] = {}

    def text(self, key: bytes) -> bytes | None:
        """Return what is printed of the key of an offset commit, or another key's JSON; None if the key does not decode cleanly."""
        record_type = _clean_type(key)
        if record_type is None or record_type not in COMMITS:
            return None if record_type is None else key_json(key)
        frame = self._frame(key[1], len(key))
        line = self._line(key)
        if frame is None or line is None:
            return None
        begin, end = frame
        if len(line) < len(begin) + len(end) or not (line.startswith(begin) and line.endswith(end)):
            return None
        return line[len(begin) : len(line) - len(end)]

    @cached_property
    def plain_keys(self) -> PlainKeys:
        """The programs by which compiled code writes the texts of plain keys (key_kernel.py says which those are)."""
        return PlainKeys(self.text)

    def _frame(self, type_id: int, size: int) -> tuple[bytes, bytes] | None:
        """Return what is printed before and after the text of keys of a type and size."""
        place = type_id, size
        if place not in self._frames:
            self._frames[place] = self._compared(type_id, size)
        return self._frames[place]

    def _compared(self, type_id: int, size: int) -> tuple[bytes, bytes] | None:
        if size < _SHORTEST:
            return None
        one, other = (self._line(_probe_key(type_id, size, names)) for names in (b"qv", b"jx"))
        if one is None or other is None:
            return None
        if one == other:
            return one, b""
        begin = next(at for at in range(len(one)) if one[at] != other[at])
        end = next(at for at in range(len(one)) if one[-1 - at] != other[-1 - at])
        return one[:begin], one[len(one) - end :]

    def _line(self, key: bytes) -> bytes | None:
        record = LogRecord(
            source="",
            log_partition=0,
            log_offset=0,
            timestamp=0,
            key=key,
            value=_VALUE,
            timestamp_type=TimestampType.CREATE_TIME,
            producer_id=-1,
            producer_epoch=-1,
            sequence=-1,
            is_transactional=False,
            batch=_BATCH,
        )
        printed = self._show(record)
        return None if printed.error is not None else printed.text


def probe_keys(type_id: int) -> tuple[bytes, bytes]:
    """Return two keys of an offset commit, of record type `type_id`, that differ in every field and in size."""
    return _probe_key(type_id, 41, b"wk"), _probe_key(type_id, 67, b"mg")


def _probe_key(type_id: int, size: int, names: bytes) -> bytes:
    """Return a commit's key of `size` bytes: two letters repeated as names, and a partition whose digits are of its own."""
    topic = names[1:] * min(_TOPIC, size - _OVERHEAD - 1)
    group = names[:1] * (size - _OVERHEAD - len(topic))
    partition = 111_111 * (names[0] % 9 + 1)
    return (
        struct.pack(">hh", type_id, len(group))
        + group
        + struct.pack(">h", len(topic))
        + topic
        + struct.pack(">i", partition)
    )


def _clean_type(key: bytes) -> int | None:
    """Return the record type of a key; None unless it decodes without a problem."""
    try:
        decoded = decode_key(key)
    except DecodeError:
        return None
    return None if decoded.notes or decoded.trailing else decoded.type.id


class KeyTable:
    """Classes, sizes and texts of interned keys, by number, for compiled code."""

    def __init__(
        self, interned: InternedKeys, texts: KeyTexts, about: Callable[[LogRecord], bool] | None
    ) -> None:
        self._interned = interned
        self._texts = texts
        self._about = about
        self._known = 0
        self.classes: Array = np.full(_FIRST_ROOM, KeyClass.OTHER, np.int64)
        self.sizes: Array = np.zeros(_FIRST_ROOM, np.int64)
        self.wanted: Array = np.ones(_FIRST_ROOM, bool)
        self.text_starts: Array = np.zeros(_FIRST_ROOM, np.int64)
        self.text_sizes: Array = np.zeros(_FIRST_ROOM, np.int64)
        self.arena: Array = np.zeros(1 << 18, np.uint8)
        self._used = 0

    def belongs_to(self, interned: InternedKeys) -> bool:
        """Return whether this is the table of these keys."""
        return self._interned is interned

    def update(self) -> None:
        """Add the keys that are new."""
        first, count = self._known, len(self._interned)
        if count == first:
            return
        while count > len(self.classes):
            self._enlarge()
        self._write_plain(first, count)
        for number in np.flatnonzero(self.classes[first:count] == LEFT).tolist():
            self._add(first + number, self._interned.key(first + number))
        if self._about is not None:
            for number in range(first, count):
                key = self._interned.key(number)
                self.wanted[number] = self._about(_keyed(key, is_control=key in _MARKER_KEYS))
        self._known = count

    def _write_plain(self, number: int, last: int) -> None:
        while number < last:
            inputs = np.zeros(len(KeyKernelInput), np.int64)
            inputs[KeyKernelInput.INTERNED] = self._interned.address
            inputs[KeyKernelInput.PROGRAMS] = address(self._texts.plain_keys.programs)
            inputs[KeyKernelInput.CLASSES] = address(self.classes)
            inputs[KeyKernelInput.SIZES] = address(self.sizes)
            inputs[KeyKernelInput.STARTS] = address(self.text_starts)
            inputs[KeyKernelInput.TEXT_SIZES] = address(self.text_sizes)
            inputs[KeyKernelInput.OUT] = address(self.arena)
            inputs[KeyKernelInput.ROOM] = len(self.arena) - _SPARE
            number, self._used = write_keys(address(inputs), number, last, self._used)
            if number < last:
                self._make_room(len(self._interned.key(number)))

    def _make_room(self, size: int) -> None:
        self.arena = np.concatenate((self.arena, np.zeros(len(self.arena) + 16 * size, np.uint8)))

    def _add(self, number: int, key: bytes) -> None:
        """Add a key that is not plain: its text comes from the printer."""
        text = None if key in _MARKER_KEYS else self._texts.text(key)
        if text is None:
            self.classes[number] = KeyClass.MARKER if key in _MARKER_KEYS else KeyClass.OTHER
            return
        self.classes[number] = key[1] if key[1] in COMMITS else key[1] + TYPES_AT
        self.text_starts[number], self.text_sizes[number] = self._used, len(text)
        self._used += len(text)
        while self._used + _SPARE > len(self.arena):
            self._make_room(len(text))
        self.arena[self._used - len(text) : self._used] = np.frombuffer(text, np.uint8)

    def _enlarge(self) -> None:
        more = len(self.classes)
        self.classes = np.concatenate((self.classes, np.full(more, KeyClass.OTHER, np.int64)))
        self.wanted = np.concatenate((self.wanted, np.ones(more, bool)))
        self.sizes, self.text_starts, self.text_sizes = (
            np.concatenate((column, np.zeros(more, np.int64)))
            for column in (self.sizes, self.text_starts, self.text_sizes)
        )


def _keyed(key: bytes, *, is_control: bool) -> LogRecord:
    """Return a record of which only the key is known, and whether it is a control record."""
    return LogRecord(
        source="", log_partition=None, log_offset=-1, timestamp=-1, key=key, value=None, is_control=is_control
    )

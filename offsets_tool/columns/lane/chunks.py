"""One file's bytes through the lane: chunks of rows where it reads, and the reference reader's answers where it declines.

What comes out is what the reference reader gives for the same bytes, in the same order. A chunk's tables are filled again for the
next one, so a chunk is used up before the next is asked for.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.jit.machine import address
from offsets_tool.columns.lane.headers import read_headers
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.columns.lane.layout import (
    CAPACITY,
    CHUNK_BYTES,
    LONGEST_BATCH,
    AttributeBit,
    BatchField,
    RecordField,
    has_any,
    new_table,
)
from offsets_tool.columns.lane.records import TABLES_FULL, read_records
from offsets_tool.errors import DecodeError
from offsets_tool.log.batches.batch import read_content
from offsets_tool.log.batches.compression import inflate
from offsets_tool.log.batches.header import CODECS, LOG_OVERHEAD, MAGIC_AT, SHORTEST_HEADER
from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.log.batches.misplaced import NONE_MISPLACED, SegmentBounds
from offsets_tool.log.batches.walk import Walker
from offsets_tool.log.holes import Fetch, all_there
from offsets_tool.log.segment import SegmentReading
from offsets_tool.rows import Batch, BatchRead, Unreadable

_AHEAD: Final = CHUNK_BYTES + (1 << 20)
"""Bytes that are fetched at once: no chunk goes further, but for batches larger than brokers write."""

_KEYS_KEPT: Final = (1 << 20) - CAPACITY
"""Distinct keys after which the tables begin anew: what keeps memory flat when every key is new."""

_KEY_BYTES_KEPT: Final = 64 << 20
"""The bytes of distinct keys after which the tables begin anew, where keys are long."""

_TOPIC_IDS_KEPT: Final = 1 << 16
"""Distinct topic ids after which the tables begin anew, as topic ids are looked for one by one."""


class Chunk(NamedTuple):
    """Batches and their records, by BatchField and RecordField, with the bytes in which the records' values are."""

    batches: Array
    records: Array
    data: Array
    interned: InternedKeys

    @property
    def start(self) -> int:
        """The byte of the file at which the first batch begins."""
        return int(self.batches[BatchField.POSITION, 0])

    @property
    def end(self) -> int:
        """The byte of the file at which the last batch ends."""
        return int(self.batches[BatchField.POSITION, -1] + self.batches[BatchField.SIZE, -1])


ChunkOrReference = Chunk | BatchRead | Unreadable


class Lane:
    """Reads one buffer. Lanes that are read one after another may share `interned`: keys repeat across files."""

    def __init__(
        self,
        data: memoryview,
        source: str,
        log_partition: int | None,
        interned: InternedKeys | None = None,
        limits: Limits = LIMITS,
        *,
        verify: bool = True,
        fetch: Fetch = all_there,
    ) -> None:
        """Prepare to read a segment's bytes; `fetch` is called for a range before it is read, for bytes that are not in memory yet.

        `verify=False` also reads the records of batches with a wrong checksum; the reference reader reads those.
        """
        self._view = data
        self._data: Array = np.frombuffer(data, np.uint8) if len(data) else np.empty(0, np.uint8)
        self._source = source
        self._log_partition = log_partition
        self._limits = limits
        self._verify = verify
        self._fetch = fetch
        self._walker = Walker(data, source, verify=verify, fetch=fetch)
        self._batches = new_table(BatchField)
        self._records = new_table(RecordField)
        self.interned = interned or InternedKeys()
        self.verdict = NONE_MISPLACED
        """Which batches cannot stand where they say: these are the reference's."""

    @classmethod
    def of(cls, reading: SegmentReading, interned: InternedKeys | None, *, verify: bool = True) -> "Lane":
        """Return a lane over a segment's bytes, which knows what is misplaced in it."""
        segment = reading.segment
        lane = cls(
            reading.data,
            segment.source,
            segment.log_partition,
            interned,
            reading.limits,
            verify=verify,
            fetch=reading.fetch,
        )
        lane.verdict = reading.verdict(lane.are_in_order)
        return lane

    def are_in_order(self, bounds: SegmentBounds) -> bool:
        """Return whether no batch of the file is misplaced; False too where only the reference reader can tell."""
        reached, position, size = (bounds.begin or 0) - 1, 0, len(self._view)
        while position < size:
            there = self._fetched(position)
            count = self._headers(there, position, there)
            if not count:
                items = list(self._references(position, size))
                # Wrappers of magic 0 and 1 keep their first offset inside.
                if any(isinstance(item, Batch) and item.crc_valid for item in items):
                    return False
                position = items[-1].position + items[-1].size
                continue
            batches = self._batches[:, :count]
            first, last = batches[BatchField.BASE_OFFSET], batches[BatchField.LAST_OFFSET]
            if first[0] <= reached or (first[1:] <= last[:-1]).any():
                return False
            reached, position = int(last[-1]), self._end_of(count)
        return reached < bounds.end

    def _headers(self, there: int, position: int, end: int) -> int:
        """Read headers from `position` to `end`, of the bytes that are in memory up to `there`; return how many."""
        return read_headers(address(self._data), there, position, end, address(self._batches))

    def _end_of(self, count: int) -> int:
        """Return the byte of the file at which the last of `count` batches ends."""
        return int(self._batches[BatchField.POSITION, count - 1] + self._batches[BatchField.SIZE, count - 1])

    def read(self, start: int = 0, end: int | None = None) -> Iterator[ChunkOrReference]:
        """Yield the batches that begin from `start`, where one begins, to `end`; by default all."""
        position, end = start, len(self._view) if end is None else end
        while position < end:
            if self._know_too_much():
                self.interned = InternedKeys()
            there = self._fetched(position)
            sound = self.verdict.next_from(position, min(end, there))
            count = self._headers(there, position, sound)
            if count:
                position = self._end_of(count)
                yield from self._chunks(count)
            else:
                for item in self._references(position, end):
                    yield self._by_reference(item)
                    position = item.position + item.size

    def _references(self, position: int, end: int) -> Iterator[Batch | Unreadable]:
        """Yield what the reference reader finds from `position` on, up to a batch that the lane may read."""
        for item in self._walker.walk(position):
            if item.position >= end:
                return
            yield item
            if self._may_be_ours(item.position + item.size):
                return

    def _fetched(self, position: int) -> int:
        """Fetch the next batches, at least one, and return up to where the bytes from `position` on are in memory."""
        holes = self._fetch(position, position + LOG_OVERHEAD)
        claimed = int.from_bytes(self._view[position + 8 : position + LOG_OVERHEAD], "big") + LOG_OVERHEAD
        reach = max(_AHEAD, claimed if claimed <= LONGEST_BATCH else 0)
        there = min(position + reach, len(self._view))
        holes = holes or self._fetch(position, there)
        return holes[0].start if holes else there

    def _know_too_much(self) -> bool:
        known = self.interned
        return (
            len(known) > _KEYS_KEPT
            or known.key_bytes > _KEY_BYTES_KEPT
            or known.topic_id_count > _TOPIC_IDS_KEPT
        )

    def _may_be_ours(self, position: int) -> bool:
        self._fetch(position, position + SHORTEST_HEADER)
        return position + MAGIC_AT < len(self._view) and self._view[position + MAGIC_AT] == 2

    def _by_reference(self, item: Batch | Unreadable) -> BatchRead | Unreadable:
        if isinstance(item, Unreadable):
            return item
        return read_content(
            self._view,
            item,
            self._source,
            self._log_partition,
            verify=self._verify,
            limits=self._limits,
            misplacement=self.verdict.get(item.position),
        )

    def _chunks(self, count: int) -> Iterator[ChunkOrReference]:
        """Yield the first `count` batches; those of a chunk are all compressed, or all not."""
        compressed = has_any(self._batches[BatchField.ATTRIBUTES, :count], AttributeBit.CODEC)
        first = 0
        for end in (*(np.flatnonzero(compressed[1:] != compressed[:-1]) + 1).tolist(), count):
            while first < end:
                data, last = self._inflated(first, end) if compressed[first] else (self._data, end)
                yield from self._read_rows(data, first, last)
                first = last

    def _inflated(self, first: int, count: int) -> tuple[Array, int]:
        """Return the joined content of as many batches from `first` on as may be held at once, and the number of the batch after
        them.
        """
        parts: list[bytes] = []
        held, number = 0, first
        while number < count and held < CHUNK_BYTES:
            content = self._content(number)
            self._batches[BatchField.BODY_START, number] = held
            held += len(content)
            self._batches[BatchField.BODY_END, number] = held
            parts.append(content)
            number += 1
        # One alone may be long, and need not be copied.
        return np.frombuffer((parts[0] if len(parts) == 1 else b"".join(parts)) or b"\0", np.uint8), number

    def _content(self, number: int) -> bytes:
        """Return a batch's decompressed records. Where only the reference can read them, return none and mark the batch so."""
        start, end = (
            int(self._batches[field, number]) for field in (BatchField.BODY_START, BatchField.BODY_END)
        )
        if start == end:
            return b""
        size = int(self._batches[BatchField.SIZE, number])
        codec = CODECS[int(self._batches[BatchField.ATTRIBUTES, number]) & AttributeBit.CODEC]
        try:
            content = inflate(codec, self._view[start:end], self._limits.content(size))
        except DecodeError:
            content = b""
        if not content or len(content) > LONGEST_BATCH:
            # An empty batch with content, or one that cannot be inflated: one record more than there is declines it.
            content = b""
            self._batches[BatchField.COUNT, number] = max(1, self._batches[BatchField.COUNT, number])
        return content

    def _read_rows(self, data: Array, first: int, last: int) -> Iterator[ChunkOrReference]:
        """Yield the batches from `first` to `last` as chunks, and as the reference reads them where compiled code declines them."""
        row, start = 0, first
        while first < last:
            number, row, why = read_records(
                address(data),
                address(self._batches),
                first,
                last,
                self.interned.address,
                address(self._records),
                row,
            )
            if why == TABLES_FULL:
                self.interned.grow(
                    int(
                        self._batches[BatchField.BODY_END, number]
                        - self._batches[BatchField.BODY_START, number]
                    )
                )
                first = number
                continue
            if number > start:
                yield self._chunk(data, start, number, row)
            if number < last:
                yield self._declined(number)
                number += 1
            first = start = number
            row = 0

    def _chunk(self, data: Array, start: int, number: int, row: int) -> Chunk:
        records = self._records[:, :row]
        records[RecordField.BATCH] -= start
        return Chunk(self._batches[:, start:number], records, data, self.interned)

    def _declined(self, number: int) -> BatchRead | Unreadable:
        item = next(self._walker.walk(int(self._batches[BatchField.POSITION, number])))
        return self._by_reference(item)

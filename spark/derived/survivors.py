"""Find the records of a log partition that are older than a time and that nothing needs any more, as a cleaner does.

What was written last for a key stays, however old: the coordinator's state at any later moment follows from it. So do commits of
transactions that are still open, and the marker that makes a commit count. Knows no tables.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from offsets_tool.errors import DecodeError
from offsets_tool.log.batches.control import decode_control

_READ: Final = ("log_offset", "timestamp", "producer_id", "is_transactional", "is_control", "key", "value")
_COMMIT: Final = "COMMIT"


class Survivors:
    """Learns which records of one log partition stay, given the records of each copy in the order of their offsets."""

    def __init__(self, before: int) -> None:
        """Take the time (epoch milliseconds) before which records are old; cleaning ends at the first record that is not."""
        self._before = before
        self._written: dict[bytes, int] = {}
        self._committed: dict[bytes, tuple[int, int]] = {}
        """By key the offset of the last commit in a transaction that counted, and of the marker that made it count."""
        self._marked: dict[bytes, tuple[int, int]] = {}
        """By key the same of the commit that was the last to be made count, which may be an older one."""
        self._pending: dict[int, list[tuple[bytes, int]]] = {}
        self._keyless: set[int] = set()
        self.end = 0
        """The offset below which records were older."""

    def observe(self, rows: pa.RecordBatch) -> bool:
        """Learn from records; return False once one of them is young enough to be kept: nothing behind it is cleaned."""
        for offset, timestamp, producer_id, is_transactional, is_control, key, value in _fields(rows):
            # A record without a time may be of any age.
            if not 0 <= timestamp < self._before:
                self.end = offset
                return False
            self.end = offset + 1
            if is_control:
                self._end_transaction(offset, producer_id, key, value)
            elif key is None:
                self._keyless.add(offset)
            elif is_transactional:
                self._pending.setdefault(producer_id, []).append((key, offset))
            else:
                self._written[key] = offset
        return True

    def _end_transaction(self, offset: int, producer_id: int, key: bytes | None, value: bytes | None) -> None:
        pending = self._pending.pop(producer_id, [])
        for name, at in pending if _kind(key, value) == _COMMIT else ():
            self._committed[name] = max((at, offset), self._committed.get(name, (at, offset)))
            self._marked[name] = at, offset

    def kept(self) -> pa.Array:
        """Return the offsets below `end` of the records that stay, as 64-bit numbers in rising order."""
        found = {*self._keyless, *self._written.values()}
        for committed in (self._committed, self._marked):
            found.update(offset for pair in committed.values() for offset in pair)
        found.update(offset for pending in self._pending.values() for _, offset in pending)
        return pa.array(sorted(found), pa.int64())


def _fields(
    rows: pa.RecordBatch,
) -> Iterator[tuple[int, int, int, bool, bool, bytes | None, bytes | None]]:
    return zip(*(rows.column(name).to_pylist() for name in _READ), strict=True)


def _kind(key: bytes | None, value: bytes | None) -> str | None:
    try:
        return decode_control(key, value).type
    except DecodeError:
        return None

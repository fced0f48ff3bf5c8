"""Rows of `events`, with the raw key and value beside them, as Events again: for what is replayed one at a time.

Decoding is events.decode; a row gives it the bytes and the place in the log. Knows nothing about replay.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.decode import KEYS_KEPT
from offsets_tool.events import Event, decode, decode_key
from offsets_tool.rows import Batch, Codec, LogRecord, TimestampType

PLACE: Final = (
    "log_partition",
    "log_offset",
    "timestamp",
    "base_offset",
    "producer_id",
    "producer_epoch",
    "sequence",
    "is_transactional",
    "is_control",
)
"""Where a record stood, as `events` has it."""
COMMIT: Final = (
    "record_type",
    "group",
    "topic",
    "partition",
    "value_version",
    "committed_offset",
    "leader_epoch",
    "metadata",
    "commit_timestamp",
    "expire_timestamp",
    "topic_id",
)
"""What a commit says, as `events` has it."""
RAW: Final = ("magic", "key", "value")
"""What only `log` has of a record."""
_FACTS: Final = (*PLACE, *RAW)


class RowEvents:
    """Decodes rows; distinct keys once."""

    def __init__(self) -> None:
        self._key_reader = lru_cache(KEYS_KEPT)(decode_key)

    def events(self, rows: pa.RecordBatch, places: Array) -> Iterator[Event]:
        """The events in the rows at these places."""
        taken = pa.array(places)
        columns = (plain(rows.column(name).take(taken)).to_pylist() for name in _FACTS)
        for facts in zip(*columns, strict=True):
            yield decode(log_record(**dict(zip(_FACTS, facts, strict=True))), self._key_reader)


def plain(column: pa.Array) -> pa.Array:
    """The column without a dictionary."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def encoded(column: pa.Array) -> pa.DictionaryArray:
    """The column with a dictionary."""
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def log_record(base_offset: int | None, magic: int | None, sequence: int | None, **facts: Any) -> LogRecord:
    """As far as a row says it, which is all that decoding and replay look at."""
    batch = None
    if base_offset is not None and magic is not None:
        batch = _batch(
            base_offset, magic, -1 if sequence is None else sequence, bool(facts["is_transactional"])
        )
    return LogRecord(source="", sequence=sequence, batch=batch, **facts)


@lru_cache(1)
def _batch(base_offset: int, magic: int, sequence: int, is_transactional: bool) -> Batch:
    """The batch of records next to each other, as far as rows say it: of its sequence only whether there is one."""
    return Batch(
        position=-1,
        size=-1,
        magic=magic,
        codec=Codec.UNKNOWN,
        crc=0,
        crc_valid=True,
        base_offset=base_offset,
        last_offset=-1,
        timestamp_type=TimestampType.NO_TIMESTAMP,
        base_timestamp=-1,
        max_timestamp=-1,
        count=-1,
        base_sequence=sequence,
        is_transactional=is_transactional,
    )

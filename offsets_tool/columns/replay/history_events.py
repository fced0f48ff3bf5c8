"""Rows as Events again, for histories: commits and tombstones that read without a problem from their columns, all else from bytes.

So a reader of tables fetches raw keys and values only of the few records that are something else. Knows nothing about replay.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from offsets_tool.columns.decode import KEYS_KEPT
from offsets_tool.columns.replay.held_commits import uuid_of
from offsets_tool.columns.replay.row_events import COMMIT, PLACE, RAW, log_record, plain
from offsets_tool.events import Event, Key, Value, decode, decode_key
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.offsets import OffsetCommitValue
from offsets_tool.wire.schema import ZERO_UUID
from offsets_tool.wire.text import from_shown

COLUMNS: Final = (*PLACE, *COMMIT, *RAW)
"""What a row must have. A row with a `topic` is a commit or its tombstone, told by columns of `events`; any other has `magic`,
`key` and `value` of `log`."""


class HistoryEvents:
    """Makes events of rows; distinct keys are made once."""

    def __init__(self) -> None:
        self._decoded = lru_cache(KEYS_KEPT)(decode_key)
        self._commit_key = lru_cache(KEYS_KEPT)(_commit_key)

    def events(self, rows: pa.RecordBatch) -> Iterator[Event]:
        """The event in each row."""
        columns = (plain(rows.column(name)).to_pylist() for name in COLUMNS)
        for facts in zip(*columns, strict=True):
            row = dict(zip(COLUMNS, facts, strict=True))
            if row["topic"] is None:
                yield decode(log_record(**{name: row[name] for name in (*PLACE, *RAW)}), self._decoded)
            else:
                yield self._commit(row)

    def _commit(self, row: Mapping[str, Any]) -> Event:
        is_tombstone = row["committed_offset"] is None
        # Only `wrote_new` asks for the format of a batch here, and beside a sequence, which none had before 2: any will do.
        place = {name: row[name] for name in PLACE} | {
            "magic": 2,
            "key": b"",
            "value": None if is_tombstone else b"",
        }
        return Event(
            record=log_record(**place),
            type_id=row["record_type"],
            key=self._commit_key(row["record_type"], row["group"], row["topic"], row["partition"]),
            value_version=row["value_version"],
            value=None if is_tombstone else _commit_value(row),
        )


def _commit_key(type_id: int, group: str, topic: str, partition: int) -> Key:
    of = RECORD_TYPES[type_id]
    return Key(of, of.key(group=from_shown(group), topic=from_shown(topic), partition=partition))


def _commit_value(row: Mapping[str, Any]) -> Value:
    data = OffsetCommitValue(
        offset=row["committed_offset"],
        leader_epoch=row["leader_epoch"],
        metadata=from_shown(row["metadata"]),
        commit_timestamp=row["commit_timestamp"],
        expire_timestamp=row["expire_timestamp"],
        topic_id=uuid_of(row["topic_id"]) or ZERO_UUID,
    )
    return Value(row["value_version"], "", data)

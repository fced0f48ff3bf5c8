"""Finds the values of groups, among rows of a log, that Kafka wrote together with nothing that says more of their groups.

Records of one batch, or of one time next to each other, are one write, whose deletions are told by all that was written with them
(history.end_causes). Knows no state: whether a value only changes its group is seen later.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.decode import KEYS_KEPT
from offsets_tool.columns.replay.columns_of_rows import are_there, flags, numbers, plain
from offsets_tool.columns.replay.compiled.tables import Kind
from offsets_tool.columns.replay.row_events import PLACE, RAW
from offsets_tool.errors import DecodeError
from offsets_tool.events import Key
from offsets_tool.records import RecordType
from offsets_tool.records.kinds import Family
from offsets_tool.replay.coordinator import REPLAYS
from offsets_tool.replay.handling import ValueRules
from offsets_tool.rows import NO_PRODUCER_ID, NO_TIMESTAMP
from offsets_tool.wire.schema import Message


class GroupKey(NamedTuple):
    """A key of a record about a group; `rules` are None for a classic group, whose record is the whole group."""

    type: RecordType
    group: str
    member_id: str
    data: Message
    rules: ValueRules | None


class SoleValue(NamedTuple):
    """A value of a group: its key, its row's columns PLACE and RAW, and its write's first offset."""

    key: GroupKey
    facts: tuple[Any, ...]
    write: int


class GroupKeys:
    """Keys of groups' records by their bytes."""

    def __init__(self, decode_key: Callable[[bytes], Key]) -> None:
        """Start without keys; `decode_key` does as events.decode_key."""
        self._decode = decode_key
        self.of = lru_cache(KEYS_KEPT)(self._of)
        """Return the key of a group's record; None for bytes that are none."""

    def _of(self, key: bytes | None) -> GroupKey | None:
        try:
            decoded = None if key is None else self._decode(key)
        except DecodeError:
            return None
        if decoded is None or decoded.type.family is Family.OFFSETS:
            return None
        type_, data = decoded.type, decoded.data
        if type_.family is Family.CLASSIC:
            return GroupKey(type_, data.group, "", data, None)
        return GroupKey(type_, data.group_id, getattr(data, "member_id", ""), data, REPLAYS[type_.id].value)


def sole_values(
    rows: pa.RecordBatch, kinds: Array, bases: Array, keys: GroupKeys
) -> Iterator[tuple[int, SoleValue]]:
    """Yield the values of groups, with their rows, whose changes no other row of their write has a part in.

    `kinds` are the kinds of the rows, `bases` the first offsets of their batches. The last write may go on behind these rows; what
    came before is known to History. Of a classic group one value tells all of its members: more than one are not alone.
    """
    places = np.flatnonzero(~are_there(rows.column("topic")) & ~flags(rows.column("is_control")))
    if not len(places):
        return
    few = rows.select((*PLACE, *RAW)).take(pa.array(places))
    are_values = are_there(few.column("value")) & ~flags(few.column("is_transactional"))
    are_values &= numbers(few.column("producer_id"), NO_PRODUCER_ID) == NO_PRODUCER_ID
    writes = _writes(rows.column("timestamp").to_numpy(), bases)
    excluded = _with_others(kinds, places, bases) | _is_unclear(writes, rows.column("timestamp").to_numpy())
    found = [keys.of(key) for key in plain(few.column("key")).to_pylist()]
    of_write = writes[places].tolist()
    unread = {write for write, key in zip(of_write, found, strict=True) if key is None}
    parts = _families(of_write, found, are_values.tolist())
    facts = zip(*(plain(few.column(name)).to_pylist() for name in (*PLACE, *RAW)), strict=True)
    all_ = zip(places.tolist(), of_write, found, facts, excluded[places].tolist(), strict=True)
    for row, write, key, each, is_excluded in all_:
        if key is not None and not is_excluded and write not in unread and parts[write, key.group]:
            yield row, SoleValue(key, each, int(bases[row]))


def _writes(times: Array, bases: Array) -> Array:
    """Return the number of each row's write."""
    is_apart = bases[1:] != bases[:-1]
    # Records of one time are one write, whatever their batches.
    is_later = (times[1:] != times[:-1]) | (times[1:] == NO_TIMESTAMP)
    return np.append(0, np.cumsum(is_apart & is_later))


def _with_others(kinds: Array, places: Array, bases: Array) -> Array:
    """Return which rows share their batch with anything but plain commits and records of groups."""
    is_other = kinds != Kind.COMMIT
    is_other[places] = False
    shared: Array = np.isin(bases, bases[is_other])
    return shared


def _is_unclear(writes: Array, times: Array) -> Array:
    """Return which rows are in a write that may go on: the last one, and one whose time comes again later."""
    unclear: Array = writes == writes[-1]
    if (np.diff(times) < 0).any():
        _, which = np.unique(times, return_inverse=True)
        last: Array = np.zeros(which.max() + 1, np.int64)
        np.maximum.at(last, which, writes)
        unclear |= np.isin(writes, writes[last[which] > writes])
    return unclear


def _families(
    writes: list[int], keys: list[GroupKey | None], are_values: list[bool]
) -> dict[tuple[int, str], bool]:
    """Return by write and group whether all of its records there are values of one kind of group; one if it is classic."""
    kinds: dict[tuple[int, str], Family] = {}
    is_sole: dict[tuple[int, str], bool] = {}
    for write, key, is_value in zip(writes, keys, are_values, strict=True):
        if key is None:
            continue
        part, family = (write, key.group), key.type.family
        before = kinds.get(part)
        if before is None:
            kinds[part], is_sole[part] = family, is_value
        elif not is_value or before is not family or family is Family.CLASSIC:
            is_sole[part] = False
    return is_sole

"""Adds the facts of rows that are replayed by column to LogFacts, as its `observe` adds those of events."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import numbers
from offsets_tool.columns.replay.compiled.tables import MARKERS, Kind
from offsets_tool.expiry.log_facts import LogFacts, TypeVersion, VersionRange
from offsets_tool.replay.rules import TOPIC_ID_VERSION
from offsets_tool.rows import NO_TIMESTAMP

_NONE: Final = -1
_BITS: Final = 8
"""How many bits a version takes that reads."""


def observe_rows(facts: LogFacts, rows: pa.RecordBatch, kinds: Array) -> None:
    """Observe the rows that were not replayed alone."""
    times = rows.column("timestamp").to_numpy()
    marked = times[np.isin(kinds, MARKERS)]
    if (marked := marked[marked != NO_TIMESTAMP]).size:
        facts.observe_many({}, {}, int(marked.max()), is_new=False)
    _observe_tombstones(facts, rows, kinds)
    places = np.flatnonzero(np.isin(kinds, (Kind.COMMIT, Kind.PENDING)))
    if not len(places):
        return
    types, versions, committed, expires = (
        numbers(rows.column(name), _NONE)[places]
        for name in ("record_type", "value_version", "commit_timestamp", "expire_timestamp")
    )
    at = np.where(times[places] != NO_TIMESTAMP, times[places], committed)
    seen = _ranges(
        types.astype(np.int64) << _BITS | versions, rows.column("log_offset").to_numpy()[places], at
    )
    is_own = expires != _NONE
    # Wraps as Java's long does, and so does LogFacts.
    lasting = _counts(expires[is_own] - committed[is_own])
    is_new = any(version == TOPIC_ID_VERSION for _, version in seen)
    facts.observe_many(seen, lasting, int(at.max()), is_new=is_new)


def observe_values(
    facts: LogFacts, type_versions: Sequence[TypeVersion], offsets: Array, times: Array, *, is_new: bool
) -> None:
    """Observe values that are no commits, given their type and version, offset and time of each."""
    if not type_versions:
        return
    codes = np.array([type_id << _BITS | (version or 0) for type_id, version in type_versions], np.int64)
    timed = times[times != NO_TIMESTAMP]
    newest = int(timed.max()) if len(timed) else None
    facts.observe_many(_timed(_ranges(codes, offsets, times)), {}, newest, is_new=is_new)


def _observe_tombstones(facts: LogFacts, rows: pa.RecordBatch, kinds: Array) -> None:
    places = np.flatnonzero(kinds == Kind.TOMBSTONE)
    if not len(places):
        return
    types, offsets, at = (
        numbers(rows.column(name), _NONE)[places] for name in ("record_type", "log_offset", "timestamp")
    )
    seen = _timed(_ranges(types.astype(np.int64) << _BITS, offsets, at))
    of_tombstones: dict[TypeVersion, VersionRange] = {
        (type_id, None): where for (type_id, _), where in seen.items()
    }
    facts.observe_many(of_tombstones, {}, _time(int(at.max())), is_new=False)


def _timed(seen: Mapping[TypeVersion, VersionRange]) -> dict[TypeVersion, VersionRange]:
    return {
        type_version: where._replace(first_at=_time(where.first_at), last_at=_time(where.last_at))
        for type_version, where in seen.items()
    }


def _time(at: int | None) -> int | None:
    return None if at == NO_TIMESTAMP else at


def _ranges(codes: Array, offsets: Array, at: Array) -> dict[TypeVersion, VersionRange]:
    """Return the VersionRange of each record type and version, given `codes`, numbers that combine both."""
    found: dict[TypeVersion, VersionRange] = {}
    for code in np.flatnonzero(np.bincount(codes)).tolist():
        places = np.flatnonzero(codes == code)
        first, last = places[np.argmin(offsets[places])], places[np.argmax(offsets[places])]
        found[code >> _BITS, code & ~(-1 << _BITS)] = VersionRange(
            int(offsets[first]), int(at[first]), int(offsets[last]), int(at[last])
        )
    return found


def _counts(times: Array) -> dict[int, int]:
    """Return how often each time comes; most brokers write one."""
    if len(times) and times.min() == times.max():
        return {int(times[0]): len(times)}
    values, many = np.unique(times, return_counts=True)
    return dict(zip(values.tolist(), many.tolist(), strict=True))

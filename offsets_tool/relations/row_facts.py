"""Adds the facts of rows that are replayed by column to LogFacts, and their times to a LogClock, as from events."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array, differences
from offsets_tool.columns.columns_of_rows import are_there, numbers
from offsets_tool.expiry.log_facts import LogFacts, TypeVersion, VersionRange
from offsets_tool.log_clock import SKEW_MS, LogClock
from offsets_tool.replay.rules import TOPIC_ID_VERSION
from offsets_tool.rows import NO_TIMESTAMP

NO_TIME: Final = int(np.iinfo(np.int64).min)
"""Instead of a time where there is none: it is never past."""
_NONE: Final = -1
_BITS: Final = 8
"""How many bits a version takes that reads."""


def times_of(rows: pa.RecordBatch) -> Array:
    """Return each record's time, else that of its commit, else NO_TIME, as as_of.timestamp_of does."""
    times = rows.column("timestamp").to_numpy()
    missing = times == NO_TIMESTAMP
    if not missing.any():
        return times  # type: ignore[no-any-return]
    return np.where(missing, numbers(rows.column("commit_timestamp"), NO_TIME), times)


def observe_times(clock: LogClock, offsets: Array, times: Array) -> None:
    """Observe records, given their offsets in the log and their `times_of`, as LogClock.observe does one after the other."""
    if (is_none := times < 0).any():
        times, offsets = times[~is_none], offsets[~is_none]
    if not len(times):
        return
    leaps = np.flatnonzero(np.abs(differences(times[1:], times[:-1])) > SKEW_MS) + 1
    for begin, end in pairwise([0, *leaps.tolist(), len(times)]):
        first, last = int(times[begin]), int(times[end - 1])
        clock.observe(int(offsets[begin]), first)
        has_others = bool((times[begin:end] != first).any())
        if end - begin > 1 and not clock.observe_calm(first, last, has_others=has_others):
            for log_offset, at in zip(
                *(part[begin + 1 : end].tolist() for part in (offsets, times)), strict=True
            ):
                clock.observe(log_offset, at)


def observe_rows(facts: LogFacts, rows: pa.RecordBatch) -> None:
    """Observe the times of all rows, and the types of commits and of offsets' tombstones, of which columns tell all."""
    times = rows.column("timestamp").to_numpy()
    observe_times(facts.clock, rows.column("log_offset").to_numpy(), times_of(rows))
    is_plain = are_there(rows.column("topic")) & ~are_there(rows.column("problem"))
    has_value = are_there(rows.column("committed_offset"))
    _observe_tombstones(facts, rows, np.flatnonzero(is_plain & ~has_value))
    is_commit = is_plain & has_value
    if not is_commit.any():
        return
    places = slice(None) if is_commit.all() else np.flatnonzero(is_commit)
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
    facts.observe_many(seen, lasting, is_new=is_new)


def observe_values(
    facts: LogFacts, type_versions: Sequence[TypeVersion], offsets: Array, times: Array, *, is_new: bool
) -> None:
    """Observe values that are no commits, given their type and version, offset and time of each."""
    if not type_versions:
        return
    codes = np.array([type_id << _BITS | (version or 0) for type_id, version in type_versions], np.int64)
    facts.observe_many(_timed(_ranges(codes, offsets, times)), {}, is_new=is_new)


def _observe_tombstones(facts: LogFacts, rows: pa.RecordBatch, places: Array) -> None:
    if not len(places):
        return
    types, offsets, at = (
        numbers(rows.column(name), _NONE)[places] for name in ("record_type", "log_offset", "timestamp")
    )
    seen = _timed(_ranges(types.astype(np.int64) << _BITS, offsets, at))
    of_tombstones: dict[TypeVersion, VersionRange] = {
        (type_id, None): where for (type_id, _), where in seen.items()
    }
    facts.observe_many(of_tombstones, {}, is_new=False)


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

"""What plain commits say of their cluster, counted by column: as LogFacts counts events."""

from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.plain_commits import numbers
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.replay.rules import TOPIC_ID_VERSION
from offsets_tool.rows import NO_TIMESTAMP

_NONE: Final = -1
_BITS: Final = 16
"""Of a version."""


def see_commits(signs: LogFacts, rows: pa.RecordBatch, places: Array, facts: Array) -> None:
    """The commits at these places of rows, with their facts (commit_facts.FACTS)."""
    if not len(places):
        return
    types, versions = (numbers(rows.column(name), _NONE)[places] for name in ("record_type", "value_version"))
    seen = np.flatnonzero(np.bincount(types.astype(np.int64) << _BITS | versions)).tolist()
    is_own = facts["expire_timestamp"] != _NONE
    # Wraps as Java's long does, and so does LogFacts.
    lasting = _counts(facts["expire_timestamp"][is_own] - facts["commit_timestamp"][is_own])
    at = np.where(facts["timestamp"] != NO_TIMESTAMP, facts["timestamp"], facts["commit_timestamp"])
    found = {(each >> _BITS, each & ~(-1 << _BITS)) for each in seen}
    is_new = any(version == TOPIC_ID_VERSION for _, version in found)
    signs.observe_many(found, lasting, int(at.max()), is_new=is_new)


def _counts(times: Array) -> dict[int, int]:
    """How often each comes; most brokers write one."""
    if len(times) and times.min() == times.max():
        return {int(times[0]): len(times)}
    values, many = np.unique(times, return_counts=True)
    return dict(zip(values.tolist(), many.tolist(), strict=True))

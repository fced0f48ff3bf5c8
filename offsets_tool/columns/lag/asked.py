"""The question that lag by column answers, and the columns of the rows that it takes. Knows nothing about the answer."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.history.rows import OffsetBeginCause

PARTITION_COLUMNS: Final = ("cluster", "topic", "partition")
_COMMIT: Final = (
    "group",
    "log_partition",
    "from_log_offset",
    "from_timestamp",
    "to_timestamp",
    "is_effective",
    "begin_cause",
    "committed_offset",
    "commit_timestamp",
)
_SAMPLE: Final = ("timestamp", "log_start_offset", "last_stable_offset", "end_offset", "method", "source")
COLUMNS: Final = (*PARTITION_COLUMNS, "topic_id", *_COMMIT, *_SAMPLE)
"""What a row must have, of `offset_history` or of `ends`: null is what the other has. Only a sample has a `method`."""
ORDER: Final = (*PARTITION_COLUMNS, "log_partition", "from_log_offset")
"""The columns by which rows must be sorted, nulls first."""
SEEN_BEFORE: Final = (OffsetBeginCause.HIDDEN, OffsetBeginCause.REVEALED)
"""Rows of a commit that an earlier row has: they say nothing new of the partition's end."""


class LagAsked(NamedTuple):
    """The moments at which lag is computed: each commit and, with `grid_ms`, all multiples of that up to the cluster's newest time.

    `newest` has that time by cluster, `since` and `until` (exclusive) bound the moments; all are epoch milliseconds. With
    `is_last_stable`, lag counts to the last stable offset.
    """

    newest: Mapping[str, int]
    grid_ms: int | None = None
    since: int | None = None
    until: int | None = None
    is_last_stable: bool = False

    def has(self, at: int) -> bool:
        """Return whether a moment (epoch milliseconds) is asked for."""
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)

    def are_had(self, at: Array) -> Array:
        """Return which moments are asked for."""
        since = True if self.since is None else at >= self.since
        return np.full(len(at), True) & since & (True if self.until is None else at < self.until)

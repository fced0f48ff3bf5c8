"""How long committed offsets have existed: since when a group has had one in a partition without a break.

An effective row of history goes on with the lifetime of the one that it replaced. Source: as expiry.lifetimes counts it, change by
change.
"""

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import flags, numbers
from offsets_tool.relations.offsets import Pieces, Writes

NO_TIME: Final = -1
LIFETIME: Final = ("began_at", "committed_at", "lifetime_topic_id", "is_doubtful")
"""The columns of an open commit (WRITES) that tell of its lifetime; the topic id is a number, 0 for none."""


class LifetimeColumns(NamedTuple):
    """Lifetimes by row of history: when each began, when its commit was written, and the number of its topic's id.

    `is_doubtful`: only a coordinator that loaded this log has the commit, and not the one that wrote it.
    """

    began_at: Array
    committed_at: Array
    topic_id: Array
    is_doubtful: Array


def lifetimes_of(
    table: pa.Table, writes: Writes, pieces: Pieces, topic_ids: Array, is_doubtful: Array
) -> LifetimeColumns:
    """Return the lifetimes of rows of history; only those of effective ones mean anything.

    `topic_ids` are the numbers of the commits' topic ids by place, `is_doubtful` says it of each row that begins in this chunk.
    """
    times = numbers(table["from_timestamp"].combine_chunks(), NO_TIME)[pieces.begin]
    of_commits = numbers(table["commit_timestamp"].combine_chunks(), NO_TIME)[pieces.commit]
    at = np.maximum(np.where(times < 0, of_commits, times), NO_TIME)
    made = LifetimeColumns(at.copy(), at, topic_ids[pieces.commit], is_doubtful.copy())
    is_open = pieces.is_effective & (pieces.begin < writes.carried)
    carried = table.slice(0, writes.carried)
    for column, name in zip(made[:3], LIFETIME[:3], strict=True):
        column[is_open] = numbers(carried[name].combine_chunks(), 0)[pieces.begin[is_open]]
    made.is_doubtful[is_open] = flags(carried["is_doubtful"].combine_chunks())[pieces.begin[is_open]]
    rows = np.flatnonzero(pieces.is_effective)
    order = rows[np.lexsort((pieces.begin[rows], writes.subject[pieces.commit[rows]]))]
    before, after = order[:-1], order[1:]
    goes_on = (pieces.end[before] == pieces.begin[after]) & ~is_open[after]
    goes_on &= writes.subject[pieces.commit[before]] == writes.subject[pieces.commit[after]]
    goes_on &= writes.is_read[pieces.commit[before]]
    _continue(made, order, goes_on)
    return made


def _continue(made: LifetimeColumns, order: Array, goes_on: Array) -> None:
    """Let each of ordered rows go on with the lifetime of the one before it, where it replaced that."""
    begins = np.append(True, ~goes_on)[: len(order)]
    first = np.flatnonzero(begins)
    if not len(first):
        return
    ids, run = made.topic_id[order], np.cumsum(begins) - 1
    is_plain = np.minimum.reduceat(ids, first) == np.maximum.reduceat(ids, first)
    is_plain &= ~np.logical_or.reduceat(made.is_doubtful[order], first)
    made.began_at[order] = np.where(is_plain[run], made.began_at[order[first]][run], made.began_at[order])
    for index in np.flatnonzero(~is_plain[run] & ~begins).tolist():
        before, after = int(order[index - 1]), int(order[index])
        was, is_ = int(made.topic_id[before]), int(made.topic_id[after])
        # Not every commit has its topic's id; a topic that was made again has another one.
        if not made.is_doubtful[before] and (was == is_ or 0 in (was, is_)):
            made.began_at[after] = made.began_at[before]
            made.topic_id[after] = is_ or was

"""How long committed offsets have existed: since when a group has had one in a partition without a break.

An effective row of history goes on with the lifetime of the one that it replaced. Source: as expiry.lifetimes counts it, change by
change.
"""

from typing import Final, NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.relations.offsets import NEVER, Past, Pieces
from offsets_tool.relations.writes import Writes

NO_TIME: Final = -1


class LifetimeColumns(NamedTuple):
    """Lifetimes by row of history: when each began, when its commit was written, and the number of its topic's id.

    `is_doubtful`: only a coordinator that loaded this log has the commit, and not the one that wrote it.
    """

    began_at: Array
    committed_at: Array
    topic_id: Array
    is_doubtful: Array

    def of_open(self, writes: Writes, pieces: Pieces) -> "LifetimeColumns":
        """Return them by place of the commits that are effective behind all writes, given the rows of history; 0 of others."""
        is_open = pieces.is_effective & (pieces.end == NEVER)
        columns: list[Array] = [np.zeros(len(writes.action), np.int64) for _ in self]
        for column, known in zip(columns, self, strict=True):
            column[pieces.commit[is_open]] = known[is_open]
        return LifetimeColumns(*columns)


def lifetimes_of(writes: Writes, past: Past, pieces: Pieces, is_doubtful: Array) -> LifetimeColumns:
    """Return the lifetimes of rows of history (offsets.pieces_of); only those of effective ones mean anything.

    `past` is that of the commits that were open before; `is_doubtful` says it of each row that begins in this chunk.
    """
    times = writes.timestamp[pieces.begin]
    times = np.maximum(np.where(times < 0, writes.commit_timestamp[pieces.commit], times), NO_TIME)
    made = LifetimeColumns(times.copy(), times, writes.topic_id[pieces.commit], is_doubtful.copy())
    is_open = pieces.is_effective & (pieces.begin < writes.carried)
    of_past = past.began_at, past.committed_at, past.lifetime_topic_id, past.is_doubtful
    for column, known in zip(made, of_past, strict=True):
        column[is_open] = known[pieces.begin[is_open]]
    # Rows of one offset stand behind each other, in the order of the log.
    order = np.flatnonzero(pieces.is_effective)
    commits = pieces.commit[order]
    goes_on = (pieces.end[order[:-1]] == pieces.begin[order[1:]]) & ~is_open[order[1:]]
    goes_on &= (writes.subject[commits[:-1]] == writes.subject[commits[1:]]) & writes.is_read[commits[:-1]]
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

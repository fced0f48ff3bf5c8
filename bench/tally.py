"""What every reader must find in the same segment before its time counts."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.errors import OffsetsToolError


class Unequal(OffsetsToolError):
    """Two readers disagree on what a segment holds: no time means anything then."""


class Tally(NamedTuple):
    """Records (markers too), commits that are no tombstones, the sum of their committed offsets, and the groups that committed."""

    records: int
    commits: int
    committed_offsets: int
    groups: int


def of_events(batches: Iterable[pa.RecordBatch]) -> Tally:
    """Return the tally of rows of `events`."""
    records, commits, committed = 0, 0, 0
    groups: set[str] = set()
    for rows in batches:
        offsets = rows.column("committed_offset")
        records += rows.num_rows
        commits += rows.num_rows - offsets.null_count
        committed += pc.sum(offsets).as_py() or 0
        commit = rows.filter(pc.is_valid(rows.column("topic")))
        groups.update(pc.unique(commit.column("group")).to_pylist())
    return Tally(records, commits, committed, len(groups))


def agreed(what: str, tallies: Mapping[str, Tally]) -> Tally:
    """Return the tally that all readers agree on; Unequal, with the tally of each, where they do not."""
    found = set(tallies.values())
    if len(found) != 1:
        details = "; ".join(f"{name}: {tuple(tally)}" for name, tally in tallies.items())
        raise Unequal(f"{what}: (records, commits, sum of committed offsets, groups) differ: {details}")
    return found.pop()

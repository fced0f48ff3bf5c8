"""Makes the rows that finders read from one partition replayed by rows; offsets stay in columns until their group is asked for.

Decides nothing: rows are those of history.history, and findings are made of them one group at a time.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from offsets_tool.as_of.selection import Wanted
from offsets_tool.columns.offset_columns import OffsetColumns
from offsets_tool.columns.sorted_offsets import SortedOffsets
from offsets_tool.findings.group_rows import ALL, GroupRow, GroupRows, LogStretch, gather
from offsets_tool.findings.record_sums import RecordSums
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.wire.text import from_shown

COMMITS: Final = ("group", "topic", "partition", "is_effective", "committed_offset")
"""The columns from which `highest_commits` is made."""


class PartitionColumns:
    """The rows of one log partition by group; most of those of offsets in columns, ordered by group and place."""

    def __init__(
        self, rows: Iterable[GroupRow], offsets: pa.Table, stretch: LogStretch, sums: RecordSums
    ) -> None:
        """Hold rows of other kinds, columns of OffsetHistoryRow, whose texts may be dictionary-encoded, and sums of the records."""
        self._rows = gather(rows, stretch)
        self.sums = sums
        self._offsets = SortedOffsets(offsets)
        self._places = self._offsets.groups()
        for group, places in self._places.items():
            of = self._rows.setdefault(group, GroupRows(group, *stretch))
            of.offsets = OffsetColumns(self._offsets, *places, of.proven_from)

    def highest(self) -> Iterator[tuple[GroupRows, dict[TopicPartition, int], int]]:
        """Yield each group with the rows that are no columns, the highest commit of each partition, and how many it made."""
        found = highest_commits(self._offsets.table(COMMITS))
        for group, rows in self._rows.items():
            yield rows, found.get(group, {}), len(rows.offsets)

    def groups(self, wanted: Wanted = ALL) -> Iterator[GroupRows]:
        """Yield the rows of each wanted group, by name; what was made of columns is forgotten with the group."""
        for group, rows in sorted(self._rows.items()):
            if wanted.has_group(group):
                places = self._places.get(group, (0, 0))
                yield replace(rows, offsets=OffsetColumns(self._offsets, *places, rows.proven_from))


def highest_commits(offsets: pa.Table) -> dict[str, dict[TopicPartition, int]]:
    """Return, by group and partition, the highest commit that was effective, given the columns COMMITS with names encoded."""
    effective = offsets.filter(offsets.column("is_effective"))
    names = ("group", "topic", "partition")
    summed = effective.group_by(names).aggregate([("committed_offset", "max")])
    found: dict[str, dict[TopicPartition, int]] = defaultdict(dict)
    columns = (_values(summed.column(name)) for name in (*names, "committed_offset_max"))
    for group, topic, partition, highest in zip(*columns, strict=True):
        found[group][TopicPartition(topic, partition)] = highest
    return found


def _values(column: pa.ChunkedArray) -> list[Any]:
    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    coded = column.combine_chunks()
    texts = [from_shown(text) for text in coded.dictionary.to_pylist()]
    return [texts[code] for code in coded.indices.to_pylist()]

"""Finds all groups and topics that the evidence names, and where, when a name that the user asked for is missing.

It reads the evidence once more, through the fast lane where it pays. It replays nothing, and knows no moment and no deletion.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from offsets_tool.events import Event
from offsets_tool.evidence.lanes import rows_pay
from offsets_tool.evidence.listener import CommandStep, items_during
from offsets_tool.evidence.partition_logs import uncounted
from offsets_tool.evidence.sources import Source
from offsets_tool.placement import infer_partitions
from offsets_tool.rows import Unreadable
from offsets_tool.wire.text import from_shown


class Stretch(NamedTuple):
    """The offsets of the first and the last record that name something, in one partition of the log."""

    log_partition: int | None
    first: int
    last: int


class SourceNames:
    """The groups of some sources with where their records are, the topics with their partitions, and the log partitions."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self.groups: dict[str, Stretch] = {}
        self.topics: dict[str, set[int]] = {}
        self.log_partitions: set[int | None] = set()
        self._observe_all(list(sources))

    def partition_counts(self) -> tuple[int, ...]:
        """Return the partition counts of `__consumer_offsets` that the places of the groups allow."""
        numbered = [(group, at.log_partition) for group, at in self.groups.items()]
        places = ((group, number) for group, number in numbered if number is not None)
        return infer_partitions(places, max((n for n in self.log_partitions if n is not None), default=0))

    def _observe_all(self, sources: list[Source]) -> None:
        self.log_partitions.update(
            source.log_partition for source in sources if source.log_partition is not None
        )
        if rows_pay(sources):
            self._observe_rows(sources)
            return
        for source in sources:
            for event in uncounted(source):
                self._observe(event)

    def _observe_rows(self, sources: list[Source]) -> None:
        from offsets_tool.columns.decode import Origin  # noqa: PLC0415
        from offsets_tool.columns.distinct_names import committed_partitions, group_ranges  # noqa: PLC0415 - Arrow, where it pays
        from offsets_tool.columns.reading import RowReader, RowsRead  # noqa: PLC0415

        reader = RowReader(log=False)
        for source in sources:
            if source.stored is not None:
                items: Iterator[RowsRead | Unreadable] = source.stored.names()
            else:
                assert source.segment is not None
                origin = Origin("", source.name, source.log_partition, 0)
                rows = reader.read(source.segment, origin, limits=source.limits)
                items = source.or_lost(rows, source.ledger())
            for read in items_during(CommandStep.FAST, items):
                if not isinstance(read, RowsRead) or read.events is None:
                    continue
                for group, number, first, last in group_ranges(read.events):
                    self._observe_group(from_shown(group), Stretch(number, first, last))
                for topic, partition in committed_partitions(read.events):
                    self.topics.setdefault(from_shown(topic), set()).add(partition)

    def _observe(self, event: Event) -> None:
        record = event.record
        self.log_partitions.add(record.log_partition)
        if event.key is None or event.group is None:
            return
        self._observe_group(event.group, Stretch(record.log_partition, record.log_offset, record.log_offset))
        topic = getattr(event.key.data, "topic", None)
        if topic is not None:
            self.topics.setdefault(topic, set()).add(event.key.data.partition)

    def _observe_group(self, group: str, seen: Stretch) -> None:
        known = self.groups.get(group)
        if known is not None and known.log_partition == seen.log_partition:
            seen = Stretch(seen.log_partition, min(known.first, seen.first), max(known.last, seen.last))
        elif known is not None:
            # A group in two partitions of the log is in one that is not its own: the first stays.
            seen = known
        self.groups[group] = seen

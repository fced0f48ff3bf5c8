"""Yields every distinct record of all copies, those of abandoned branches too, and counts how the copies differ.

It replays nothing. Set-aside files (.deleted, .swap ...) are read as parts of their copy: they often have what it has lost since.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.events import Event
from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.joined_log import JoinedLog
from offsets_tool.evidence.partition_logs import PartitionLog, partition_logs
from offsets_tool.log.copies.copy_facts import CopyFacts, Recovered
from offsets_tool.log.copies.union import Distinct, union


class BranchKind(StrEnum):
    """Whether a record is still part of the log."""

    CURRENT = "current"
    ABANDONED = "abandoned"
    """A later leader epoch began at or before its offset: the log went on without it."""


class DistinctRecord(NamedTuple):
    """A record, as the first copy that has it gives it, with the names of all copies that do."""

    event: Event
    copies: tuple[str, ...]
    branch: BranchKind
    is_contradicted: bool
    """Whether another record of the same leader epoch stands at its offset."""
    is_recovered: bool
    """Whether it is part of the log and only one copy still has it, though others had it."""


@dataclass(slots=True)
class CopyCounts:
    """How one copy of a partition differs from the others: numbers of distinct records."""

    facts: CopyFacts
    is_deciding: bool
    """Whether it decides where copies differ, if no leader is named."""
    records: int = 0
    only_here: int = 0
    """Records that no other copy has."""
    missing: int = 0
    """Records of the current branch, between its begin and its end, that only others have: its cleaner took them."""
    abandoned: int = 0
    contradicting: int = 0
    """Records at whose offset another copy has a different one of the same leader epoch."""


@dataclass
class Copies:
    """All copies of one partition, in the order of their names."""

    log_partition: int | None
    joined: JoinedLog
    streams: list[tuple[int, Iterable[Event]]] = field(repr=False)
    counts: list[CopyCounts]
    """Of each copy; whole after `records`."""

    def records(self) -> Iterator[DistinctRecord]:
        """Yield every distinct record by offset, and count."""
        branch = self.joined.lineage.branch()
        recovered = Recovered(self.joined.facts, branch)
        names = [each.facts.name for each in self.counts]
        for together in union(self.streams, self.joined.epoch_of):
            for found in together:
                is_current = branch.has(found.epoch, found.record.log_offset)
                is_contradicted = any(_contradict(found, other) for other in together if other is not found)
                self._count(found, is_current=is_current, is_contradicted=is_contradicted)
                yield DistinctRecord(
                    found.item,
                    tuple(name for number, name in enumerate(names) if found.copies >> number & 1),
                    BranchKind.CURRENT if is_current else BranchKind.ABANDONED,
                    is_contradicted,
                    is_current and recovered.has(found.copies, found.record.log_offset),
                )

    def lacking(self, found: DistinctRecord) -> tuple[str, ...]:
        """Return the copies that cover a record's place on the current branch and do not have it."""
        if found.branch is not BranchKind.CURRENT:
            return ()
        at = found.event.record.log_offset
        return tuple(name for name in map(self._name_of, self._covering(at)) if name not in found.copies)

    def _name_of(self, number: int) -> str:
        return self.counts[number].facts.name

    def _covering(self, log_offset: int) -> Iterator[int]:
        """Yield the copies that had the current branch's record at an offset, or still have it."""
        for number, counts in enumerate(self.counts):
            if counts.facts.begin <= log_offset < min(counts.facts.end, self._shared[number]):
                yield number

    @cached_property
    def _shared(self) -> list[int]:
        branch = self.joined.lineage.branch()
        return [counts.facts.shares_to(branch) for counts in self.counts]

    def _count(self, found: Distinct[Event], *, is_current: bool, is_contradicted: bool) -> None:
        for number, counts in enumerate(self.counts):
            if found.copies >> number & 1:
                counts.records += 1
                counts.only_here += found.copies.bit_count() == 1
                counts.abandoned += not is_current
                counts.contradicting += is_contradicted
        if is_current and not is_contradicted:
            for number in self._covering(found.record.log_offset):
                self.counts[number].missing += not found.copies >> number & 1


def _contradict(one: Distinct[Event], other: Distinct[Event]) -> bool:
    """Return whether two records at one offset have one leader epoch, which cannot be; a misplaced record contradicts none."""
    same = (one.epoch, one.record.log_offset) == (other.epoch, other.record.log_offset)
    return same and one.record.misplaced is other.record.misplaced is None


def shown_records(evidence: Evidence) -> Iterator[DistinctRecord]:
    """Yield those distinct records of all partitions that the filters of the evidence let through."""
    for copies in copies_of(evidence):
        for found in copies.records():
            if evidence.filters.matches(found.event):
                evidence.has_shown = True
                yield found


def copies_of(evidence: Evidence) -> Iterator[Copies]:
    """Yield the copies of each partition of the evidence, one or more; records are counted in its ledgers as they are read.

    UsageError where copies are of two clusters, or do not say of which partition they are.
    """
    sources = evidence.sources
    aside = [source for source in sources if source.is_set_aside]
    in_use = partition_logs([source for source in sources if not source.is_set_aside], evidence.counted)
    beside = partition_logs(aside, evidence.counted)
    for log_partition in sorted(
        in_use.keys() | beside.keys(), key=lambda number: -1 if number is None else number
    ):
        logs, rest = in_use.get(log_partition, []), beside.get(log_partition, [])
        yield _copies(log_partition, logs, rest)


def _copies(log_partition: int | None, logs: list[PartitionLog], aside: list[PartitionLog]) -> Copies:
    known = {log.name for log in logs}
    # Of a copy of which only set-aside files are here these are the log.
    alone = [log for log in aside if log.name not in known]
    joined = JoinedLog([*logs, *alone], AsOf())
    numbers = {log.name: number for number, log in enumerate(joined.copies)}
    # Segments in use follow each other, one open at a time; set-aside files reach into them.
    streams: list[tuple[int, Iterable[Event]]] = [
        (numbers[log.name], chain.from_iterable(run.events() for run in log.runs)) for log in logs
    ]
    streams += [(numbers[log.name], run.events()) for log in aside for run in log.runs]
    counts = [
        CopyCounts(facts, is_deciding=number == joined.deciding) for number, facts in enumerate(joined.facts)
    ]
    return Copies(log_partition, joined, streams, counts)

"""One log of a partition made of several copies: by which view, as of which moment, and what is to be said of the copies.

The rules are those of log.copies; this module knows which sources are copies, and how people name the one that leads.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import PurePosixPath
from typing import Final

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.errors import UsageError
from offsets_tool.events import Event, decode_absence
from offsets_tool.evidence.moments.moment_notes import listed, number_text
from offsets_tool.evidence.partition_logs import PartitionLog
from offsets_tool.evidence.sources import Source
from offsets_tool.log.copies.copy_facts import CopyFacts, EpochsSeen, copy_facts
from offsets_tool.log.copies.lineage import NO_END, Lineage
from offsets_tool.log.copies.union import union
from offsets_tool.log.copies.views import CopiesView, LeftOut, Moment, Union, deciding_copy
from offsets_tool.rows import Absence, BatchRead


@dataclass(frozen=True, slots=True)
class CopiesAsked:
    """What is asked of several copies: the view, and by log partition the name of the copy that led at the moment."""

    view: CopiesView = CopiesView.COORDINATOR
    leaders: Mapping[int, str] = field(default_factory=dict)


COPIES_ASKED: Final = CopiesAsked()


class JoinedLog:
    """The copies of one partition as one log."""

    def __init__(self, copies: list[PartitionLog], as_of: AsOf, asked: CopiesAsked = COPIES_ASKED) -> None:
        """UsageError where copies are of two clusters, or none has the name of the leader."""
        self.copies = copies
        self.log_partition = copies[0].log_partition
        self.left_out = LeftOut()
        """What the last pass left out; whole after it."""
        self._as_of = as_of
        self._asked = asked
        self.facts: list[CopyFacts] = [_facts(log, as_of.time) for log in copies]
        _refuse_two_clusters(self.facts)
        self.moment = self._moment()
        self.deciding = self._deciding()

    @property
    def begins(self) -> int:
        """The first offset of the copy that decides, or of all."""
        if self.deciding is not None:
            return self.facts[self.deciding].begin
        return min(log.begins for log in self.copies)

    @property
    def end(self) -> int | None:
        """The first offset that does not count; None where records themselves tell, or all count."""
        return None if self.moment.end == NO_END else self.moment.end

    def events(self) -> Iterator[Event]:
        """Yield the events that count, by offset, each once; absences are events too."""
        joined = Union[Event](self.facts, self.moment, self.deciding, self.log_partition)
        self.left_out = joined.left_out
        for item in joined.records(union(enumerate(log.events() for log in self.copies))):
            yield decode_absence(item) if isinstance(item, Absence) else item

    @cached_property
    def lineage(self) -> Lineage:
        """The first offset of each leader epoch, by all copies."""
        return Lineage((each.epoch, each.start) for copy in self.facts for each in copy.epochs)

    def _moment(self) -> Moment:
        """Return the branch and the end that the moment means in this partition.

        A time means the newest leader epoch that had begun by then, up to its last record of that time or before.
        """
        number, as_of, lineage = self.log_partition, self._as_of, self.lineage
        if as_of.ends is not None:
            end = 0 if number is None else as_of.ends.get(number, 0)
            epoch = None if number is None else (as_of.epochs or {}).get(number)
            return Moment(lineage.branch(epoch), end)
        if as_of.time is None or self._asked.view is CopiesView.EVIDENCE or not self._has_epochs:
            return Moment(lineage.branch())
        begun = [each for copy in self.facts for each in copy.epochs if each.began_at <= as_of.time]
        epoch = max((each.epoch for each in begun), default=-1)
        end = max((each.end_by for each in begun if each.epoch == epoch), default=0)
        is_all = epoch == lineage.newest and end >= max(copy.end for copy in self.facts)
        return Moment(lineage.branch(epoch), NO_END if is_all else end)

    @property
    def _has_epochs(self) -> bool:
        return any(copy.epochs for copy in self.facts)

    def _deciding(self) -> int | None:
        if self._asked.view is CopiesView.EVIDENCE:
            return None
        named = None if self.log_partition is None else self._asked.leaders.get(self.log_partition)
        if named is None:
            return deciding_copy(self.facts, self.moment)
        names = [copy.name for copy in self.facts]
        wanted = PurePosixPath(named).as_posix()
        if wanted not in names:
            raise UsageError(
                f"--leader {self.log_partition}={named}: no copy of partition {self.log_partition} has this name; "
                f"there are {', '.join(names)}"
            )
        return names.index(wanted)

    def notes(self) -> Iterator[str]:
        """Yield what is to be known of the copies after a pass: who decided, branches that were left, contradictions."""
        partition, left = f"partition {number_text(self.log_partition)}", self.left_out
        names = [copy.name for copy in self.facts]
        if self.deciding is not None and len(names) > 1:
            yield f"{partition}: {names[self.deciding]} decides among {len(names)} copies; --leader names another"
        if left.absences:
            yield f"{partition}: {left.absences} key(s) were deleted, as copies that were compacted later do not have them"
        if left.abandoned:
            yield (
                f"{partition}: {left.abandoned} record(s) from offset {left.abandoned_at} on are left out, of a branch that a "
                f"later leader epoch abandoned: in {_listed(names, left.abandoned_copies)}"
            )
        if left.contradictions:
            yield (
                f"{partition}: at {left.contradictions} offset(s), the first {left.contradiction_at}, copies have different "
                f"records of one leader epoch; those of {_listed(names, left.contradicting)} are left out"
            )


def _listed(names: list[str], copies: int) -> str:
    return listed(name for number, name in enumerate(names) if copies >> number & 1)


def _facts(log: PartitionLog, time: int | None) -> CopyFacts:
    sources = [run.source for run in log.runs if run.source is not None]
    segments = [source.segment for source in sources if source.segment is not None]
    if segments:
        return copy_facts(log.name, segments, time)
    return _facts_by_reading(log, sources, time)


def _facts_by_reading(log: PartitionLog, sources: list[Source], time: int | None) -> CopyFacts:
    """Return the facts of a copy that keeps no segments: of an archive, which is in memory, or of a live partition."""
    seen = EpochsSeen(time)
    for item in chain.from_iterable(source.read(source.ledger(), True) for source in sources):
        if isinstance(item, BatchRead):
            seen.observe(item.batch)
    end = max((event.record.log_offset + 1 for event in log.events()), default=0) if not sources else seen.end
    return CopyFacts(log.name, 0, end, None, seen.facts())


def _refuse_two_clusters(copies: list[CopyFacts]) -> None:
    first: dict[str, str] = {}
    for copy in copies:
        if copy.cluster_id is not None:
            first.setdefault(copy.cluster_id, copy.name)
    if len(first) > 1:
        one, other = list(first.values())[:2]
        raise UsageError(f"{one} and {other} are of two clusters (meta.properties); give those of one")

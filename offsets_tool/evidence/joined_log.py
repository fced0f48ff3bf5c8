"""Makes one log of a partition's several copies, by a view and as of a moment, and notes what to know of the copies.

The rules are those of log.copies; this module knows which sources are copies, and how people name the copy that led.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.coverage import Contradiction, subject_of
from offsets_tool.errors import UsageError
from offsets_tool.events import Event, decode, decode_absences
from offsets_tool.evidence.moments.copies_asked import COPIES_ASKED, CopiesAsked
from offsets_tool.evidence.moments.moment_notes import listed, number_text
from offsets_tool.evidence.partition_logs import PartitionLog, RowsOf
from offsets_tool.evidence.sources import Source
from offsets_tool.log.copies.copy_facts import CopyFacts, ObservedEpochs, copy_facts
from offsets_tool.log.copies.forks import Forks, InForce, InForceBy
from offsets_tool.log.copies.lineage import NO_END, Lineage
from offsets_tool.log.copies.union import Distinct, OfRecord, RowRecord, epoch_in, union
from offsets_tool.log.copies.views import BranchEnd, CopiesView, LeftOut, Union, deciding_copy
from offsets_tool.log.storage import as_path
from offsets_tool.rows import NO_TIMESTAMP, BatchRead, LogRecord

if TYPE_CHECKING:
    from offsets_tool.relations.row_events import Page

T = TypeVar("T", bound=OfRecord)


class JoinedLog:
    """The copies of one partition as one log."""

    def __init__(
        self,
        copies: list[PartitionLog],
        as_of: AsOf,
        asked: CopiesAsked = COPIES_ASKED,
        facts: list[CopyFacts] | None = None,
        forks: Forks | None = None,
        *,
        lane: RowsOf | None = None,
    ) -> None:
        """Join the copies of a partition; `facts` and `forks` are those that an earlier joined log of the same copies has found.

        With a `lane`, which counts nothing, it reads rows to find forks.
        UsageError where copies are of two clusters, or none has the name of the leader.
        """
        self.copies = sorted(copies, key=attrgetter("name"))
        self.log_partition = copies[0].log_partition
        self.left_out = LeftOut()
        """What the last pass left out; whole after it."""
        self._as_of = as_of
        self._asked = asked
        self.facts = [_facts(log, as_of.time) for log in self.copies] if facts is None else facts
        if differing := of_two_clusters(self.facts):
            raise UsageError(f"{differing}; give those of one")
        named = self._named()
        self.forks = self._forks(lane) if forks is None else forks
        self.in_force: InForce | None = None
        """Which of several histories counts, where copies contradict each other."""
        if self.forks:
            self.in_force = self.forks.in_force(self.facts, as_of.time, named)
        self.facts = parted(self.facts, self.forks, self.in_force)
        self.moment = self._moment()
        self.deciding = self._deciding(named)
        self._doubted: Set[bytes | None] = set()

    @property
    def begins(self) -> int:
        """The first offset of the deciding copy; for the view of the evidence, the first of all copies."""
        if self.deciding is not None:
            return self.facts[self.deciding].begin
        return min(log.begins for log in self.copies)

    @property
    def end(self) -> int | None:
        """The first offset behind the moment; None if the moment names no end offsets and has all records of the newest epoch."""
        is_all = self.moment.branch.epoch == self.lineage.newest and self.moment.end >= max(
            copy.end for copy in self.facts
        )
        is_placed = self._as_of.ends is not None
        return None if is_all and not is_placed else self.moment.end

    def events(self) -> Iterator[Event]:
        """Yield the events that count, by offset, each once; absences are events too."""
        streams = enumerate(log.events() for log in self.copies)
        for item in self._union(Event).records(union(streams, self.epoch_of)):
            yield from decode_absences(item) if isinstance(item, list) else (item,)

    def rows(self, rows_of: RowsOf) -> "Iterator[Page]":
        """Yield what `events` yields as rows of Arrow (row_events.COLUMNS); all copies must be of segments."""
        from offsets_tool.relations.joined_rows import pages_of  # noqa: PLC0415 - NumPy, where rows are

        yield from pages_of(self._union(RowRecord).records(self._distinct_rows(rows_of)))

    def _distinct_rows(self, rows_of: RowsOf) -> Iterator[list[Distinct[RowRecord]]]:
        from offsets_tool.relations.joined_rows import distinct_rows, rows_of_copies  # noqa: PLC0415 - NumPy

        return distinct_rows(rows_of_copies([log.rows(rows_of) for log in self.copies], self.facts))

    def _union(self, kind: type[T]) -> Union[T]:
        """Return what joins the copies, and counts from here on what it leaves out."""
        joined = Union[T](self.facts, self.moment, self.deciding, self.log_partition)
        self.left_out, self._doubted = joined.left_out, joined.doubted
        return joined

    def epoch_of(self, number: int, record: LogRecord) -> int | None:
        """Return the leader epoch of a copy's record: its batch's, or for a damaged copy that of the other copies."""
        facts = self.facts[number]
        return epoch_in(record) if facts.is_whole else facts.epoch_at(record.log_offset)

    @cached_property
    def lineage(self) -> Lineage:
        """The first offset of each leader epoch, by all copies."""
        return Lineage((each.epoch, each.start) for copy in self.facts for each in copy.shared_epochs)

    def _forks(self, lane: RowsOf | None) -> Forks:
        if len(self.copies) == 1:
            return Forks()
        if lane is not None:
            return Forks.of(self._distinct_rows(lane))
        streams = enumerate(log.undecoded() for log in self.copies)
        return Forks.of(union(streams, self.epoch_of))

    @property
    def contradiction(self) -> Contradiction | None:
        """After the last pass: where copies are of several histories, and what was left out of them; None where they are of one."""
        return contradiction_of(self.facts, self.in_force, self.left_out, self._doubted)

    def _moment(self) -> BranchEnd:
        """Return the branch and the end that the moment means in this partition.

        A time means the newest leader epoch that had begun by then, up to its last record before any that is later.
        """
        number, as_of, lineage = self.log_partition, self._as_of, self.lineage
        if as_of.ends is not None:
            end = 0 if number is None else as_of.ends.get(number, 0)
            epoch = None if number is None else (as_of.epochs or {}).get(number)
            return BranchEnd(lineage.branch(epoch), end)
        if as_of.time is None or self._asked.view is CopiesView.EVIDENCE or not self._know_epochs:
            return BranchEnd(lineage.branch())
        begun = [each for copy in self.facts for each in copy.shared_epochs if each.began_at <= as_of.time]
        epoch = max((each.epoch for each in begun), default=-1)
        newest = [each for each in begun if each.epoch == epoch]
        end = max((each.end_by for each in newest), default=0)
        # A copy that lacks the first later record, which its cleaner took, has those behind it even so.
        return BranchEnd(lineage.branch(epoch), min([end, *(each.later_from for each in newest)]))

    @property
    def _know_epochs(self) -> bool:
        return all(copy.epochs for copy in self.facts)

    def _deciding(self, named: int | None) -> int | None:
        if self._asked.view is CopiesView.EVIDENCE:
            return None
        return deciding_copy(self.facts, self.moment) if named is None else named

    def _named(self) -> int | None:
        """Return the copy that is named as the leader; None where none is. UsageError where no copy has its name."""
        named = None if self.log_partition is None else self._asked.leaders.get(self.log_partition)
        if named is None or self._asked.view is CopiesView.EVIDENCE:
            return None
        names = [copy.name for copy in self.facts]
        wanted = as_path(named).as_posix()
        found = [
            number for number, name in enumerate(names) if name == wanted or name.startswith(f"{wanted}!/")
        ]
        if len(found) != 1:
            raise UsageError(
                f"--leader {self.log_partition}={named}: no copy of partition {self.log_partition} has this name; "
                f"there are {', '.join(names)}"
            )
        return found[0]

    def notes(self) -> Iterator[str]:
        """Yield notes on the copies, after all events were read: the deciding copy, abandoned branches, contradictions."""
        partition, left = f"partition {number_text(self.log_partition)}", self.left_out
        names = [copy.name for copy in self.facts]
        if self.deciding is not None and len(names) > 1:
            yield f"{partition}: {names[self.deciding]} decides among {len(names)} copies; --leader names another"
        for text in copies_notes(self.facts):
            yield f"{partition}: {text}"
        if left.recovered and self.deciding is None:
            yield (
                f"{partition}: {left.recovered} record(s) are recovered: of the copies that had them one alone still has each, "
                f"{_listed(names, left.recovering)}"
            )
        if left.absences:
            yield f"{partition}: {left.absences} key(s) were deleted, as copies that were compacted later do not have them"
        if left.abandoned:
            yield (
                f"{partition}: {left.abandoned} record(s) from offset {left.abandoned_at} on are left out, as they are not on the "
                f"branch of leader epoch {self.moment.branch.epoch}: in {_listed(names, left.abandoned_copies)}"
            )
        if left.contradictions:
            yield (
                f"{partition}: at {left.contradictions} offset(s), the first {left.contradiction_at}, copies have different "
                f"records of one leader epoch; those of {_listed(names, left.contradicting)} are left out"
            )
        if self.in_force is not None and left.apart:
            begin = min(copy.apart_from for copy in self.facts)
            yield (
                f"{partition}: copies are of two histories from offset {begin} on; {parted_text(self.in_force, names)}, and "
                f"{left.apart} record(s) of {_listed(names, left.apart_copies)} are left out"
            )


def parted(facts: Sequence[CopyFacts], forks: Forks, in_force: InForce | None) -> list[CopyFacts]:
    """Return the facts of copies with the offsets from which on they are of another history than the one that counts."""
    apart = {} if in_force is None else forks.apart_from(in_force.copy, len(facts))
    return [copy._replace(apart_from=apart.get(number, NO_END)) for number, copy in enumerate(facts)]


def parted_text(in_force: InForce, names: Sequence[str]) -> str:
    """Return words on why the records of one of several histories count; `names` are those of all copies."""
    name = names[in_force.copy]
    return {
        InForceBy.NAMED: f"--leader names {name}",
        InForceBy.NEWER: f"{name} went on last, as its records are all newer",
        InForceBy.EARLIER: f"{name} alone had gone on by this moment",
        None: (
            f"nothing says whether {name} is in force, so what they do not have in common is unknown (--leader names the copy "
            "that is)"
        ),
    }[in_force.by]


def contradiction_of(
    facts: Sequence[CopyFacts], in_force: InForce | None, left: LeftOut, doubted: Set[bytes | None]
) -> Contradiction | None:
    """Return where copies are of several histories, after one pass over them; None where they are of one, as far as that goes."""
    if in_force is None or not left.apart:
        return None
    keys = doubted if in_force.by is None else ()
    return Contradiction(
        min(copy.apart_from for copy in facts),
        facts[in_force.copy].name,
        left.apart,
        None if left.apart_newest == NO_TIMESTAMP else left.apart_newest,
        frozenset(subject for key in keys if (subject := subject_of(_of_key(key))) is not None),
    )


def _of_key(key: bytes | None) -> Event:
    return decode(
        LogRecord(source="", log_partition=None, log_offset=0, timestamp=NO_TIMESTAMP, key=key, value=None)
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
    """Return the facts of a copy that keeps no segments: of a live partition, or of an archive, which is in memory.

    An archive proves no absence: what it lacks may never have been archived.
    """
    if not sources:
        places = [event.record.log_offset for event in log.events()]
        return CopyFacts(log.name, min(places, default=0), max(places, default=-1) + 1, is_whole=False)
    seen = ObservedEpochs(time)
    for item in chain.from_iterable(source.read(source.ledger(), True) for source in sources):
        if isinstance(item, BatchRead):
            seen.observe(item.batch)
    return CopyFacts(log.name, 0, seen.end, None, seen.facts())


def of_two_clusters(copies: Iterable[CopyFacts]) -> str | None:
    """Return the sentence that copies are of two clusters; None where they are of one, as far as they say."""
    names = _of_two((copy.cluster_id, copy.name) for copy in copies)
    return f"{names} are of two clusters (meta.properties)" if names else None


def copies_notes(copies: Sequence[CopyFacts]) -> Iterator[str]:
    """Yield what makes copies doubtful by themselves: they are of two topics, or files are missing from one."""
    if names := _of_two((copy.topic_id, copy.name) for copy in copies):
        yield (
            f"{names} have two topic ids (partition.metadata): the topic was deleted and made anew; its records before and after "
            "are joined, give the copies of one to keep them apart"
        )
    for copy in copies:
        for lost in copy.missing:
            yield (
                f"{copy.name} lacks the offsets {lost.start} to {lost.end - 1} between two of its files, and no cleaner took them: "
                f"a file is missing, and what this copy lacks below {lost.end} is not taken for deleted; copy the file too"
            )


def _of_two(copies: Iterable[tuple[str | None, str]]) -> str:
    """Return the names of the first two copies whose ids differ, as words; empty where all are of one id or say none."""
    first: dict[str, str] = {}
    for id_, name in copies:
        if id_ is not None:
            first.setdefault(id_, name)
    return " and ".join(list(first.values())[:2]) if len(first) > 1 else ""

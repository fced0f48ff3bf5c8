"""All sources of one question, read in one pass: decoded, filtered and counted. The ledger of every source is kept.

What there is to say while reading goes to the caller's listener, and stays in `Evidence.notes`. Shows and replays nothing.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from operator import attrgetter
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from offsets_tool.errors import UsageError
from offsets_tool.events import Event, decode
from offsets_tool.evidence.filters import EVERYTHING, Filters
from offsets_tool.evidence.listener import CommandStep, Listener, Silent, during, items_during
from offsets_tool.evidence.moments.copies_asked import COPIES_ASKED, CopiesAsked
from offsets_tool.evidence.sources import Item, Source, StoredEnds, open_sources, records_of
from offsets_tool.log.archive.files import is_lake
from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.log.copies.copy_facts import CopyFacts
from offsets_tool.log.ledger import Ledger, LedgerEntry
from offsets_tool.log.names import OFFSETS_TOPIC
from offsets_tool.log.topics import topic_names_below
from offsets_tool.rows import BatchRead, LogRecord, Unreadable, UnreadableKind
from offsets_tool.wire.text import shown

if TYPE_CHECKING:
    from offsets_tool.as_of.as_of import AsOf
    from offsets_tool.as_of.snapshot import Snapshot
    from offsets_tool.columns.lane.segments import ChunkRead
    from offsets_tool.columns.printing import ChunkText
    from offsets_tool.columns.reading import RowReader, RowsRead
    from offsets_tool.expiry.forecast import PartitionRemovals
    from offsets_tool.findings.group_rows import AnyPartition
    from offsets_tool.lag.commits import LogCommits

C = TypeVar("C", bound="ChunkRead | ChunkText")

UNREADABLE_NAMED = 10
"""How many unreadable ranges are named before the rest is only counted; `inspect` names them all."""


def open_evidence(
    *paths: str | os.PathLike[str],
    filters: Filters = EVERYTHING,
    bootstrap_server: str | None = None,
    command_config: str | None = None,
    log_partition: int | None = None,
    columns: Mapping[str, str] | None = None,
    limits: Limits = LIMITS,
    listener: Listener | None = None,
    has_hashes: bool = True,
    view: str = COPIES_ASKED.view,
    leader: Mapping[int, str] | None = None,
    cluster: str | None = None,
    groups: Sequence[str] = (),
    is_of_records: bool = False,
) -> "Evidence":
    """Open log segments, folders of them, tars and archives, a lake, or a live topic, as one evidence.

    `filters` choose what `events` gives; all is read and counted. `bootstrap_server` reads the live topic instead of paths, with
    the client properties of the file `command_config`. `log_partition` is the only partition of `__consumer_offsets` to read, and
    the number of files that do not say theirs. `columns` names an archive's columns: {"offset": "kafka_offset"}. `limits` are
    what one batch may hold. `has_hashes` False leaves out the SHA-256 of files. Of several copies of a partition, whoever replays
    asks what the coordinator would have answered (`view` "coordinator"), where `leader` names by log partition the copy that led,
    by its directory: {12: "brokers/1"}; or what all of them know to have happened ("evidence").
    A lake, by its folder or URI, is read alone: `cluster` names one of several, `groups` those that are asked about, so that less
    is read of it, and with `is_of_records` it is its records alone, as of an archive.
    UsageError where nothing, or two things at once, are named; SourceError where a path cannot be read.

    >>> with open_evidence("fixtures/corpora/3.9.2-txn/segments") as evidence:
    ...     kinds = [event.key.type.name for event in evidence.events() if event.key]
    >>> kinds.count("OffsetCommit"), kinds.count("GroupMetadata"), sum(ledger.records for ledger in evidence.ledgers)
    (70, 4, 97)
    """
    names, copies_asked = [os.fspath(path) for path in paths], CopiesAsked.of(view, leader)
    if lake_in(names, cluster, has_others=bool(bootstrap_server or columns)):
        from offsets_tool.lake.evidence import lake_evidence  # noqa: PLC0415 - with Arrow, where it is needed

        return lake_evidence(
            names[0],
            cluster,
            filters,
            listener,
            copies_asked=copies_asked,
            log_partition=log_partition,
            groups=groups,
            is_of_records=is_of_records,
        )
    with during(CommandStep.OPEN):
        sources = open_sources(
            names,
            bootstrap_server=bootstrap_server,
            command_config=command_config,
            log_partition=log_partition,
            columns=columns,
            limits=limits,
            only=filters.log_partitions(),
        )
    return Evidence(sources, filters, listener, paths=names, has_hashes=has_hashes, copies_asked=copies_asked)


def lake_in(paths: Sequence[str], cluster: str | None, *, has_others: bool) -> bool:
    """Return whether the paths are a lake; UsageError where it is not named alone, or where a cluster of none is named."""
    lake = next(filter(is_lake, paths), None)
    if lake is None and cluster is not None:
        raise UsageError("--cluster names a cluster of a lake, and LOG... is none: drop it")
    if lake is not None and (len(paths) > 1 or has_others):
        raise UsageError(f"{lake} is a lake, which is read alone: drop the other sources and --columns")
    return lake is not None


class Evidence:
    """All sources of one question, and one pass over them; closes them at the end of a `with` block."""

    def __init__(
        self,
        sources: Sequence[Source],
        filters: Filters = EVERYTHING,
        listener: Listener | None = None,
        *,
        paths: Sequence[str] = (),
        has_hashes: bool = True,
        copies_asked: CopiesAsked = COPIES_ASKED,
    ) -> None:
        """Hold `sources`, which were found below `paths`; without `has_hashes` no SHA-256 of files is computed.

        `copies_asked` is what a replay asks of several copies of a partition.
        """
        self.paths = tuple(paths)
        self.copies_asked = copies_asked
        self.copy_facts: dict[int | None, list[CopyFacts]] = {}
        """By log partition what is known of its copies, by name, before they are read; empty where files must say it."""
        self.sources = list(sources)
        self.filters = filters
        self.ledgers: list[LedgerEntry] = []
        self.notes: list[str] = []
        """Everything that the listener was told."""
        self.ledger: Ledger
        """Of the source that `items` or `through` reads."""
        self.stored_ends: StoredEnds | None = None
        """The samples of end offsets that are kept with it; None where files beside it may have some."""
        self.problems = 0
        self.overlaps = 0
        """Segments that have offsets which another of their folder has."""
        self.has_shown = False
        """Whether the filters have let any event through so far."""
        self._listener: Listener = listener or Silent()
        self._has_hashes = has_hashes
        self._unreadable = 0
        self._misplaced = 0
        self._has_zero_tail = False

    def __enter__(self) -> "Evidence":
        self._listener.begin(sum(source.size for source in self.sources))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def all_sources(self) -> list[Source]:
        """The sources, and those that `narrow` has left out."""
        return self.sources

    def narrow(self, log_partitions: Collection[int | None]) -> None:
        """Read only some log partitions, where the others are known without it: here they are not."""

    def narrow_to_groups(self, moment: "AsOf") -> None:
        """Read only the log partitions of the groups that are asked about, and those that a moment names, as `narrow` does."""

    def take_states(self, moment: "Snapshot", *, is_of_groups: bool) -> bool:
        """Read no log partition where their states at a moment are kept, and return whether they are: here they are not.

        `is_of_groups` says that only those of the log partitions are needed that have the groups that are asked about.
        """
        return False

    def kept_commits(self, topics: Collection[str]) -> "LogCommits":
        """Return all commits for some topics, where states are taken."""
        raise NotImplementedError

    def kept_removals(self, snapshot: "Snapshot") -> "list[PartitionRemovals]":
        """Return what was removed in each log partition, where states are taken."""
        raise NotImplementedError

    def reads(self, log_partitions: "Collection[int | None]") -> bool:
        """Return whether all of some log partitions are read: here all are."""
        return True

    def stand_in(self, snapshot: "Snapshot") -> None:
        """Add the log partitions that are not read to a snapshot that is about to be replayed: here there are none."""

    def kept_partitions(self, moment: "Snapshot") -> "list[AnyPartition] | None":
        """Return the rows of all log partitions at a moment where they are kept, so that none is replayed: here they are not."""
        return None

    def again(self) -> Self:
        """Return the same sources for another pass; its notes go to no listener, and no SHA-256 is computed."""
        beside = copy(self)
        beside.ledgers, beside.notes, beside._listener, beside._has_hashes = [], [], Silent(), False
        return beside

    def close(self) -> None:
        """Close all sources; what was read stays."""
        self._listener.end()
        for source in self.sources:
            source.close()

    @property
    def files(self) -> list[str]:
        """The paths of what is read from disk, source by source: files, tars, Delta tables."""
        return [path for source in self.sources if (path := source.path)]

    def topic_names(self) -> Mapping[str, str]:
        """Return the names of topics by id that files beside the log say."""
        return topic_names_below(self.paths)

    def note(self, text: str) -> None:
        """Give the listener a note of one sentence, and keep it in `notes`."""
        self.notes.append(text)
        self._listener.note(text)

    def note_once(self, text: str) -> None:
        """Give the listener a note, unless it had an equal one before: many files may cause one note."""
        if text not in self.notes:
            self.note(text)

    def all_is_read(self) -> None:
        """Call the listener's `end`: nothing more will be read."""
        self._listener.end()

    def leave_out_set_aside(self) -> list[Source]:
        """Drop the files that Kafka has set aside (.deleted, .cleaned, .swap ...), as it would not read them; return these."""
        aside = [source for source in self.sources if source.is_set_aside]
        self.sources = [source for source in self.sources if not source.is_set_aside]
        return aside

    def events(self) -> Iterator[Event]:
        """Yield every event that the filters let through, source by source."""
        for source in self.sources:
            for item in self.items(source):
                yield from self.shown(item)

    def items(self, source: Source, *, verify: bool = True) -> Iterator[Item]:
        """Yield the batches and unreadable ranges of a source; decode each with `decoded`, or the ledger does not add up.

        `verify` False also reads batches whose CRC is wrong.
        """
        self.ledger = self._ledger_of(source)
        for item in source.read(self.ledger, verify):
            self._advance(item)
            yield item
        self._close(self.ledger, source)

    def counted(self, source: Source) -> Iterator[Event]:
        """Yield the events of a source and count them in its ledger; several sources may be read at the same time."""
        ledger = self._ledger_of(source)
        for item in source.read(ledger, True):
            self._advance(item)
            yield from self._events(item, ledger)
        self._close(ledger, source)

    def through(
        self, source: Source, read: Callable[..., Iterator[C | BatchRead | Unreadable]]
    ) -> Iterator[C | BatchRead | Unreadable]:
        """Yield what `read` makes of a segment by the fast lane, and count it."""
        assert source.segment is not None
        self.ledger = self._ledger_of(source)
        items = source.or_lost(read(source.segment, self.ledger, limits=source.limits), self.ledger)
        for item in items_during(CommandStep.FAST, items):
            yield item
            if isinstance(item, (BatchRead, Unreadable)):
                self._advance(item)
            else:
                self._listener.advance(item.size)
        self._close(self.ledger, source)

    def rows(self, source: Source, reader: "RowReader", *, is_counted: bool = True) -> "Iterator[RowsRead]":
        """Yield the records of a segment as rows of Arrow; `is_counted` is False where it is read once more."""
        from offsets_tool.columns.decode import Origin  # noqa: PLC0415 - with Arrow, where it pays
        from offsets_tool.columns.reading import RowsRead  # noqa: PLC0415

        ledger = self._ledger_of(source)
        if source.stored is not None:
            items: Iterator[RowsRead | Unreadable] = source.stored.rows()
        else:
            assert source.segment is not None
            origin = Origin("", shown(source.name), source.log_partition, 0)
            read = reader.read(source.segment, origin, limits=source.limits, ledger=ledger)
            items = source.or_lost(read, ledger)
        for item in items_during(CommandStep.FAST, items):
            if isinstance(item, RowsRead):
                if is_counted:
                    self._count_rows(item)
                yield item
        if is_counted:
            self._close(ledger, source)

    def decoded(self, item: Item) -> Iterator[Event]:
        """Return the events of an item, and count them, as they are taken, in the ledger of the source that `items` reads."""
        return self._events(item, self.ledger)

    def _events(self, item: Item, ledger: Ledger) -> Iterator[Event]:
        return items_during(CommandStep.DECODE, (self._event(record, ledger) for record in records_of(item)))

    def _event(self, record: LogRecord, ledger: Ledger) -> Event:
        event = decode(record)
        ledger.count(event.outcome, event.kept_raw or "")
        self.problems += event.problem is not None
        return event

    def shown(self, item: Item) -> Iterator[Event]:
        """Yield the events of an item that the filters let through; the ledger counts the others too."""
        for event in filter(self.filters.matches, self.decoded(item)):
            self.has_shown = True
            yield event

    def lacks(self) -> str:
        """Return what could not be read, or is in doubt, as words and numbers; empty where all is as it should be."""
        if not (self._unreadable or self._misplaced or self.problems or self.overlaps):
            return ""
        misplaced = f"{self._misplaced} range(s) of misplaced batches, " if self._misplaced else ""
        overlaps = f"{self.overlaps} segment(s) that reach into others, " if self.overlaps else ""
        return f"{self.problems} record(s) with a problem, {misplaced}{overlaps}{self._unreadable} unreadable range(s)"

    def _ledger_of(self, source: Source) -> Ledger:
        ledger = source.ledger()
        ledger.has_hashes = self._has_hashes
        return ledger

    def _close(self, ledger: Ledger, source: Source) -> None:
        """Keep the ledger of a source that was read, and note what was unreadable, left out or misplaced in it.

        Only then, because lanes meet these in different orders.
        """
        self.ledgers.append(entry := ledger.entry())
        for unreadable in sorted(entry.unreadable, key=attrgetter("position")):
            self._unread(unreadable, source, ledger)
        for topic, rows in entry.foreign_topics.items():
            if topic.endswith(OFFSETS_TOPIC) or not entry.records:
                self.note(_left_out(entry.source, topic, rows))
        for found in entry.misplaced_ranges:
            self._misplaced += 1
            if self._misplaced <= UNREADABLE_NAMED:
                self.note(
                    f"{entry.source}: {found.records} record(s) in {found.batches} batch(es) at byte {found.position} are "
                    f"misplaced: {found.reason}"
                )

    def _count_rows(self, read: "RowsRead") -> None:
        self._listener.advance(read.end - read.start)
        if read.events is not None:
            self.problems += read.events.num_rows - read.events.column("problem").null_count

    def _advance(self, item: Item) -> None:
        if not isinstance(item, LogRecord):
            self._listener.advance(item.batch.size if isinstance(item, BatchRead) else item.size)

    def _unread(self, unreadable: Unreadable, source: Source, ledger: Ledger) -> None:
        if unreadable.kind is UnreadableKind.ZERO_TAIL and not _hides_records(source, ledger.last_offset):
            if not self._has_zero_tail:
                self.note(
                    f"{unreadable.source}: the {unreadable.size} byte(s) from {unreadable.position} on are zeros, which hold no "
                    "record: Kafka preallocated the file, or a crash left it so; other files that end so are not named"
                )
            self._has_zero_tail = True
            return
        self._unreadable += 1
        if self._unreadable <= UNREADABLE_NAMED:
            place = (
                f"{unreadable.size} byte(s) at {unreadable.position} unreadable"
                if unreadable.size
                else "unreadable"
            )
            self.note(f"{unreadable.source}: {place}: {unreadable.reason}")


def _left_out(source: str, topic: str, rows: int) -> str:
    """Return a note on rows of another topic: a copy of this one under another name, or all that an archive has."""
    remedy = (
        f"to read them as this topic, add --columns topic={topic}"
        if topic.endswith(OFFSETS_TOPIC)
        else f"give an archive of {OFFSETS_TOPIC}"
    )
    return f"{source}: {rows:,} row(s) are left out, as they are of topic {shown(topic)}; {remedy}"


def _hides_records(source: Source, last_offset: int | None) -> bool:
    """Return whether zeros at the end of a segment may stand where records were: another follows and does not begin right after it.

    The last segment of a partition has no records there: Kafka reads up to the zeros and cuts them off when it recovers the log.
    """
    following = source.segment.next_offset if source.segment else None
    return following is not None and (last_offset is None or last_offset + 1 < following)

"""Makes one log for each partition and copy of the evidence's sources: segments by base offset, archives by sorting their rows.

The segments of a copy follow each other. Misplaced records are left out, and so are records of a segment whose offsets an earlier
segment of its copy has. joined_log joins several copies.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from offsets_tool.errors import UsageError
from offsets_tool.events import Event, decode
from offsets_tool.evidence.listener import CommandStep, items_during
from offsets_tool.evidence.sources import Source, records_of
from offsets_tool.log.names import OFFSETS_TOPIC
from offsets_tool.rows import LogRecord

if TYPE_CHECKING:
    from offsets_tool.columns.reading import RowsRead
    from offsets_tool.relations.row_events import Page

EventsOf = Callable[[Source], Iterator[Event]]
RowsOf = Callable[[Source], "Iterator[RowsRead]"]

_WHICH: Final = "give one of them, or each with its __consumer_offsets-N directory"


def uncounted(source: Source) -> Iterator[Event]:
    """Yield the events of a source without counting them in a ledger: it has them already, or there is none."""
    for item in source.read(source.ledger(), True):
        yield from items_during(CommandStep.DECODE, map(decode, records_of(item)))


def partition_logs(sources: list[Source], events_of: EventsOf) -> "dict[int | None, list[PartitionLog]]":
    """Return each partition's logs, one of each copy. Archives are read at once, as their rows may be in any order.

    UsageError where several copies do not say of which partition they are.
    """
    runs: dict[int | None, dict[str | None, list[_Run]]] = {}
    for source in (source for source in sources if not source.is_archive):
        of_partition = runs.setdefault(source.log_partition, {})
        of_partition.setdefault(source.copy, []).append(_segment_run(source, events_of))
    archives = [source for source in sources if source.is_archive]
    for number, rows in _archived(archives, events_of).items():
        run = _Run(rows[0].record.source, rows[0].record.log_offset, partial(iter, rows))
        names = " and ".join(dict.fromkeys(event.record.source for event in rows))
        runs.setdefault(number, {})[names] = [run]
    order = sorted(runs, key=lambda number: -1 if number is None else number)
    return {number: _logs(number, runs[number]) for number in order}


def _with_closed_beside(logs: "list[PartitionLog]") -> "list[PartitionLog]":
    """Return the logs with what cannot be opened (a folder, a meta.properties) put beside the first: it is no log of its own."""
    logs.sort(key=lambda log: all(run.is_closed for run in log.runs))
    first, *others = logs
    closed = [log for log in others if all(run.is_closed for run in log.runs)]
    first.runs.extend(run for log in closed for run in log.runs)
    return [log for log in logs if log not in closed]


def _logs(log_partition: int | None, copies: "dict[str | None, list[_Run]]") -> "list[PartitionLog]":
    logs = [
        PartitionLog(log_partition, name, sorted(runs, key=attrgetter("begins")), BackwardRecords())
        for name, runs in copies.items()
    ]
    if log_partition is None:
        logs = _with_closed_beside(logs)
    if log_partition is None and len(logs) > 1:
        both = " and ".join(log.name for log in logs[:2])
        raise UsageError(f"{both} both have a log, and nothing says of which partition: {_WHICH}")
    return logs


@dataclass(slots=True)
class BackwardRecords:
    """Records that are not replayed because they go back behind others of their copy."""

    records: int = 0
    first: str = ""
    sources: set[str] = field(default_factory=set)
    """The files that they are in."""

    def add(self, source: str, log_offset: int, before: str, records: int = 1) -> None:
        """Count records that go back, the first of them at `log_offset`; `before` names the run that has reached farther."""
        self.records += records
        self.sources.add(source)
        self.first = self.first or f"offset {log_offset} in {source} is not above what {before} has"


class _Run(NamedTuple):
    """Events of one partition from one source or all archives, in the order of their offsets."""

    name: str
    begins: int
    """The offset that it is ordered by: a segment's base offset, or that of an archive's first row."""
    events: Callable[[], Iterator[Event]]
    source: Source | None = None
    """The segment, or live partition, that it is."""

    @property
    def is_closed(self) -> bool:
        """Whether it stands for what cannot be opened at all."""
        segment = self.source.segment if self.source else None
        return segment is not None and bool(segment.unreadable)

    def undecoded(self) -> Iterator[Event]:
        """Yield its records as events that are not decoded; those of an archive are."""
        if self.source is None:
            return self.events()
        items = self.source.read(self.source.ledger(), True)
        return (Event(record=record) for item in items for record in records_of(item))


def _segment_run(source: Source, events_of: EventsOf) -> _Run:
    begins = source.begins
    if begins is None:
        # Not named by its base offset: its first record has to say it.
        first = next((event for event in uncounted(source) if event.record.misplaced is None), None)
        begins = first.record.log_offset if first else 0
    return _Run(source.name, begins, partial(events_of, source), source)


class PartitionLog(NamedTuple):
    """One copy of the log of a partition, joined from runs that do not reach into each other."""

    log_partition: int | None
    copy: str | None
    """The copy's name (Source.copy); None for files that were named one by one."""
    runs: list[_Run]
    left_out: BackwardRecords

    @property
    def name(self) -> str:
        """The copy's name; where it has none, the folder of its first file."""
        return _folder_of(self.runs[0].name) if self.copy is None else self.copy

    @property
    def begins(self) -> int:
        """The base offset of its first segment; 0 where that is not known."""
        source = self.runs[0].source
        return self.runs[0].begins if source is not None and source.has_rows else 0

    def events(self) -> Iterator[Event]:
        """Yield the log's events by offset, each once; UsageError where loose files of two folders have the same offset."""
        reached = _Reached(self)
        for run in self.runs:
            for event in run.events():
                if event.record.misplaced is None and reached.is_new(run, event.record.log_offset):
                    yield event

    def undecoded(self) -> Iterator[Event]:
        """Yield the records as `events` does, without decoding them and without counting them anywhere."""
        return self._replace(
            runs=[run._replace(events=run.undecoded) for run in self.runs], left_out=BackwardRecords()
        ).events()

    def rows(self, rows_of: RowsOf) -> "Iterator[Page]":
        """Yield the log as rows of Arrow (row_events.COLUMNS), each record once; all runs must be segments.

        UsageError as of `events`.
        """
        from offsets_tool.relations import row_events  # noqa: PLC0415 - with Arrow, where it pays

        return row_events.rows_of(self._reads(rows_of))

    def _reads(self, rows_of: RowsOf) -> "Iterator[RowsRead]":
        reached = _Reached(self)
        for run in self.runs:
            assert run.source is not None
            for read in rows_of(run.source):
                yield reached.new_rows(run, read)


class _Reached:
    """The highest offset that a log has reached, and the run that has it."""

    def __init__(self, log: PartitionLog) -> None:
        self._log_partition = log.log_partition
        self._left_out = log.left_out
        self._end = -1
        self._run: _Run | None = None

    def is_new(self, run: _Run, log_offset: int) -> bool:
        """Return whether a record's offset is above all earlier ones; a record for which it is not must be left out.

        UsageError if it is of another log.
        """
        if log_offset > self._end:
            self._end, self._run = log_offset, run
            return True
        self._goes_back(run, log_offset, 1)
        return False

    def new_rows(self, run: _Run, read: "RowsRead") -> "RowsRead":
        """Return the rows whose offsets are above all earlier ones; count the others as left out, or raise UsageError."""
        from offsets_tool.columns.reading import rows_in_order  # noqa: PLC0415 - NumPy, where rows are

        found = rows_in_order(read, self._end)
        if len(found.back):
            self._goes_back(run, int(found.back[0]), len(found.back))
        if found.end > self._end:
            self._end, self._run = found.end, run
        return found.read

    def _goes_back(self, run: _Run, log_offset: int, records: int) -> None:
        before = self._run.name if self._run else run.name
        if _folder_of(before) == _folder_of(run.name):
            self._left_out.add(run.name, log_offset, before, records)
        elif self._log_partition is None:
            raise UsageError(
                f"{before} and {run.name} both have offset {log_offset}, and nothing says of which partition they are: "
                f"{_WHICH}"
            )
        else:
            raise UsageError(
                f"partition {self._log_partition} is here twice: offset {log_offset} is in {before} and in {run.name}; "
                "give the folders of the copies, not their files, or name one copy"
            )


def _folder_of(source: str) -> str:
    return PurePosixPath(source).parent.as_posix()


def _contradicting(record: LogRecord, other: LogRecord) -> str:
    """Return a sentence on two different records of archives at one place, and what to do."""
    sources = list(dict.fromkeys((record.source, other.source)))
    if record.log_partition is None:
        return (
            f"{' and '.join(sources)}: the rows do not say of which partition of {OFFSETS_TOPIC} they are, and several have offset "
            f"{record.log_offset}; give the files of one partition with --log-partition N, or name the column that has its number "
            "with --columns partition=COLUMN"
        )
    have = "have" if len(sources) > 1 else "has"
    return (
        f"{' and '.join(sources)} {have} different records for offset {record.log_offset} of partition {record.log_partition}: "
        "they are of two logs; name one of them"
    )


def _archived(sources: list[Source], events_of: EventsOf) -> dict[int | None, list[Event]]:
    """Return the events of all archives by partition, in the order of their offsets; a record that was archived twice is one."""
    rows: dict[int | None, dict[int, Event]] = {}
    for event in chain.from_iterable(map(events_of, sources)):
        record = event.record
        known = rows.setdefault(record.log_partition, {}).setdefault(record.log_offset, event).record
        if (known.key, known.value) != (record.key, record.value):
            raise UsageError(_contradicting(known, record))
    return {number: [found[at] for at in sorted(found)] for number, found in rows.items()}

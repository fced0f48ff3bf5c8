"""One log of each partition, made of the sources of the evidence: segments by base offset, and archives, whose rows may lie anyhow.

Several segments of a partition follow each other; two copies of one partition are refused, since nothing here decides between them:
also where their offsets do not meet, for what was deleted between two copies would come back. Records that cannot stand where they
say are left out, and so are those of a segment that go back behind what the others of its folder have.
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
from offsets_tool.evidence.sources import Source, records_of
from offsets_tool.log.names import offsets_directory

if TYPE_CHECKING:
    from offsets_tool.columns.reading import RowsRead

EventsOf = Callable[[Source], Iterator[Event]]

_WHICH: Final = "give one of them, or each with its __consumer_offsets-N directory"
_ONE: Final = "name one copy; if they are parts of one log, put their segments into one folder"


def uncounted(source: Source) -> Iterator[Event]:
    """Yield the events of a source without counting them: its ledger has them already, or nobody asks for one."""
    for item in source.read(source.ledger(), True):
        yield from map(decode, records_of(item))


def partition_logs(sources: list[Source], events_of: EventsOf) -> "dict[int | None, PartitionLog]":
    """Return each partition's log. Archives are read at once, as their rows may be in any order; the rest when asked for.

    UsageError when a partition is there twice.
    """
    _refuse_copies(sources)
    runs: dict[int | None, list[_Run]] = {}
    for source in (source for source in sources if not source.is_archive):
        runs.setdefault(source.log_partition, []).append(_segment_run(source, events_of))
    for number, rows in _archived([source for source in sources if source.is_archive], events_of).items():
        runs.setdefault(number, []).append(
            _Run(rows[0].record.source, rows[0].record.log_offset, partial(iter, rows))
        )
    order = sorted(runs, key=lambda number: -1 if number is None else number)
    return {
        number: PartitionLog(number, sorted(runs[number], key=attrgetter("begins")), BackwardRecords())
        for number in order
    }


def _refuse_copies(sources: list[Source]) -> None:
    copies: dict[int | None, str] = {}
    for source in sources:
        copy = _copy_of(source)
        if copy is not None and copies.setdefault(source.log_partition, copy) != copy:
            told = f"{copies[source.log_partition]} and {copy}"
            if source.log_partition is None:
                raise UsageError(f"{told} both have a log, and nothing says of which partition: {_WHICH}")
            raise UsageError(f"partition {source.log_partition} is here twice, in {told}: {_ONE}")


def _copy_of(source: Source) -> str | None:
    """Return the folder or tar that a segment is of; None where files were named one by one and are taken for one log."""
    segment = source.segment
    if segment is None or segment.unreadable:
        return None
    in_partition = offsets_directory(PurePosixPath(segment.source).parent.name) is not None
    return segment.directory if in_partition or not source.must_open else None


@dataclass(slots=True)
class BackwardRecords:
    """Records that are not replayed because they go back behind others of their folder."""

    records: int = 0
    first: str = ""
    sources: set[str] = field(default_factory=set)
    """The files that they are in."""

    def add(self, source: str, log_offset: int, before: str, records: int = 1) -> None:
        """Count more records, the first of them at this offset, which `before` has too or has gone beyond."""
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


def _segment_run(source: Source, events_of: EventsOf) -> _Run:
    begins = source.segment.base_offset if source.segment else 0
    if begins is None:
        # Not named by its base offset: its first record has to say it.
        first = next((event for event in uncounted(source) if event.record.misplaced is None), None)
        begins = first.record.log_offset if first else 0
    return _Run(source.name, begins, partial(events_of, source), source)


class PartitionLog(NamedTuple):
    """The log of one partition, joined from runs that do not reach into each other."""

    log_partition: int | None
    runs: list[_Run]
    left_out: BackwardRecords

    @property
    def begins(self) -> int:
        """The base offset of its first segment; 0 where that is not known."""
        source = self.runs[0].source
        return self.runs[0].begins if source is not None and source.segment is not None else 0

    def events(self) -> Iterator[Event]:
        """Yield the log's events by offset, each once; UsageError where runs of different folders have the same offset."""
        reached = _Reached(self)
        for run in self.runs:
            for event in run.events():
                if event.record.misplaced is None and reached.is_new(run, event.record.log_offset):
                    yield event

    def rows(self, rows_of: "Callable[[Source], Iterator[RowsRead]]") -> "Iterator[RowsRead]":
        """Yield the log as rows of Arrow, each record once; all runs must be segments. UsageError as of `events`."""
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
        """Return whether a record is above all before it; False where it is to be left out.

        UsageError if it is of another copy of the same log.
        """
        if log_offset > self._end:
            self._end, self._run = log_offset, run
            return True
        self._goes_back(run, log_offset, 1)
        return False

    def new_rows(self, run: _Run, read: "RowsRead") -> "RowsRead":
        """Return those rows that are above all before them; the others are counted as left out, or refused with UsageError."""
        from offsets_tool.columns.offset_order import rows_in_order  # noqa: PLC0415 - NumPy, where rows are

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
                "name one copy"
            )


def _folder_of(source: str) -> str:
    return PurePosixPath(source).parent.as_posix()


def _archived(sources: list[Source], events_of: EventsOf) -> dict[int | None, list[Event]]:
    """Return the events of all archives by partition, in the order of their offsets; a record that was archived twice is one."""
    rows: dict[int | None, dict[int, Event]] = {}
    for event in chain.from_iterable(map(events_of, sources)):
        record = event.record
        known = rows.setdefault(record.log_partition, {}).setdefault(record.log_offset, event).record
        if (known.key, known.value) != (record.key, record.value):
            raise UsageError(
                f"{known.source} and {record.source} have different records for offset {record.log_offset} "
                f"of partition {record.log_partition}: they are of two logs; name one of them"
            )
    return {number: [found[at] for at in sorted(found)] for number, found in rows.items()}

"""One log of each partition, made of the parts of the evidence: segments by base offset, and archives, whose rows may lie anyhow.

Several segments of a partition follow each other; two copies of one partition are refused, since nothing here decides between them:
also where their offsets do not meet, for what was deleted between two copies would come back.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from offsets_tool.cli.evidence import Part
from offsets_tool.cli.reading import records_of
from offsets_tool.errors import UsageError
from offsets_tool.events import Event, decode
from offsets_tool.log.names import offsets_directory

if TYPE_CHECKING:
    from offsets_tool.columns.reading import RowsRead

EventsOf = Callable[[Part], Iterator[Event]]

_WHICH: Final = "give one of them, or each with its __consumer_offsets-N directory"
_ONE: Final = "name one copy; if they are parts of one log, put their segments into one folder"


def uncounted(part: Part) -> Iterator[Event]:
    """The events of a part that the ledger has already."""
    for item in part.read(part.ledger(), True):
        yield from map(decode, records_of(item))


def partition_logs(parts: list[Part], events_of: EventsOf) -> "dict[int | None, PartitionLog]":
    """Each partition's log. Archives are read at once, as their rows may stand in any order; the rest when asked for.

    UsageError when a partition is there twice.
    """
    _refuse_copies(parts)
    runs: dict[int | None, list[_Run]] = {}
    for part in (part for part in parts if not part.archive):
        runs.setdefault(part.log_partition, []).append(_segment_run(part, events_of))
    for number, rows in _archived([part for part in parts if part.archive], events_of).items():
        runs.setdefault(number, []).append(
            _Run(rows[0].record.source, rows[0].record.log_offset, partial(iter, rows))
        )
    order = sorted(runs, key=lambda number: -1 if number is None else number)
    return {number: PartitionLog(number, sorted(runs[number], key=attrgetter("begins"))) for number in order}


def _refuse_copies(parts: list[Part]) -> None:
    copies: dict[int | None, str] = {}
    for part in parts:
        copy = _copy_of(part)
        if copy is not None and copies.setdefault(part.log_partition, copy) != copy:
            told = f"{copies[part.log_partition]} and {copy}"
            if part.log_partition is None:
                raise UsageError(f"{told} both have a log, and nothing says of which partition: {_WHICH}")
            raise UsageError(f"partition {part.log_partition} is here twice, in {told}: {_ONE}")


def _copy_of(part: Part) -> str | None:
    """The folder or tar that a segment is of. Files named one by one that lie in no partition's folder are said to be one log."""
    segment = part.segment
    if segment is None or segment.unreadable:
        return None
    in_partition = offsets_directory(PurePosixPath(segment.source).parent.name) is not None
    return segment.directory if in_partition or not part.must_open else None


class _Run(NamedTuple):
    """Events of one partition from one place, in the order of their offsets."""

    source: str
    begins: int
    """The offset that it is ordered by: a segment's base offset, or that of an archive's first row."""
    events: Callable[[], Iterator[Event]]
    part: Part | None = None
    """The segment, or live partition, that it is."""


def _segment_run(part: Part, events_of: EventsOf) -> _Run:
    begins = part.segment.base_offset if part.segment else 0
    if begins is None:
        # Not named by its base offset: its first record has to say it.
        first = next(uncounted(part), None)
        begins = first.record.log_offset if first else 0
    return _Run(part.source, begins, partial(events_of, part), part)


class PartitionLog(NamedTuple):
    """All runs of one partition, as one as long as none reaches into another."""

    log_partition: int | None
    runs: list[_Run]

    @property
    def begins(self) -> int:
        """Where its segments begin; 0 where that is not known."""
        part = self.runs[0].part
        return self.runs[0].begins if part is not None and part.segment is not None else 0

    def events(self) -> Iterator[Event]:
        """In the order of their offsets; UsageError where two runs have the same."""
        end, before = -1, ""
        for run in self.runs:
            last = end
            for event in run.events():
                if event.record.log_offset <= last:
                    raise self._twice(run, event.record.log_offset, before)
                end = max(end, event.record.log_offset)
                yield event
            before = run.source

    def rows(self, rows_of: "Callable[[Part], Iterator[RowsRead]]") -> "Iterator[RowsRead]":
        """The same as rows, where all runs are segments."""
        end, before = -1, ""
        for run in self.runs:
            assert run.part is not None
            last = end
            for read in rows_of(run.part):
                if read.events is not None:
                    offsets = read.events.column("log_offset").to_numpy()
                    if offsets.min() <= last:
                        raise self._twice(run, int(offsets[offsets <= last][0]), before)
                    end = max(end, int(offsets.max()))
                yield read
            before = run.source

    def _twice(self, run: _Run, log_offset: int, before: str) -> UsageError:
        if self.log_partition is None:
            return UsageError(
                f"{before} and {run.source} both have offset {log_offset}, and nothing says of which partition they are: "
                f"{_WHICH}"
            )
        return UsageError(
            f"partition {self.log_partition} is here twice: offset {log_offset} is in {before} and in {run.source}; "
            "name one copy"
        )


def _archived(parts: list[Part], events_of: EventsOf) -> dict[int | None, list[Event]]:
    """Rows of all archives by partition and in order; a record that was archived twice is one."""
    rows: dict[int | None, dict[int, Event]] = {}
    for event in chain.from_iterable(map(events_of, parts)):
        record = event.record
        known = rows.setdefault(record.log_partition, {}).setdefault(record.log_offset, event).record
        if (known.key, known.value) != (record.key, record.value):
            raise UsageError(
                f"{known.source} and {record.source} have different records for offset {record.log_offset} "
                f"of partition {record.log_partition}: they are of two logs; name one of them"
            )
    return {number: [found[at] for at in sorted(found)] for number, found in rows.items()}

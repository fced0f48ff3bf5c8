"""Replaying evidence for a command: every partition's events in order, up to the moment asked for, and the notes that belong to it.

Reads what Kafka would read: files that it has set aside are left out. Several segments of a partition follow each other by base
offset; two copies of one partition are refused, since nothing here decides between them.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from offsets_tool.cli.evidence import Evidence, Item, Part
from offsets_tool.cli.filters import Filters, parse_bound
from offsets_tool.cli.moment_notes import moment_notes
from offsets_tool.cli.reading import Reading
from offsets_tool.cli.render import default_format, note
from offsets_tool.cli.row_route import RowRoute, rows_pay
from offsets_tool.errors import SourceError, UsageError
from offsets_tool.events import Event, decode
from offsets_tool.log.discover import find_topics
from offsets_tool.replay.as_of import AsOf
from offsets_tool.replay.changes import Change
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.moment import Moment, PartitionMoment, Watch
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.topics import TopicNames
from offsets_tool.rows import BatchRead, LogRecord

if TYPE_CHECKING:
    from offsets_tool.columns.reading import RowsRead

F = TypeVar("F", bound=Callable[..., Any])
WatchOf = Callable[[int | None], Watch]
"""Gives whoever watches a partition's changes; asked anew, and the one before forgotten, when it is replayed again."""
_Events = Callable[[Part], Iterator[Event]]


def coordinator_option(command: F) -> F:
    """--coordinator"""
    return click.option(
        "--coordinator",
        type=click.Choice(["auto", "classic", "new"]),
        default="auto",
        show_default=True,
        help="By whose rules the log was written: to 3.9, or 4.x and KIP-848.",
    )(command)


def moment_options(command: F) -> F:
    """--as-of --coordinator"""
    as_of = click.option(
        "--as-of",
        multiple=True,
        metavar="WHEN",
        help="At a time, or LOG_PARTITION:END_OFFSET (repeatable; partitions not named count as empty). Default: the end.",
    )
    return as_of(coordinator_option(command))


def parse_as_of(texts: tuple[str, ...]) -> AsOf:
    """The texts of --as-of."""
    if not texts:
        return AsOf()
    bound = parse_bound(texts, "--as-of")
    ends = dict(bound.places)
    if len(ends) < len(bound.places):
        raise UsageError("--as-of names a log partition twice: give each one END_OFFSET")
    return AsOf(bound.time, ends or None)


def open_replay(options: dict[str, Any], *, strict: bool, output_path: str | None) -> "Replaying":
    """From the options that `evidence_options` and `moment_options` declare."""
    rules = {"classic": Rules.CLASSIC, "new": Rules.NEW}.get(options["coordinator"])
    as_of = parse_as_of(options.get("as_of", ()))
    evidence = Evidence.of(options)
    to_terminal = default_format(output_path) == "table"
    reading = Reading(_read_by_kafka(evidence.parts()), Filters(), strict=strict, progress=not to_terminal)
    return Replaying(reading, Moment(as_of, TopicNames(lambda: _names(evidence.paths)), rules))


def _read_by_kafka(parts: list[Part]) -> list[Part]:
    """The parts that Kafka takes for the log, and a word about the others."""
    kept = [part for part in parts if not part.set_aside]
    if not kept:
        raise UsageError(
            "all that is here Kafka has set aside (.deleted, -delete ...): name the files to read"
        )
    if len(kept) < len(parts):
        note(
            f"{len(parts) - len(kept)} file(s) that Kafka has set aside (.deleted, .cleaned, .swap, -delete ...) are not replayed, "
            "as Kafka would not read them"
        )
    return kept


def _names(paths: tuple[str, ...]) -> dict[str, str]:
    """Topic names by id from the partition.metadata of data directories."""
    found: dict[str, str] = {}
    for path in paths:
        try:
            directories = find_topics([path])
        except SourceError:
            # A folder that cannot be listed was named when the segments were looked for; names are only a help.
            continue
        found |= {directory.topic_id: directory.topic for directory in directories if directory.topic_id}
    return found


class Replaying:
    """One replay of the evidence: `with` it, `run` it, and the Moment says what was."""

    def __init__(self, reading: Reading, moment: Moment) -> None:
        self.reading = reading
        self.moment = moment

    def __enter__(self) -> "Replaying":
        self.reading.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.reading.__exit__(*error)

    def run(self, watch_of: WatchOf | None = None) -> Moment:
        """Replays everything, where needed a second time, and says on stderr what is to be known about the moment."""
        replay_evidence(self.reading, self.moment, watch_of)
        self.reading.stop_progress()
        for text in moment_notes(self.moment):
            note(text)
        return self.moment

    def once_more(self) -> Iterator[tuple[PartitionMoment, Iterator[tuple[Event, tuple[Change, ...]]]]]:
        """After `run`: the same events again, partition by partition, with their changes by the rules that `run` found to hold."""
        logs = _by_partition(self.reading, _uncounted)
        for partition in self.moment:
            yield partition, _changes(partition, logs[partition.log_partition].events())


def _changes(
    partition: PartitionMoment, events: Iterator[Event]
) -> Iterator[tuple[Event, tuple[Change, ...]]]:
    found = partition.coordinator
    coordinator = Coordinator(partition.log_partition, None if found.auto else found.rules)
    for event in filter(partition.cut.holds, events):
        yield event, coordinator.replay(event)


def replay_evidence(reading: Reading, moment: Moment, watch_of: WatchOf | None = None) -> None:
    """Gives the moment all events of the evidence, each partition's in the order of their offsets.

    UsageError when a partition is there twice.
    """
    by_rows = RowRoute(reading) if watch_of is None and rows_pay(reading.parts) else None
    logs = _by_partition(reading, _counted(reading))
    for log in logs.values():
        _replay(moment, log, watch_of, by_rows)
    if again := moment.to_replay_again():
        by_rows = by_rows and by_rows.again()
        logs = _by_partition(reading, _uncounted)
        for number in again:
            _replay(moment, logs[number], watch_of, by_rows)


def _replay(moment: Moment, log: "_Log", watch_of: WatchOf | None, by_rows: RowRoute | None) -> None:
    """The one place where events, or rows where nobody watches, meet the coordinator."""
    if by_rows is not None:
        by_rows.replay(moment, log.log_partition, log.begins, log.rows(by_rows.rows))
        return
    watch = watch_of(log.log_partition) if watch_of else None
    moment.replay(log.log_partition, log.events(), begins=log.begins, watch=watch)


def _counted(reading: Reading) -> _Events:
    def events(part: Part) -> Iterator[Event]:
        for item in reading.items(part):
            yield from reading.decoded(item)

    return events


def _uncounted(part: Part) -> Iterator[Event]:
    """The same events once more, when the ledger has them already."""
    for item in part.read(part.ledger(), True):
        yield from map(decode, _records(item))


def _records(item: Item) -> tuple[LogRecord, ...]:
    if isinstance(item, BatchRead):
        return item.records
    return (item,) if isinstance(item, LogRecord) else ()


def _by_partition(reading: Reading, events_of: _Events) -> "dict[int | None, _Log]":
    """Each partition's log. Archives are read at once, as their rows may stand in any order; the rest when asked for."""
    runs: dict[int | None, list[_Run]] = {}
    for part in (part for part in reading.parts if not part.archive):
        runs.setdefault(part.log_partition, []).append(_segment_run(part, events_of))
    for number, rows in _archived([part for part in reading.parts if part.archive], events_of).items():
        runs.setdefault(number, []).append(
            _Run(rows[0].record.source, rows[0].record.log_offset, partial(iter, rows))
        )
    order = sorted(runs, key=lambda number: -1 if number is None else number)
    return {number: _Log(number, sorted(runs[number], key=attrgetter("begins"))) for number in order}


class _Run(NamedTuple):
    """Events of one partition from one place, in the order of their offsets."""

    source: str
    begins: int
    """The offset that it is ordered by: a segment's base offset, or that of an archive's first row."""
    events: Callable[[], Iterator[Event]]
    part: Part | None = None
    """The segment, or live partition, that it is."""


def _segment_run(part: Part, events_of: _Events) -> _Run:
    begins = part.segment.base_offset if part.segment else 0
    if begins is None:
        # Not named by its base offset: its first record has to say it.
        first = next(_uncounted(part), None)
        begins = first.record.log_offset if first else 0
    return _Run(part.source, begins, partial(events_of, part), part)


class _Log(NamedTuple):
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
                "give one of them, or each with its __consumer_offsets-N directory"
            )
        return UsageError(
            f"partition {self.log_partition} is here twice: offset {log_offset} is in {before} and in {run.source}; "
            "name one copy"
        )


def _archived(parts: list[Part], events_of: _Events) -> dict[int | None, list[Event]]:
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

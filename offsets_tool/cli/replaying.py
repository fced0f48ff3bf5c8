"""Replaying evidence for a command: every partition's events in order, up to the moment asked for, and the notes that belong to it.

Reads what Kafka would read: files that it has set aside are left out. partition_logs knows which sources make one log.
"""

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TypeVar

import click

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import Moment, PartitionMoment, Watch
from offsets_tool.cli.clock_places import note_moment, write_caption
from offsets_tool.cli.filters import WHEN, Filters, tz_option
from offsets_tool.cli.opening import sources_of
from offsets_tool.cli.reading import Reading
from offsets_tool.cli.render import default_format, note
from offsets_tool.cli.row_route import RowRoute, rows_pay
from offsets_tool.errors import SourceError, UsageError
from offsets_tool.events import Event
from offsets_tool.evidence.moment_notes import moment_notes, number_text, topic_id_notes
from offsets_tool.evidence.moment_texts import Bound, Clock, parse_bound
from offsets_tool.evidence.partition_logs import EventsOf, PartitionLog, partition_logs, uncounted
from offsets_tool.evidence.sources import Source
from offsets_tool.log.topics import find_topics
from offsets_tool.replay.changes import Change
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.wire.json import parse_uuid

F = TypeVar("F", bound=Callable[..., Any])
WatchOf = Callable[[int | None], Watch]
"""Gives whoever watches a partition's changes; asked anew, and the one before forgotten, when it is replayed again."""


def coordinator_option(command: F) -> F:
    """--coordinator --topic-id"""
    topic_id = click.option(
        "--topic-id",
        "topic_ids",
        multiple=True,
        metavar="ID=NAME",
        help="The name of a topic id that no record here names (repeatable).",
    )
    coordinator = click.option(
        "--coordinator",
        type=click.Choice(["auto", "classic", "new"]),
        default="auto",
        show_default=True,
        help="By whose rules the log was written: to 3.9, or 4.x and KIP-848.",
    )
    return coordinator(topic_id(command))


def moment_options(command: F) -> F:
    """--as-of --tz --coordinator --topic-id"""
    as_of = click.option(
        "--as-of",
        multiple=True,
        metavar="WHEN",
        help=f"At {WHEN} where the log ends (repeatable; partitions not named count as empty). Default: the end.",
    )
    return as_of(tz_option(coordinator_option(command)))


def parse_as_of(bound: Bound) -> AsOf:
    """What --as-of names."""
    ends = dict(bound.places)
    if len(ends) < len(bound.places):
        raise UsageError("--as-of names a log partition twice: give each one END_OFFSET")
    return AsOf(bound.time, ends or None)


def open_replay(options: dict[str, Any], *, strict: bool, output_path: str | None) -> "Replaying":
    """From the options that `source_options` and `moment_options` declare."""
    rules = {"classic": Rules.CLASSIC, "new": Rules.NEW}.get(options["coordinator"])
    clock = Clock.of(options)
    bound = parse_bound(options.get("as_of", ()), "--as-of", clock)
    as_of = parse_as_of(bound)
    to_terminal = default_format(output_path) == "table"
    sources = _read_by_kafka(sources_of(options))
    caption = note_moment(bound, "--as-of", sources, clock)
    reading = Reading(sources, Filters(), strict=strict, progress=not to_terminal)
    told = parse_topic_ids(options["topic_ids"])
    return Replaying(
        reading, Moment(as_of, TopicNames(lambda: _names(options["logs"]), told), rules), caption
    )


def parse_topic_ids(texts: tuple[str, ...]) -> dict[str, str]:
    """Return names by topic id, both as text, of the texts of --topic-id; UsageError for what is no ID=NAME."""
    pairs = [text.partition("=") for text in texts]
    for id_, _, name in pairs:
        if parse_uuid(id_) is None or not name:
            raise UsageError(
                f"--topic-id: {id_ + '=' + name!r} is not ID=NAME; write the id's 22 characters as kafka-topics --describe "
                "shows them, as in oHkKSdyAQACNgMdq4zrp6Q=orders"
            )
    names = {id_: name for id_, _, name in pairs}
    for id_, _, name in pairs:
        if names[id_] != name:
            raise UsageError(
                f"--topic-id: {id_} cannot be both {name} and {names[id_]}; give each id one name"
            )
    return names


def _read_by_kafka(sources: list[Source]) -> list[Source]:
    """The sources that Kafka takes for the log, and a word about the others."""
    kept = [source for source in sources if not source.is_set_aside]
    if not kept:
        raise UsageError(
            "all that is here Kafka has set aside (.deleted, -delete ...): name the files to read"
        )
    if left := len(sources) - len(kept):
        note(
            f"{left} file(s) that Kafka has set aside (.deleted, .cleaned, .swap, -delete ...) are not replayed, "
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

    def __init__(self, reading: Reading, moment: Moment, caption: str | None = None) -> None:
        """`caption` is to stand above every table of it."""
        self.reading = reading
        self.moment = moment
        self._caption = caption

    def __enter__(self) -> "Replaying":
        self.reading.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.reading.__exit__(*error)

    def run(self, watch_of: WatchOf | None = None) -> Moment:
        """Replays everything, where needed a second time, and says on stderr what is to be known about the moment."""
        replay_evidence(self.reading, self.moment, watch_of)
        self.reading.stop_progress()
        for damaged in {ledger.log_partition for ledger in self.reading.ledgers if ledger.lacks_records}:
            self.moment.names.candidates.distrust(damaged)
            for partition in self.moment:
                partition.is_damaged |= partition.log_partition == damaged
        for text in moment_notes(self.moment):
            note(text)
        return self.moment

    def finish(self) -> None:
        """Say which names were derived and which are missing, and what could not be read, once all rows are shown."""
        for text in topic_id_notes(self.moment.names):
            note(text)
        self.reading.finish()

    def write_caption(self, out: BinaryIO, format_: str) -> None:
        """Above a table, what --as-of was taken for, where it may have been meant otherwise."""
        write_caption(out, format_, [self._caption] if self._caption else [])

    def once_more(self) -> Iterator[tuple[PartitionMoment, Iterator[tuple[Event, tuple[Change, ...]]]]]:
        """After `run`: the same events again, partition by partition, with their changes by the rules that `run` found to hold."""
        logs = partition_logs(self.reading.sources, uncounted)
        for partition in self.moment:
            yield partition, _changes(partition, logs[partition.log_partition].events())


def _changes(
    partition: PartitionMoment, events: Iterator[Event]
) -> Iterator[tuple[Event, tuple[Change, ...]]]:
    found = partition.coordinator
    coordinator = Coordinator(partition.log_partition, None if found.auto else found.rules)
    for event in events:
        # Not by the cut, which would count once more; and a live log has grown since.
        if event.record.log_offset < partition.end:
            yield event, coordinator.replay(event)


def replay_evidence(reading: Reading, moment: Moment, watch_of: WatchOf | None = None) -> None:
    """Gives the moment all events of the evidence, each partition's in the order of their offsets.

    UsageError when a partition is there twice.
    """
    by_rows = RowRoute(reading) if watch_of is None and rows_pay(reading.sources) else None
    logs = partition_logs(reading.sources, _counted(reading))
    for log in logs.values():
        _replay(moment, log, watch_of, by_rows)
        _say_left_out(reading, moment, log)
    if again := moment.to_replay_again():
        by_rows = by_rows and by_rows.again()
        logs = partition_logs(reading.sources, uncounted)
        for number in again:
            _replay(moment, logs[number], watch_of, by_rows)


def _say_left_out(reading: Reading, moment: Moment, log: PartitionLog) -> None:
    """Segments that reach into each other: what each is by itself, no file's ledger says."""
    if log.left_out.records:
        reading.overlaps += len(log.left_out.sources)
        moment.names.candidates.distrust(log.log_partition)
        note(
            f"partition {number_text(log.log_partition)}: {log.left_out.records} record(s) of segments that reach into each other "
            f"are left out, the first as {log.left_out.first}"
        )


def _replay(moment: Moment, log: PartitionLog, watch_of: WatchOf | None, by_rows: RowRoute | None) -> None:
    """The one place where events, or rows where nobody watches, meet the coordinator."""
    if by_rows is not None:
        by_rows.replay(moment, log.log_partition, log.begins, log.rows(by_rows.rows))
        return
    watch = watch_of(log.log_partition) if watch_of else None
    moment.replay(log.log_partition, log.events(), begins=log.begins, watch=watch)


def _counted(reading: Reading) -> EventsOf:
    def events(source: Source) -> Iterator[Event]:
        for item in reading.items(source):
            yield from reading.decoded(item)

    return events

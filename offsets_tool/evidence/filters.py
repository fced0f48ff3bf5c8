"""Filters of events as one typed value: names, kinds, and a range of times or places in the log.

moment_texts knows what the text of a time or place means.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from offsets_tool.as_of.selection import ANY, NameFilter, Range, Wanted
from offsets_tool.errors import UsageError
from offsets_tool.events import Event
from offsets_tool.evidence.moments.moment_texts import NO_BOUND, Bound
from offsets_tool.evidence.nearest import did_you_mean
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.log_clock import LogClock
from offsets_tool.records import RECORD_TYPES
from offsets_tool.time_texts import shown_time

CONTROL: Final = -1
"""The filter value for control records, which have no record type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """A choice of events: by names of groups and topics, by record type, and by a range of times or places in the log.

    `since` is inclusive, `until` exclusive. A bound made of places excludes all log partitions that it does not name.
    """

    groups: NameFilter = ANY
    topics: NameFilter = ANY
    partition: int | None = None
    types: frozenset[int] = frozenset()
    since: Bound = NO_BOUND
    until: Bound = NO_BOUND

    @property
    def is_active(self) -> bool:
        """Whether the filters can exclude an event."""
        return self != EVERYTHING

    @property
    def wanted(self) -> Wanted:
        """The groups, topics and partition that are asked for."""
        return Wanted(self.groups, self.topics, self.partition)

    def log_partitions(self) -> frozenset[int]:
        """Return the log partitions that places name; empty when no place was given."""
        return frozenset(place.log_partition for place in (*self.since.places, *self.until.places))

    def matches(self, event: Event) -> bool:
        """Return whether an event passes all filters."""
        # Names first: a name that no event of the range has may be there outside of it.
        found = self.range_of(event.record.log_partition)
        return self.about(event) and found is not None and found.holds(event.record)

    def range_of(self, log_partition: int | None) -> Range | None:
        """Return which offsets and times of a log partition are asked for; None where nothing of it is."""
        named = self.log_partitions()
        if named and log_partition not in named:
            return None
        since, until = (
            [place.log_offset for place in bound.places if place.log_partition == log_partition]
            for bound in (self.since, self.until)
        )
        return Range((self.since.time, self.until.time), (max(since, default=None), min(until, default=None)))

    def about(self, event: Event) -> bool:
        """Return whether an event passes the filters of names and record types, whatever its place and time."""
        data = event.key.data if event.key else None
        if self.groups and event.group not in self.groups:
            return False
        if self.topics and getattr(data, "topic", None) not in self.topics:
            return False
        if self.types and (CONTROL if event.record.is_control else event.type_id) not in self.types:
            return False
        return self.partition is None or getattr(data, "partition", None) == self.partition


EVERYTHING: Final = Filters()
"""Filters that leave nothing out."""


def letters(name: str) -> str:
    """Return the name of a record type in the one form that all ways of writing it have: offset-commit and OffsetCommit."""
    return re.sub(r"[-_ ]", "", name).lower()


def parse_type(text: str) -> int:
    """Return the record type that a number, Kafka's name or `control` means; UsageError for any other text."""
    wanted = letters(text)
    if wanted == "control":
        return CONTROL
    names = {letters(record_type.name): number for number, record_type in RECORD_TYPES.items()}
    if wanted in names:
        return names[wanted]
    if text.isascii() and text.isdecimal():
        return int(text)
    raise UsageError(
        f"--type: no record type {text!r}; give a number, `control`, or a name from `offsets-tool schema`."
        f"{did_you_mean(text, [known.name for known in RECORD_TYPES.values()])}"
    )


def wanted_of(groups: Sequence[str] = (), topics: Sequence[str] = (), partition: int | None = None) -> Wanted:
    """Return the names that texts and patterns mean; UsageError for a partition without its topic."""
    if partition is not None and not topics:
        raise UsageError("--partition is a topic's partition: name the topic with --topic")
    return Wanted(NameFilter(groups), NameFilter(topics), partition)


def dated(files: Iterable[LedgerEntry], clocks: Mapping[int | None, LogClock]) -> list[LedgerEntry]:
    """Return files whose times are those of their log partition where its other records contradict their least or greatest one."""
    return [
        _dated(file, [clock for number, clock in clocks.items() if file.log_partition in (None, number)])
        for file in files
    ]


def _dated(file: LedgerEntry, clocks: Sequence[LogClock]) -> LedgerEntry:
    first, last = file.min_timestamp, file.max_timestamp
    if first is not None and any(clock.has_left_out(first) for clock in clocks):
        begins = [clock.began for clock in clocks if clock.began is not None and clock.began >= first]
        first = min(begins, default=first)
    if last is not None and any(clock.has_left_out(last) for clock in clocks):
        ends = [clock.newest for clock in clocks if clock.newest is not None and clock.newest <= last]
        last = max(ends, default=last)
    return replace(file, min_timestamp=first, max_timestamp=last)


def records_span(entries: Iterable[LedgerEntry]) -> tuple[int, int] | None:
    """Return the times (epoch ms) of the oldest and the newest record of some files; None where no record has one."""
    times = [
        (entry.min_timestamp, entry.max_timestamp)
        for entry in entries
        if entry.min_timestamp is not None and entry.max_timestamp is not None
    ]
    return (min(first for first, _ in times), max(last for _, last in times)) if times else None


def span_text(entries: Iterable[LedgerEntry]) -> str | None:
    """Return the words from when to when the records of some files are; None where no record has a time."""
    span = records_span(entries)
    return span and f"the records here are from {shown_time(span[0])} to {shown_time(span[1])}"


def unreached(asked: Filters, entries: Iterable[LedgerEntry]) -> str | None:
    """Return a note that no record of some files is from the range of `asked`, and from when to when they are.

    None without a range, where a record may be from it, and where there is no record at all, of which other notes tell.
    """
    files = [entry for entry in entries if entry.records]
    if not files or not (asked.since.is_given or asked.until.is_given):
        return None
    none = "no record is from the window asked for"
    if _is_backwards(asked):
        return f"{none}: --since is not before --until"
    if any(_may_be_within(asked, entry) for entry in files):
        return None
    here = ", ".join(offsets_here(asked, files)) or span_text(files)
    return f"{none}, and nothing is known of it" + (f": {here}" if here else "")


def _is_backwards(asked: Filters) -> bool:
    """Return whether a range ends before it begins, or as it begins, so that no record can be in it."""
    first, last = (dict(bound.places) for bound in (asked.since, asked.until))
    ends = [(first[number], last[number]) for number in first.keys() & last.keys()]
    if asked.since.time is not None and asked.until.time is not None:
        ends.append((asked.since.time, asked.until.time))
    return any(begin >= end for begin, end in ends)


def _may_be_within(asked: Filters, entry: LedgerEntry) -> bool:
    """Return whether a record of a file may be in the range; rows of an archive may be of any partition."""
    if entry.log_partition is None and entry.is_archive and asked.log_partitions():
        return True
    within = asked.range_of(entry.log_partition)
    return (
        within is not None
        and _meet(within.times, entry.min_timestamp, entry.max_timestamp)
        and _meet(within.offsets, entry.first_offset, entry.last_offset)
    )


def _meet(bounds: tuple[int | None, int | None], first: int | None, last: int | None) -> bool:
    """Return whether values from `first` to `last` reach into a range; None is unknown, or no bound."""
    since, until = bounds
    return (since is None or last is None or last >= since) and (
        until is None or first is None or first < until
    )


def offsets_here(asked: Filters, files: Sequence[LedgerEntry]) -> Iterator[str]:
    """Yield from which offset to which each log partition is here that the range names."""
    for number in sorted(asked.log_partitions()):
        of = [entry for entry in files if entry.log_partition == number]
        first = [entry.first_offset for entry in of if entry.first_offset is not None]
        last = [entry.last_offset for entry in of if entry.last_offset is not None]
        if first and last:
            yield f"partition {number} is here from offset {min(first)} to {max(last)}"

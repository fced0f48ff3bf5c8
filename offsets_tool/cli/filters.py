"""Which events to show: the filter options, and what their texts mean (times, places, record types).

Every text is turned into a typed value here, with a remedy when it cannot be.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

import click

from offsets_tool.columns.fast.text.selection import Range
from offsets_tool.errors import UsageError
from offsets_tool.events import Event
from offsets_tool.records import RECORD_TYPES
from offsets_tool.replay.wanted import Wanted

F = TypeVar("F", bound=Callable[..., Any])

CONTROL = -1
"""The filter value for control records, which have no record type."""


class Position(NamedTuple):
    """A place in the log."""

    log_partition: int
    log_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One side of a range: a time (epoch ms), or places in named log partitions."""

    time: int | None = None
    places: tuple[Position, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which events to show. `since` is inclusive, `until` exclusive; a place limits the reading to the partitions it names."""

    groups: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    partition: int | None = None
    types: frozenset[int] = frozenset()
    since: Bound = Bound()
    until: Bound = Bound()

    @property
    def active(self) -> bool:
        return self != Filters()

    def log_partitions(self) -> frozenset[int]:
        """The log partitions that places name; empty when no place was given."""
        return frozenset(place.log_partition for place in (*self.since.places, *self.until.places))

    def matches(self, event: Event) -> bool:
        """Whether the event is to be shown."""
        found = self.range_of(event.record.log_partition)
        return found is not None and found.holds(event.record) and self.about(event)

    def range_of(self, log_partition: int | None) -> Range | None:
        """What of a log partition is to be shown; None for nothing."""
        named = self.log_partitions()
        if named and log_partition not in named:
            return None
        since, until = (
            [place.log_offset for place in bound.places if place.log_partition == log_partition]
            for bound in (self.since, self.until)
        )
        return Range((self.since.time, self.until.time), (max(since, default=None), min(until, default=None)))

    def about(self, event: Event) -> bool:
        """Whether key and kind of the event are what is to be shown."""
        if self.types and (CONTROL if event.record.is_control else event.type_id) not in self.types:
            return False
        data = event.key.data if event.key else None
        if self.groups and event.group not in self.groups:
            return False
        if self.topics and getattr(data, "topic", None) not in self.topics:
            return False
        return self.partition is None or getattr(data, "partition", None) == self.partition


_PLACE = re.compile(r"(\d+):(\d+)", re.ASCII)
_EPOCH_MS = re.compile(r"-?\d+", re.ASCII)


def parse_bound(texts: tuple[str, ...], option: str) -> Bound:
    """One time, or any number of LOG_PARTITION:LOG_OFFSET."""
    places = [Position(int(m[1]), int(m[2])) for text in texts if (m := _PLACE.fullmatch(text))]
    if len(places) == len(texts):
        return Bound(places=tuple(places))
    if len(texts) > 1:
        raise UsageError(f"{option}: give one time, or places as LOG_PARTITION:LOG_OFFSET, not both")
    return Bound(time=parse_time(texts[0], option))


def parse_time(text: str, option: str) -> int:
    """ISO 8601 (UTC unless it says otherwise) or epoch milliseconds, as epoch milliseconds."""
    if _EPOCH_MS.fullmatch(text):
        return int(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{option}: {text!r} is neither a time nor a place; write 2026-11-21T02:30:00Z, epoch milliseconds "
            "or LOG_PARTITION:LOG_OFFSET"
        ) from None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return round(at.timestamp() * 1000)


def parse_type(text: str) -> int:
    """A record type by number, by Kafka's name, or `control`."""
    wanted = re.sub(r"[-_ ]", "", text).lower()
    if wanted == "control":
        return CONTROL
    names = {record_type.name.lower(): number for number, record_type in RECORD_TYPES.items()}
    if wanted in names:
        return names[wanted]
    if text.isascii() and text.isdecimal():
        return int(text)
    raise UsageError(
        f"--type: no record type {text!r}; give a number, `control`, or a name from `offsets-tool schema`"
    )


def group_option(command: F) -> F:
    """--group"""
    return click.option("--group", "groups", multiple=True, metavar="GROUP", help="Only this group.")(command)


def offset_options(command: F) -> F:
    """--group --topic --partition"""
    topic = click.option(
        "--topic", "topics", multiple=True, metavar="TOPIC", help="Only commits for this topic."
    )
    partition = click.option(
        "--partition", type=int, metavar="P", help="Only commits for this partition of --topic."
    )
    return group_option(topic(partition(command)))


def range_options(command: F) -> F:
    """--since --until"""
    since = click.option(
        "--since", multiple=True, metavar="WHEN", help="From a time, or LOG_PARTITION:LOG_OFFSET, on."
    )
    until = click.option("--until", multiple=True, metavar="WHEN", help="Up to a time or place, without it.")
    return since(until(command))


def filter_options(command: F) -> F:
    """--group --topic --partition --type --since --until, gathered into `filters`."""
    for option in reversed(
        (
            offset_options,
            click.option(
                "--type",
                "types",
                multiple=True,
                metavar="TYPE",
                help="Only this record type: number, name, `control`.",
            ),
            range_options,
        )
    ):
        command = option(command)
    return command


def parse_wanted(options: dict[str, Any]) -> Wanted:
    """The texts of `group_option` or `offset_options`."""
    partition = options.get("partition")
    if partition is not None and not options["topics"]:
        raise UsageError("--partition is a topic's partition: name the topic with --topic")
    return Wanted(frozenset(options["groups"]), frozenset(options.get("topics", ())), partition)


def parse_filters(options: dict[str, Any]) -> Filters:
    """The filter options' texts as one value."""
    wanted = parse_wanted(options)
    return Filters(
        groups=wanted.groups,
        topics=wanted.topics,
        partition=wanted.partition,
        types=frozenset(parse_type(text) for text in options["types"]),
        since=parse_bound(options["since"], "--since"),
        until=parse_bound(options["until"], "--until"),
    )

"""Which events to show: the filter options, and what their texts mean (names, record types; times and places: moment_texts).

Every text is turned into a typed value, with a remedy when it cannot be.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from offsets_tool.as_of.selection import ANY, Names, Wanted
from offsets_tool.columns.text.selection import Range
from offsets_tool.errors import UsageError
from offsets_tool.events import Event
from offsets_tool.evidence.moment_texts import NO_BOUND, Bound, Clock, parse_bound
from offsets_tool.evidence.nearest import did_you_mean
from offsets_tool.records import RECORD_TYPES

F = TypeVar("F", bound=Callable[..., Any])

A_TIME = "2026-11-21T14:05Z, 'yesterday 14:05', -2h, now, epoch milliseconds; UTC unless it says otherwise"
"""What an option for a time takes, as its help says it."""
A_NAME = "a name, or a pattern such as 'orders-*', 'app-?' or 'v[12]'"
"""What an option for a name takes, as its help says it."""
WHEN = f"a time ({A_TIME}), or LOG_PARTITION:LOG_OFFSET"
"""What an option for a moment takes, as its help says it."""

CONTROL = -1
"""The filter value for control records, which have no record type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which events to show. `since` is inclusive, `until` exclusive; a place limits the reading to the partitions it names."""

    groups: Names = ANY
    topics: Names = ANY
    partition: int | None = None
    types: frozenset[int] = frozenset()
    since: Bound = NO_BOUND
    until: Bound = NO_BOUND

    @property
    def active(self) -> bool:
        return self != Filters()

    @property
    def wanted(self) -> Wanted:
        """The names among them."""
        return Wanted(self.groups, self.topics, self.partition)

    def log_partitions(self) -> frozenset[int]:
        """The log partitions that places name; empty when no place was given."""
        return frozenset(place.log_partition for place in (*self.since.places, *self.until.places))

    def matches(self, event: Event) -> bool:
        """Whether the event is to be shown. Its names are looked at wherever it stands: a name may be missing from a range only."""
        found = self.range_of(event.record.log_partition)
        return self.about(event) and found is not None and found.holds(event.record)

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
        data = event.key.data if event.key else None
        if self.groups and event.group not in self.groups:
            return False
        if self.topics and getattr(data, "topic", None) not in self.topics:
            return False
        if self.types and (CONTROL if event.record.is_control else event.type_id) not in self.types:
            return False
        return self.partition is None or getattr(data, "partition", None) == self.partition


def letters(name: str) -> str:
    """Return the name of a record type in the one form that all ways of writing it have: offset-commit and OffsetCommit."""
    return re.sub(r"[-_ ]", "", name).lower()


def parse_type(text: str) -> int:
    """A record type by number, by Kafka's name, or `control`."""
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


def group_option(command: F) -> F:
    """--group"""
    return click.option(
        "--group", "groups", multiple=True, metavar="GROUP", help=f"Only this group: {A_NAME}."
    )(command)


def offset_options(command: F) -> F:
    """--group --topic --partition"""
    topic = click.option(
        "--topic",
        "topics",
        multiple=True,
        metavar="TOPIC",
        help="Only commits for this topic, or such a pattern.",
    )
    partition = click.option(
        "--partition", type=int, metavar="P", help="Only commits for this partition of --topic."
    )
    return group_option(topic(partition(command)))


def tz_option(command: F) -> F:
    """--tz"""
    return click.option(
        "--tz",
        metavar="ZONE",
        help="Read times that do not say their zone as of this one: Europe/Berlin, +02:00. Default: UTC. What is shown is UTC.",
    )(command)


def range_options(command: F) -> F:
    """--since --until --tz"""
    since = click.option("--since", multiple=True, metavar="WHEN", help=f"From a moment on: {WHEN}.")
    until = click.option("--until", multiple=True, metavar="WHEN", help="Up to a moment, without it.")
    return since(until(tz_option(command)))


def filter_options(command: F) -> F:
    """--group --topic --partition --type --since --until --tz, gathered into `filters`."""
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
    return Wanted(Names(options["groups"]), Names(options.get("topics", ())), partition)


def parse_filters(options: dict[str, Any], clock: Clock) -> Filters:
    """The filter options' texts as one value."""
    wanted = parse_wanted(options)
    return Filters(
        groups=wanted.groups,
        topics=wanted.topics,
        partition=wanted.partition,
        types=frozenset(parse_type(text) for text in options["types"]),
        since=parse_bound(options["since"], "--since", clock),
        until=parse_bound(options["until"], "--until", clock),
    )

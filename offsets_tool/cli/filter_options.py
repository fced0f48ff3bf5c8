"""Options that choose what is shown (groups, topics, partitions, record types, ranges) and how times are read.

What their texts mean is decided in evidence.filters and evidence.moments.moment_texts.
"""

import click

from offsets_tool.as_of.selection import Wanted
from offsets_tool.cli.options import F, OptionsGiven
from offsets_tool.evidence.filters import Filters, parse_type, wanted_of
from offsets_tool.evidence.moments.moment_texts import Clock, parse_bound

A_TIME = "2026-11-21T14:05Z, 'yesterday 14:05', -2h, now, epoch milliseconds; UTC unless it says otherwise"
"""What an option for a time takes, in the words of its help."""
A_NAME = "a name, or a pattern such as 'orders-*', 'app-?' or 'v[12]'"
"""What an option for a name takes, in the words of its help."""
WHEN = f"a time ({A_TIME}), or LOG_PARTITION:LOG_OFFSET"
"""What an option for a moment takes, in the words of its help."""


def group_option(command: F) -> F:
    """Add the option --group to a command."""
    return click.option(
        "--group", "groups", multiple=True, metavar="GROUP", help=f"Only this group: {A_NAME}."
    )(command)


def offset_options(command: F) -> F:
    """Add the options --group --topic --partition to a command."""
    topic = click.option(
        "--topic",
        "topics",
        multiple=True,
        metavar="TOPIC",
        help="Only commits for this topic; a name or a pattern, as for --group.",
    )
    partition = click.option(
        "--partition", type=int, metavar="P", help="Only commits for this partition of --topic."
    )
    return group_option(topic(partition(command)))


def tz_option(command: F) -> F:
    """Add the option --tz to a command."""
    return click.option(
        "--tz",
        metavar="ZONE",
        help="The zone of times in options that do not say theirs: Europe/Berlin, +02:00. Default: UTC. Output is in UTC.",
    )(command)


def range_options(command: F) -> F:
    """Add the options --since --until --tz to a command."""
    since = click.option("--since", multiple=True, metavar="WHEN", help=f"From a moment on: {WHEN}.")
    until = click.option("--until", multiple=True, metavar="WHEN", help="Up to a moment, exclusive.")
    return since(until(tz_option(command)))


def filter_options(command: F) -> F:
    """Add the options --group --topic --partition --type --since --until --tz to a command."""
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


def clock_of(options: OptionsGiven) -> Clock:
    """Return this machine's clock with the zone of --tz; UsageError where there is no such zone."""
    return Clock.in_zone(options.get("tz"))


def parse_wanted(options: OptionsGiven) -> Wanted:
    """Return the groups, topics and partition that the values of `group_option` or `offset_options` choose.

    UsageError for a partition without a topic.
    """
    return wanted_of(options["groups"], options.get("topics", ()), options.get("partition"))


def parse_filters(options: OptionsGiven, clock: Clock) -> Filters:
    """Return the filters that the values of `filter_options` ask for; UsageError for an unknown type or moment."""
    wanted = parse_wanted(options)
    return Filters(
        groups=wanted.groups,
        topics=wanted.topics,
        partition=wanted.partition,
        types=frozenset(map(parse_type, options["types"])),
        since=parse_bound(options["since"], "--since", clock),
        until=parse_bound(options["until"], "--until", clock),
    )

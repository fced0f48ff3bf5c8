"""Options that choose what is shown (groups, topics, partitions, record types, ranges) and how times are read.

What their texts mean is decided in evidence.filters and evidence.moments.moment_texts.
"""

from dataclasses import replace

import click

from offsets_tool.as_of.selection import Wanted
from offsets_tool.cli.options import OptionsGiven, together
from offsets_tool.evidence.filters import Filters, parse_type, wanted_of
from offsets_tool.evidence.moments.moment_texts import Clock, parse_bound

A_TIME = "2026-11-21T14:05Z, 'yesterday 14:05', -2h, now, epoch milliseconds; UTC unless it says otherwise"
"""What an option for a time takes, in the words of its help."""
A_NAME = "a name, or a pattern such as 'orders-*', 'app-?' or 'v[12]'"
"""What an option for a name takes, in the words of its help."""
WHEN = f"a time ({A_TIME}), or LOG_PARTITION:LOG_OFFSET"
"""What an option for a moment takes, in the words of its help."""


group_option = click.option(
    "--group", "groups", multiple=True, metavar="GROUP", help=f"Only this group: {A_NAME}."
)
"""Adds the option --group to a command."""
offset_options = together(
    group_option,
    click.option(
        "--topic",
        "topics",
        multiple=True,
        metavar="TOPIC",
        help="Only commits for this topic; a name or a pattern, as for --group.",
    ),
    click.option("--partition", type=int, metavar="P", help="Only commits for this partition of --topic."),
)
"""Adds the options --group --topic --partition to a command."""
tz_option = click.option(
    "--tz",
    metavar="ZONE",
    help="The zone of times in options that do not say theirs: Europe/Berlin, +02:00. Default: UTC. Output is in UTC.",
)
"""Adds the option --tz to a command."""
range_options = together(
    click.option("--since", multiple=True, metavar="WHEN", help=f"From a moment on: {WHEN}."),
    click.option("--until", multiple=True, metavar="WHEN", help="Up to a moment, exclusive."),
    tz_option,
)
"""Adds the options --since --until --tz to a command."""
filter_options = together(
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
"""Adds the options --group --topic --partition --type --since --until --tz to a command."""


def clock_of(options: OptionsGiven) -> Clock:
    """Return this machine's clock with the zone of --tz; UsageError where there is no such zone."""
    return Clock.in_zone(options.get("tz"))


def parse_wanted(options: OptionsGiven) -> Wanted:
    """Return the groups, topics and partition that the values of `group_option` or `offset_options` choose.

    UsageError for a partition without a topic.
    """
    return wanted_of(options["groups"], options.get("topics", ()), options.get("partition"))


def parse_range(options: OptionsGiven, clock: Clock) -> Filters:
    """Return filters that have the range that the values of `range_options` ask for, and no more; UsageError for no moment."""
    since, until = (parse_bound(options[name], f"--{name}", clock) for name in ("since", "until"))
    return Filters(since=since, until=until)


def parse_filters(options: OptionsGiven, clock: Clock) -> Filters:
    """Return the filters that the values of `filter_options` ask for; UsageError for an unknown type or moment."""
    types = frozenset(map(parse_type, options["types"]))
    return replace(parse_range(options, clock), **parse_wanted(options)._asdict(), types=types)

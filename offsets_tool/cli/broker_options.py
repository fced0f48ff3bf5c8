"""Options for what this topic does not say of its brokers: settings that expiry depends on, and their own logs."""

from dataclasses import replace

import click

from offsets_tool.cli.options import OptionsGiven, together
from offsets_tool.evidence.expiring import PolicyOverrides, policy_of
from offsets_tool.evidence.moments.moment_texts import parse_zone
from offsets_tool.server_log.clocks import in_zone
from offsets_tool.server_log.parse import ServerLogFile, read_server_logs

policy_options = together(
    click.option(
        "--kafka-version",
        metavar="X.Y[.Z]",
        help="The release whose rules of expiry apply. Default: what the log proves; a note says which.",
    ),
    click.option(
        "--retention",
        "retentions",
        multiple=True,
        metavar="SPAN",
        help="offsets.retention.minutes as 7d, 36h, 90m. Repeat it to compare retentions; removals are explained by the "
        "first. Default: what values up to 2.0 say, else what removals suggest, else a day before 2.0 and a week since.",
    ),
    click.option(
        "--check-interval",
        metavar="SPAN",
        help="offsets.retention.check.interval.ms, as 10m or 90s. Default: 10m, or less where removals suggest it.",
    ),
)
"""Adds the options --kafka-version --retention --check-interval to a command."""


def parse_policy(options: OptionsGiven) -> PolicyOverrides:
    """Return the policy that the values of `policy_options` give; UsageError for an unknown release or an unreadable span."""
    return policy_of(options["kafka_version"], options["retentions"], options["check_interval"])


server_log_options = together(
    click.option(
        "--server-log",
        "server_logs",
        multiple=True,
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        help="The broker's own log (server.log, also .gz; repeatable): its coordinator's lines state reasons that this topic does "
        "not have.",
    ),
    click.option(
        "--server-log-zone",
        metavar="ZONE",
        help="The zone of its times: Europe/Berlin, +02:00. Default: what the lines say, else what fits the records.",
    ),
)
"""Adds the options --server-log --server-log-zone to a command."""


def parse_server_logs(options: OptionsGiven) -> list[ServerLogFile]:
    """Read the files that the values of `server_log_options` name.

    UsageError where there is no such zone; SourceError for a file that cannot be read.
    """
    zone = options["server_log_zone"]
    files = read_server_logs(options["server_logs"])
    if zone is None:
        return files
    clock = parse_zone(zone, "--server-log-zone")
    return [replace(each, entries=in_zone(each.entries, clock)) for each in files]

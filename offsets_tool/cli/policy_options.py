"""Options for the broker's settings that expiry depends on: release, retention, check interval; and how their texts are read."""

import click

from offsets_tool.cli.options import OptionsGiven, together
from offsets_tool.evidence.expiring import PolicyOverrides, policy_of

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

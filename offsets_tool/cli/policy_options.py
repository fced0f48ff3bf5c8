"""Options that say by which rules offsets expire: a release, retentions, how often a broker checks; and what their texts mean."""

from collections.abc import Mapping
from typing import Any

import click

from offsets_tool.cli.options import F
from offsets_tool.dialects.versions import name_of, parse_release
from offsets_tool.evidence.expiring import PolicyGiven
from offsets_tool.evidence.times import parse_duration
from offsets_tool.expiry.rules import MAX_RETENTION_MS
from offsets_tool.wire.json import Release


def policy_options(command: F) -> F:
    """--kafka-version --retention --check-interval"""
    for option in reversed(
        (
            click.option(
                "--kafka-version",
                metavar="X.Y[.Z]",
                help="By whose rules; default: what the log proves, which a note says.",
            ),
            click.option(
                "--retention",
                "retentions",
                multiple=True,
                metavar="SPAN",
                help="offsets.retention.minutes as 7d, 36h, 90m. Repeat it to compare: what is gone is explained by the first. "
                "Default: what values up to 2.0 say, else what removals speak for, else a day before 2.0 and a week since.",
            ),
            click.option(
                "--check-interval",
                metavar="SPAN",
                help="offsets.retention.check.interval.ms. Default: 10m, or less where removals speak for it.",
            ),
        )
    ):
        command = option(command)
    return command


def parse_policy(options: Mapping[str, Any]) -> PolicyGiven:
    """Return what the texts of `policy_options` mean; UsageError for an unknown release and for what is no span of time."""
    interval = options["check_interval"]
    return PolicyGiven(
        release=_parse_family(options["kafka_version"]),
        retentions=tuple(
            parse_duration(text, "--retention", MAX_RETENTION_MS) for text in options["retentions"]
        ),
        check_interval_ms=None if interval is None else parse_duration(interval, "--check-interval"),
    )


def _parse_family(text: str | None) -> Release | None:
    """Rules change with releases, not with patches: 3.9 for what is given as 3.9.1."""
    return tuple(map(int, name_of(parse_release(text)).split("."))) if text else None

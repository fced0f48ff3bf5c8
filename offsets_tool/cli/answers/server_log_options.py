"""Declare the options for brokers' own logs, which state reasons that the topic does not have, once for all commands."""

from dataclasses import replace

import click

from offsets_tool.cli.options import OptionsGiven, together
from offsets_tool.evidence.moments.moment_texts import parse_zone
from offsets_tool.server_log.clocks import in_zone
from offsets_tool.server_log.parse import ServerLogFile, read_server_logs

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

"""The command line: parse, one library call, show. stdout is data, stderr is notes, progress and errors.

Exit codes: 0, 1 our error, 2 usage, 3 `--strict` met a problem. Commands are loaded when they are asked for.
"""

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import click

from offsets_tool.errors import OffsetsToolError, UsageError


class Place(NamedTuple):
    """Where a command is, and what the list of commands says of it without importing it."""

    module: str
    summary: str


_COMMANDS = {
    "decode": Place(
        "offsets_tool.cli.decode", "Every record, as JSON or as a Kafka release's own tool prints it."
    ),
    "inspect": Place(
        "offsets_tool.cli.inspect", "What the evidence is and covers, and whether the ledger adds up."
    ),
    "describe": Place(
        "offsets_tool.cli.describe", "A group at a moment, as kafka-consumer-groups --describe lays it out."
    ),
    "groups": Place(
        "offsets_tool.cli.groups", "The groups at a moment: kind, state, generation or epoch, members."
    ),
    "offsets": Place("offsets_tool.cli.offsets", "Committed offsets at a moment, and those pending."),
    "expiry": Place(
        "offsets_tool.cli.expiry", "When committed offsets expire, and why those that are gone went."
    ),
    "history": Place(
        "offsets_tool.cli.history", "Every change of groups, members and offsets, with who and when."
    ),
    "lag": Place("offsets_tool.cli.lag", "How far behind groups were at a moment, in offsets and in time."),
    "partition": Place(
        "offsets_tool.cli.partition", "In which partition of __consumer_offsets a group lives."
    ),
    "schema": Place("offsets_tool.cli.schema", "Record types, and the fields of one in all its versions."),
    "transactions": Place(
        "offsets_tool.cli.transactions", "What is open, what it blocks, and how the others ended."
    ),
}


class LazyGroup(click.Group):
    """Imports a command's module only when it is used (or listed in --help), so that small commands start at once.

    Also turns our errors into a sentence and an exit code.
    """

    def __init__(self, *args: Any, places: Mapping[str, Place], **options: Any) -> None:
        super().__init__(*args, **options)
        self._places = places

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._places:
            return None
        module = importlib.import_module(self._places[cmd_name].module)
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.summary) for name, place in self._places.items()])

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except OffsetsToolError as error:
            usage = isinstance(error, UsageError)
            raise (click.UsageError if usage else click.ClickException)(str(error)) from error


SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(cls=LazyGroup, places=_COMMANDS, context_settings=SETTINGS)
@click.version_option(package_name="offsets-tool")
def main() -> None:
    """Forensics for Kafka's __consumer_offsets: reads it from broker files, archives or a live broker, and says what is there."""

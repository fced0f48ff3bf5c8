"""The command line: parse, one library call, show. stdout is data, stderr is notes, progress and errors.

Exit codes: 0, 1 our error, 2 usage, 3 `--strict` met a problem. Commands are loaded when they are asked for.
"""

import importlib
from collections.abc import Mapping
from typing import Any

import click

from offsets_tool.errors import OffsetsToolError, UsageError

_COMMANDS = {
    "decode": "offsets_tool.cli.decode",
    "inspect": "offsets_tool.cli.inspect",
    "partition": "offsets_tool.cli.reference",
    "schema": "offsets_tool.cli.reference",
}
"""Command -> the module that has it."""


class LazyGroup(click.Group):
    """Imports a command's module only when it is used (or listed in --help), so that small commands start at once.

    Also turns our errors into a sentence and an exit code.
    """

    def __init__(self, *args: Any, modules: Mapping[str, str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._modules:
            return None
        module = importlib.import_module(self._modules[cmd_name])
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except OffsetsToolError as error:
            usage = isinstance(error, UsageError)
            raise (click.UsageError if usage else click.ClickException)(str(error)) from error


SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(cls=LazyGroup, modules=_COMMANDS, context_settings=SETTINGS)
@click.version_option(package_name="offsets-tool")
def main() -> None:
    """Forensics for Kafka's __consumer_offsets: reads it from broker files, archives or a live broker, and says what is there."""

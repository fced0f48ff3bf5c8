"""The command line: parse, one library call, show. stdout is data, stderr is notes, progress and errors.

Exit codes: 0, 1 our error, 2 usage, 3 `--strict` met a problem. Commands are loaded when they are asked for.
"""

import importlib

import click

from offsets_tool.errors import OffsetsToolError, UsageError

_COMMANDS = {"decode": "decode", "inspect": "inspect", "partition": "reference", "schema": "reference"}
"""Command -> module of this package."""


class _Lazy(click.Group):
    """Imports a command's module only when it is used, so that --help and small commands start at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"offsets_tool.cli.{_COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except OffsetsToolError as error:
            usage = isinstance(error, UsageError)
            raise (click.UsageError if usage else click.ClickException)(str(error)) from error


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="offsets-tool")
def main() -> None:
    """Forensics for Kafka's __consumer_offsets: reads it from broker files, archives or a live broker, and says what is there."""

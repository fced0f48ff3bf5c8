"""Options for the form of a command's output, shared by all commands: format, columns, file, strictness."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
"""A command's function, before and after an option is added to it."""


def format_option(command: F) -> F:
    """Add the options --format --wide --show to a command."""
    for option in reversed(
        (
            click.option(
                "--format",
                "format_",
                type=click.Choice(["table", "jsonl", "csv"]),
                help="Default: table on a terminal, jsonl in a pipe. In CSV, a quote precedes a text that a spreadsheet would "
                "take for a formula.",
            ),
            click.option(
                "--wide",
                is_flag=True,
                help="Show tables with all columns and whole names, however narrow the terminal is (as in a pipe).",
            ),
            click.option(
                "--show",
                multiple=True,
                metavar="COLUMN,...",
                help="Show tables and CSV with these columns, in this order.",
            ),
        )
    ):
        command = option(command)
    return command


def output_options(command: F) -> F:
    """Add the options --format --wide --show --output --strict to a command."""
    strict = click.option("--strict", is_flag=True, help="Exit with 3 when anything could not be read.")
    output = click.option(
        "--output",
        "output_path",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="Write to this file instead of stdout.",
    )
    return format_option(output(strict(command)))

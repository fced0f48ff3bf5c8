"""How the result is to be given: options that commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
"""A command's function, as it is before or after an option was added to it."""


def format_option(command: F) -> F:
    """--format --wide --show"""
    for option in reversed(
        (
            click.option(
                "--format",
                "format_",
                type=click.Choice(["table", "jsonl", "csv"]),
                help="Default: table on a terminal, jsonl in a pipe. In CSV a text that a spreadsheet would take for a formula "
                "has a quote before it.",
            ),
            click.option(
                "--wide",
                is_flag=True,
                help="Tables with all columns and whole names, however wide the terminal is (as in a pipe).",
            ),
            click.option(
                "--show",
                multiple=True,
                metavar="COLUMN,...",
                help="Tables and CSV with these columns, in this order.",
            ),
        )
    ):
        command = option(command)
    return command


def output_options(command: F) -> F:
    """--format --wide --show --output --strict"""
    strict = click.option("--strict", is_flag=True, help="Exit with 3 when anything could not be read.")
    output = click.option(
        "--output",
        "output_path",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="Write there instead of stdout.",
    )
    return format_option(output(strict(command)))

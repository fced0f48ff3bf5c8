"""Declare the options that commands share: format, columns, file, strictness, and what a bug report needs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import click

from offsets_tool.evidence.listener import measured

F = TypeVar("F", bound=Callable[..., Any])
"""A command's function, before and after an option is added to it."""
Option: TypeAlias = Any
"""What click made of an option: the option's declaration says of which type."""
OptionsGiven: TypeAlias = Mapping[str, Option]
"""Options of a command, by their names."""


FORMATS: Final = ("table", "jsonl", "csv")
"""The forms in which most commands write their rows."""


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a function that adds these options to a command, the first of them first."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def format_option(command: F, formats: Sequence[str] = FORMATS) -> F:
    """Add the options --format --wide --show to a command; `formats` are the values that --format takes."""
    return together(
        click.option(
            "--format",
            "format_",
            type=click.Choice(formats),
            help="Default: table on a terminal, jsonl in a pipe. In CSV, a quote precedes a text that a spreadsheet would take for "
            "a formula.",
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
    )(command)


output_option = click.option(
    "--output",
    "output_path",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write to this file instead of stdout.",
)
UNREAD: Final = "Exit with 3 when anything could not be read"
"""What --strict does for every command, in the words of its help."""


def output_options(command: F, formats: Sequence[str] = FORMATS, strict_help: str = f"{UNREAD}.") -> F:
    """Add the options --format --wide --show --output --strict to a command; `formats` are the values that --format takes."""
    strict = click.option("--strict", is_flag=True, help=strict_help)
    return format_option(output_option(strict(command)), formats)


STOPWATCH: Final = "stopwatch"
"""The name under which the context of a command with --debug keeps its stopwatch."""


def _measure(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        # click does not close the context of a command whose later options are wrong.
        context.meta[STOPWATCH] = context.find_root().with_resource(measured())


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    # Before other options, whose values may be wrong.
    is_eager=True,
    callback=_measure,
    help="Show on stderr how long each step took, and the whole traceback of an error: for a bug report.",
)
"""Adds the option --debug to a command, which `LazyGroup` heeds; the command is not told."""

"""Make the command line of the running command once more, as it was typed, but with other values for some options."""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

import click
from click.core import ParameterSource

from offsets_tool.plans.commands import CommandWords, shell_word

_FORM: Final = frozenset({"format_", "output_path", "wide", "show", "strict"})
"""Options that say how an answer is written. Those that say how it is made have no value among the command's parameters."""


def same_command(
    given: Mapping[str, tuple[str, ...]],
    command: str | None = None,
    only: Collection[str] | None = None,
) -> CommandWords:
    """Return the words of the running command without its output options; `given` has other values for options, by name.

    `command` names another command; `only` then names the options that both have.
    """
    context = click.get_current_context()
    words = ["offsets-tool", command or str(context.command.name)]
    for parameter in context.command.params:
        is_meant = parameter.expose_value and (only is None or parameter.name in only)
        if parameter.name is not None and parameter.name not in _FORM and is_meant:
            words += _words(context, parameter, given.get(parameter.name))
    return words


def _words(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...] | None
) -> Iterator[str]:
    assert parameter.name is not None
    is_typed = context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    if given is None and not is_typed:
        return
    value = context.params[parameter.name] if given is None else given
    values = value if isinstance(value, tuple) else (value,)
    if isinstance(parameter, click.Argument):
        yield from map(shell_word, map(str, values))
    elif isinstance(value, bool):
        yield from [parameter.opts[0]] if value else []
    else:
        yield from (f"{parameter.opts[0]} {shell_word(str(each))}" for each in values)

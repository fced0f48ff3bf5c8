"""The command line: each command parses options, makes one library call, and shows the result on stdout; notes go to stderr.

Exit codes: 0, 1 our error, 2 usage, 3 `--strict` met a problem, 75 a lake in use by another job. Commands are loaded when they are
asked for.
"""

import importlib
import os
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from typing import Any, NamedTuple

import click
from click.exceptions import NoArgsIsHelpError

from offsets_tool import __version__
from offsets_tool.cli.options import STOPWATCH, Option
from offsets_tool.errors import LakeInUse, OffsetsToolError, UsageError
from offsets_tool.evidence.nearest import did_you_mean
from offsets_tool.process import collect_seldom, leave_out_pandas
from offsets_tool.wire.text import visible


class CommandEntry(NamedTuple):
    """A command's module, and what --help lists of it without importing it: the question it answers and a summary."""

    module: str
    question: str
    summary: str


def entries(package: str, *tables: tuple[str, tuple[tuple[str, str, str], ...]]) -> dict[str, CommandEntry]:
    """Return commands by name: of each question those that answer it, with their modules in a package and their summaries."""
    return {
        name: CommandEntry(f"{package}.{module}".rstrip("."), question, summary)
        for question, commands in tables
        for name, module, summary in commands
    }


_COMMANDS = entries(
    "offsets_tool.cli",
    (
        "What is this evidence, is it whole, and what does it say?",
        (
            ("inspect", "inspect", "Files, times, formats, gaps, and whether the ledger adds up."),
            ("decode", "decode", "Every record, as JSON or byte for byte as Kafka's tools print it."),
            ("size", "answers.size", "Why the log is so large, by group, and what compaction would leave."),
            ("copies", "copies", "Several copies compared: what only one has, and what contradicts."),
        ),
    ),
    (
        "What held, at the end or at a moment?",
        (
            ("groups", "groups", "The groups: kind, state, generation or epoch, members."),
            ("describe", "describe", "One group or all, as kafka-consumer-groups --describe."),
            (
                "assignments",
                "answers.assignments",
                "The owner of each partition, over time too, and an audit.",
            ),
            ("offsets", "offsets", "Committed offsets, and those pending; files to reset from."),
            ("lag", "lag", "How far behind groups were, in offsets and in time."),
            ("diff", "answers.diff", "Two moments compared: groups, members, owners, offsets."),
        ),
    ),
    (
        "What happened, and why?",
        (
            ("diagnose", "answers.diagnose", "The verdict: what is wrong, the worst first, and what to do."),
            ("explain", "answers.explain", "The story of a group in words, for an incident review."),
            (
                "timeline",
                "answers.timeline",
                "Everything that happened, of all groups, in the order of time.",
            ),
            ("report", "answers.report", "All of that as one HTML page, for an incident review."),
            ("findings", "findings", "What is wrong or odd, the worst first, with its evidence."),
            (
                "rebalances",
                "answers.rebalances",
                "Each rebalance: why, how long, who came and went, what moved.",
            ),
            ("history", "history", "Every change of groups, members and offsets: who and when."),
            ("expiry", "expiry", "When offsets expire, and why others were removed."),
            ("transactions", "transactions", "What is open, what it blocks, and how the others ended."),
        ),
    ),
    (
        "How to get back to a moment? (nothing is changed)",
        (("plan", "answers.plan", "What would be set for the way back, its risks, and the commands."),),
    ),
    (
        "What does a lake say?",
        (("sql", "sql", "Answers in SQL, over the tables and views of a lake, without Spark."),),
    ),
    (
        "Where is a group's log, and how are records written? (no evidence needed)",
        (
            ("partition", "partition", "In which partition of __consumer_offsets a group lives."),
            ("schema", "schema", "Record types, and the fields of one in all its versions."),
        ),
    ),
)


class LazyGroup(click.Group):
    """A click group that imports a command's module only when the command runs, so that --help and small commands start at once.

    Turns an OffsetsToolError into one sentence on stderr and exit code 1, a UsageError into 2, LakeInUse into 75.
    """

    def __init__(self, *args: Any, entries: Mapping[str, CommandEntry], **options: Option) -> None:
        """Make a group whose commands are imported when they are called; `entries` has them by name."""
        super().__init__(*args, **options)
        self._entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands' names in the order in which --help lists them."""
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of this name; None where there is none."""
        if cmd_name not in self._entries:
            return None
        module = importlib.import_module(self._entries[cmd_name].module)
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; UsageError with similar names where there is none."""
        name = args[0]
        if name in self._entries or name.startswith("-"):
            return super().resolve_command(ctx, args)
        meant = did_you_mean(name, list(self._entries)) or f" See {ctx.command_path} --help."
        raise click.UsageError(f"No such command {name!r}.{meant}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands for --help, grouped by the question that they answer."""
        longest = max(map(len, self._entries))
        for question, named in groupby(self._entries.items(), key=lambda item: item[1].question):
            formatter.write(f"\n{question}\n")
            formatter.indent()
            formatter.write_dl([(name.ljust(longest), entry.summary) for name, entry in named])
            formatter.dedent()

    def make_context(self, *args: Any, **options: Option) -> click.Context:
        """Parse the arguments as click does; errors are one line of visible text."""
        with _one_line():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command as click does; an OffsetsToolError becomes click's error, which sets the exit code."""
        collect_seldom()
        with _one_line():
            try:
                with _debugged(ctx):
                    return super().invoke(ctx)
            except OffsetsToolError as error:
                raise _failure(error) from error


class _InUse(click.ClickException):
    """A lake in use by another job: an exit code that schedulers take for one to try again."""

    exit_code = os.EX_TEMPFAIL


def _failure(error: OffsetsToolError) -> click.ClickException:
    """Return click's error for one of ours, which has its exit code."""
    if isinstance(error, UsageError):
        return click.UsageError(str(error))
    return (_InUse if isinstance(error, LakeInUse) else click.ClickException)(str(error))


@contextmanager
def _debugged(ctx: click.Context) -> Iterator[None]:
    """Write the traceback of an OffsetsToolError to stderr, and how long each step took, for a command with --debug."""
    try:
        yield
    except OffsetsToolError as error:
        for line in traceback.format_exception(error) if STOPWATCH in ctx.meta else ():
            click.echo("\n".join(map(visible, line.splitlines())), err=True)
        raise
    finally:
        if STOPWATCH in ctx.meta:
            click.echo(ctx.meta[STOPWATCH].text(), err=True)


@contextmanager
def _one_line() -> Iterator[None]:
    """Make the text of every click error visible on a terminal, since names of files and options may have any characters."""
    try:
        yield
    except NoArgsIsHelpError:
        raise  # Its text is the help page, which keeps its lines.
    except click.UsageError as error:
        raise click.UsageError(visible(error.format_message()), error.ctx) from error
    except click.ClickException as error:
        failure = _InUse if isinstance(error, _InUse) else click.ClickException
        raise failure(visible(error.format_message())) from error


SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(cls=LazyGroup, entries=_COMMANDS, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="offsets-tool")
def main() -> None:
    """Forensics for Kafka's __consumer_offsets: read it from broker files, archives or a live broker, and show what is in it."""


def program() -> None:
    """Run `offsets-tool` in a process of its own, with the arguments of that process."""
    leave_out_pandas()
    main(prog_name="offsets-tool")

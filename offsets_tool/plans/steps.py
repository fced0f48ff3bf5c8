"""The steps of a person who goes back: sentences with commands to copy. Runs nothing."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from offsets_tool.findings.sentences import count, listed
from offsets_tool.plans.commands import (
    ClusterAddress,
    CommandWords,
    abort_words,
    describe_words,
    export_words,
    find_hanging_words,
    reset_words,
)
from offsets_tool.plans.reset_file import is_of_one_group
from offsets_tool.rows import Row
from offsets_tool.story.sentence import when
from offsets_tool.wire.json import Release

WriteFile = Callable[[str, str | None], CommandWords]
"""From the name of a file, and of a group that it is for alone, to the command that writes the reset file."""
_DRY: Final = "See what it would do; it changes nothing. NEW-OFFSET must be as above; where it is not, the log has no such offset"
_TRACE: Final = " (recent tools first print a Java stack trace, because they try the form of older files; it means nothing)"


class PlanStep(NamedTuple):
    """A step of going back: one sentence, and the commands to run."""

    text: str
    commands: tuple[CommandWords, ...]


class ToReset(NamedTuple):
    """The parts of a plan that commands name."""

    groups: Sequence[str]
    """Those that are to be reset."""
    present: Sequence[str]
    """Those that are there at the end of the log."""
    transactions: Sequence[Row]
    """Those that are open, as `as_of.transactions` makes them."""


def steps(
    plan: ToReset, cluster: ClusterAddress, release: Release | None, write_file: WriteFile
) -> Iterator[PlanStep]:
    """Yield the steps of going back, in order; `release` is that of Kafka's tools, None any from 2.4 on."""
    if plan.transactions:
        yield _transactions(plan.transactions, cluster)
    if not plan.groups:
        return
    present = [group for group in plan.groups if group in plan.present]
    yield _stop(plan.groups, present, cluster)
    yield from _undo(present, cluster, release)
    for file, groups in _files(plan.groups, release):
        only = groups[0] if is_of_one_group(release) else None
        yield PlanStep("Write the file:", (write_file(file, only),))
        dry = reset_words(cluster, groups, file, is_executed=False)
        yield PlanStep(_DRY + ("" if only else _TRACE) + ":", (dry,))
        yield PlanStep("Do it:", (reset_words(cluster, groups, file, is_executed=True),))
    yield PlanStep(
        "Check, and then start the clients: CURRENT-OFFSET must be the new offset:",
        (describe_words(cluster, plan.groups, "offsets"),),
    )


def _stop(groups: Sequence[str], present: Sequence[str], cluster: ClusterAddress) -> PlanStep:
    """Return the step that stops the clients, with a command for existing groups only: with another it would show none."""
    of = _of(groups)
    if not present:
        return PlanStep(
            f"Make sure that no client of {of} starts before the end: no such group is there now.", ()
        )
    return PlanStep(
        f"Stop all clients of {of}; the state must be Empty:", (describe_words(cluster, present, "state"),)
    )


def _undo(present: Sequence[str], cluster: ClusterAddress, release: Release | None) -> Iterator[PlanStep]:
    """Yield the step that saves the current offsets, to undo the reset."""
    if present:
        commands = [
            export_words(cluster, groups, file.replace("reset", "undo"))
            for file, groups in _files(present, release)
        ]
        yield PlanStep(
            "Keep what is committed now: --from-file takes this file too, to undo the reset:", tuple(commands)
        )


def _files(groups: Sequence[str], release: Release | None) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the names of the files that are needed, and the groups that each is for."""
    if not is_of_one_group(release) or len(groups) == 1:
        yield "reset.csv", groups
        return
    for number, group in enumerate(groups, 1):
        yield f"reset-{number}.csv", (group,)


def _of(groups: Sequence[str]) -> str:
    return f"group{'' if len(groups) == 1 else 's'} {listed(groups)}"


def _transactions(transactions: Sequence[Row], cluster: ClusterAddress) -> PlanStep:
    """Return the step that ends open transactions; those of a log partition without a number cannot be named."""
    placed = [row for row in transactions if row["log_partition"] is not None]
    numbers = sorted({row["log_partition"] for row in placed})
    since = when(min(row["first_timestamp"] for row in transactions))
    text = (
        f"{count(len(transactions), 'transaction')} of these groups {'is' if len(transactions) == 1 else 'are'} open, the oldest "
        f"since {since}: stop the producers, and abort what the first command lists; others end by their own timeouts:"
    )
    return PlanStep(
        text,
        (
            *(find_hanging_words(cluster, number) for number in numbers),
            *(abort_words(cluster, row["log_partition"], row["first_offset"]) for row in placed),
        ),
    )

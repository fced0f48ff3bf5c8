"""Time commands as a person waits for them: whole processes over a segment, ours and kafka-dump-log, and their start alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench import kafka, ours
from bench.inputs import Input
from bench.pace import Entry, race
from bench.processes import measured
from bench.table import Table, number, times
from bench.tally import Tally, Unequal

_TEXT: Final = Input("commits", 0.4)
_FIRST_BATCH: Final = Input("commits", 1e-9)
"""A segment of one batch: its time is that of starting."""
_ROUNDS: Final = 3
_ANSWERED: Final = {"commits": Input("commits"), "transactions, tombstones, metadata": Input("rich", 0.2)}
_ANSWERS: Final = ("groups", "offsets", "transactions", "lag", "expiry", "history", "findings")
"""What answers an operator's question. The first is what the others are held against."""
_COMMANDS: Final[dict[str, Callable[[Path], list[str]]]] = {
    "Kafka's dump-log --offsets-decoder": kafka.dump_log,
    "**ours**: `decode --formatter dump-log`, the same bytes": ours.dump_text,
    "**ours**: `decode`, JSON lines": lambda path: ours.command("decode", str(path), "--format", "jsonl"),
    "**ours**: `inspect`": lambda path: ours.command("inspect", str(path), "--format", "jsonl"),
}


def commands_table() -> Table:
    """Return the table of commands, each over the same segment, and over one of a single batch."""
    path, first = _TEXT.path(), _FIRST_BATCH.path()
    tally = _checked(path)
    runs = race(
        [
            Entry(f"{name} {segment}", _run(command(segment)), tally.records, _ROUNDS, warms=False)
            for name, command in _COMMANDS.items()
            for segment in (path, first)
        ]
    )
    rows, peer = [], 0.0
    for name in _COMMANDS:
        whole, start = runs[f"{name} {path}"].median, runs[f"{name} {first}"].median
        rate = tally.records / max(whole - start, 1e-3) / 1e6
        peer = peer or rate
        rows.append((name, number(whole), number(start), number(rate), times(rate / peer)))
    held = f"{path.stat().st_size / 2**20:.0f} MB of commits, {tally.records:,} records"
    title = f"Whole processes ({held}), output to /dev/null, one core:"
    return Table(
        title, ("", "CPU seconds", "of these to start", "M records/s after that", "dump-log = 1"), rows
    )


def answers_table() -> Table:
    """Return the table of commands that replay, each as a process over the same segment, its rows to /dev/null."""
    rows, heads = [[f"`{name}`"] for name in _ANSWERS], [""]
    for mix, input_ in _ANSWERED.items():
        path = input_.path()
        ran = race(
            [
                Entry(name, _run(ours.command(name, str(path), "--format", "jsonl")), 1, _ROUNDS, warms=False)
                for name in _ANSWERS
            ]
        )
        least = ran[_ANSWERS[0]].median
        heads += [f"{mix}, {path.stat().st_size / 2**20:.0f} MB", f"`{_ANSWERS[0]}` = 1"]
        for row, name in zip(rows, _ANSWERS, strict=True):
            row += [number(ran[name].median), times(ran[name].median / least)]
    return Table("Answers, as whole processes, CPU seconds on one core:", heads, rows)


def _run(command: list[str]) -> Callable[[], float]:
    return lambda: measured(command, None).seconds


def _checked(path: Path) -> Tally:
    """Return what dump-log counts; Unequal where ours prints other bytes or inspect counts otherwise."""
    theirs, mine = measured(kafka.dump_log(path)).output, measured(ours.dump_text(path)).output
    if theirs != mine:
        raise Unequal("decode --formatter dump-log does not print what kafka-dump-log prints")
    tally = kafka.tally_text(theirs)
    if ours.inspected(path) != (tally.records, tally.commits, tally.groups):
        raise Unequal(f"inspect counts {ours.inspected(path)}, and dump-log prints {tally}")
    return tally

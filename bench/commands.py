"""Time commands as a person waits for them: whole processes over a segment, ours and kafka-dump-log, and their start alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench import kafka, ours
from bench.benchmark import Room
from bench.inputs import Input
from bench.pace import Entry, Timed, race
from bench.processes import measured
from bench.table import Table, number, times, without_marks
from bench.tally import Tally, Unequal

_DUMP_LOG: Final = "Kafka's dump-log --offsets-decoder"
_TEXT: Final = Input("commits", 0.7)
_FIRST_BATCH: Final = Input("commits", 1e-9)
"""A segment of one batch: its time is that of starting."""
_ROUNDS: Final = 5
_ANSWERED: Final = {
    "commits": Input("commits", 0.5),
    "transactions, tombstones, metadata": Input("rich", 0.2),
}
_ANSWERS: Final = ("groups", "offsets", "transactions", "lag", "expiry", "history", "findings")
"""What answers an operator's question."""
_COMMANDS: Final[dict[str, Callable[[Path], list[str]]]] = {
    _DUMP_LOG: kafka.dump_log,
    "**ours**: `decode --formatter dump-log`, the same bytes": ours.dump_text,
    "**ours**: `decode`, JSON lines": lambda path: ours.command("decode", str(path), "--format", "jsonl"),
    "**ours**: `inspect`": lambda path: ours.command("inspect", str(path), "--format", "jsonl"),
}


def commands_table(_: Room) -> Table:
    """Return the table of commands, each over the same segment, and over one of a single batch."""
    path, first = _TEXT.path(), _FIRST_BATCH.path()
    tally = _checked(path)
    ran = race(
        [
            Entry(f"{name} {segment}", _run(command(segment)), tally.records, _ROUNDS, warms=False)
            for name, command in _COMMANDS.items()
            for segment in (path, first)
        ]
    )
    peer = _after_start(_DUMP_LOG, ran[f"{_DUMP_LOG} {path}"], ran[f"{_DUMP_LOG} {first}"])
    rows, ratios = [], {}
    for name in _COMMANDS:
        whole, start = ran[f"{name} {path}"], ran[f"{name} {first}"]
        after = _after_start(name, whole, start)
        of_peer = after.against(peer)
        cells = (whole.median, start.median, after.rate)
        rows.append((name, *map(number, cells), times(of_peer.value)))
        if name != _DUMP_LOG:
            ratios[without_marks(name)] = of_peer
    held = f"{path.stat().st_size / 2**20:.0f} MB of commits, {tally.records:,} records"
    title = f"Whole processes ({held}), output to /dev/null, one core:"
    heads = ("", "CPU seconds", "of these to start", "M records/s after that", "dump-log = 1")
    return Table(title, heads, rows, ratios)


def _after_start(name: str, whole: Timed, start: Timed) -> Timed:
    """Return what a process takes for the records alone, in the rounds that it and its start have both."""
    rounds = zip(whole.seconds, start.seconds, strict=False)
    return Timed(name, whole.records, tuple(max(took - began, 1e-3) for took, began in rounds))


def answers_table(_: Room) -> Table:
    """Return the table of commands that replay, each as a process over the same segment, against dump-log that prints it."""
    rows = {name: [name] for name in (_DUMP_LOG, *(f"`{name}`" for name in _ANSWERS))}
    heads, ratios = [""], {}
    for mix, input_ in _ANSWERED.items():
        path = input_.path()
        ran = race([Entry(name, _run(_answering(name, path)), 1, _ROUNDS, warms=False) for name in rows])
        heads += [f"{mix}, {path.stat().st_size / 2**20:.0f} MB", "dump-log = 1"]
        for name, row in ran.items():
            of_peer = row.against(ran[_DUMP_LOG])
            rows[name] += [number(row.median), times(of_peer.value)]
            if name != _DUMP_LOG:
                ratios[f"{without_marks(name)}, {mix}"] = of_peer
    title = "Answers, as whole processes, CPU seconds on one core:"
    return Table(title, heads, list(rows.values()), ratios)


def _answering(name: str, path: Path) -> list[str]:
    if name == _DUMP_LOG:
        return kafka.dump_log(path)
    return ours.command(without_marks(name), str(path), "--format", "jsonl")


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

"""`--debug` adds the traceback of an error and the time of each step on stderr, and changes nothing else."""

import re
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from offsets_tool.columns.lane.availability import Engine, engine_asked
from offsets_tool.evidence.listener import CommandStep, Stopwatch, during, items_during, measured
from tests.corpora import CORPORA

LOG: Final = str(CORPORA / "3.9.2-txn" / "segments")
TIMES: Final = re.compile(r"(?:[a-z ]+ \d+\.\d\d s, )*[a-z ]+ \d+\.\d\d s: \d+\.\d\d s in all")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def steps_of(stderr: str) -> set[str]:
    """Return the steps that the last line of stderr has times of."""
    line = stderr.splitlines()[-1]
    assert TIMES.fullmatch(line), line
    return set(re.findall(r"([a-z ]+?) \d+\.\d\d s(?:,|:)", line.replace(", ", ",")))


@pytest.mark.parametrize(
    ("arguments", "exit_code", "error"),
    [
        (("offsets", "nowhere"), 1, "SourceError: nowhere: does not exist"),
        (("offsets", LOG, "--as-of", "some day"), 2, "UsageError: --as-of"),
        (("lag", LOG, "--ends", __file__), 1, f"SourceError: {__file__}"),
        (("history", LOG, "--output", "/nowhere/rows"), 1, "SetupError: /nowhere/rows cannot be written"),
    ],
)
def test_a_traceback_and_the_sentence(arguments: tuple[str, ...], exit_code: int, error: str) -> None:
    plain, shown = run(*arguments), run(*arguments, "--debug")
    assert plain.exit_code == shown.exit_code == exit_code
    assert "Traceback" not in plain.stderr and " in all" not in plain.stderr
    assert shown.stderr.count("Traceback (most recent call last):\n") >= 1
    assert re.search(rf"^offsets_tool\.errors\.{error}", shown.stderr, re.MULTILINE)
    last = plain.stderr.splitlines()[-1]
    assert last.startswith("Error: ") and last in shown.stderr.splitlines()
    assert any(TIMES.fullmatch(line) for line in shown.stderr.splitlines())


def test_names_in_a_traceback_do_not_command_a_terminal() -> None:
    stderr = run("offsets", "no\x1b[2Jwhere\u202e", "--debug").stderr
    assert "Traceback" in stderr and "\x1b" not in stderr and "\u202e" not in stderr


REPLAYED: Final = {"opening", "reading", "decoding", "replaying", "asking", "showing"}


@pytest.mark.parametrize("command", ["groups", "lag", "history", "expiry", "findings", "decode", "size"])
def test_the_time_of_each_step(command: str) -> None:
    plain, timed = run(command, LOG), run(command, LOG, "--debug")
    assert (timed.exit_code, timed.stdout) == (plain.exit_code, plain.stdout)
    assert timed.stderr.startswith(plain.stderr) and timed.stderr.count("\n") == plain.stderr.count("\n") + 1
    # A size is that of bytes, whatever they say.
    absent = {"decode": {"replaying"}, "size": {"replaying", "decoding"}}
    assert steps_of(timed.stderr) == REPLAYED - absent.get(command, set())


@pytest.mark.slow
@pytest.mark.parametrize("command", ["groups", "history", "expiry", "findings", "decode", "size", "inspect"])
def test_the_fast_lane_is_a_step_where_it_reads(command: str) -> None:
    steps = steps_of(run(command, LOG, "--debug", "--engine", Engine.FAST.value).stderr)
    assert "fast lane" in steps and ("replaying" in steps) == (
        command in ("groups", "history", "expiry", "findings")
    )


def test_strict_ends_as_without(tmp_path: Path) -> None:
    torn = tmp_path / "00000000000000000000.log"
    torn.write_bytes(max(Path(LOG).rglob("*.log"), key=lambda path: path.stat().st_size).read_bytes()[:-1])
    result = run("decode", str(torn), "--strict", "--debug")
    assert result.exit_code == 3 and "Traceback" not in result.stderr
    assert steps_of(result.stderr) >= {"reading", "decoding"}


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> float:
        self.now += seconds
        return seconds


def test_a_step_inside_another_is_not_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offsets_tool.evidence.listener.perf_counter", clock := Clock())
    with measured() as stopwatch, during(CommandStep.SHOW):
        clock.pass_(1)
        for _ in items_during(CommandStep.REPLAY, map(clock.pass_, (2, 3))):
            clock.pass_(10)
            with pytest.raises(ZeroDivisionError), during(CommandStep.ASK):
                clock.pass_(100)
                raise ZeroDivisionError
    assert stopwatch.text() == "replaying 5.00 s, asking 200.00 s, showing 21.00 s: 226.00 s in all"


def test_what_nobody_measures_is_not_wrapped() -> None:
    """Whatever was measured before in this process, and wherever it ended."""
    for wrong in (("--as-of", "some day"), ("--log-partition", "some")):
        assert run("offsets", LOG, "--debug", "--engine", "reference", *wrong).exit_code == 2
    assert engine_asked() is Engine.AUTO
    items = iter([1])
    assert items_during(CommandStep.READ, items) is items
    with during(CommandStep.READ):
        pass
    assert Stopwatch().text().count(",") == 0

"""Tables are chosen by name, each is kept as it comes whatever becomes of later ones, and one that became worse is named."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from bench.__main__ import BENCHMARKS
from bench.benchmark import Benchmark, Measuring, Room, chosen
from bench.inputs import is_usual
from bench.keeping import README, Keeper
from bench.pace import Ratio
from bench.table import Table, section
from offsets_tool.errors import OffsetsToolError, UsageError
from oracle.client import Oracle
from tests.bench.test_machine import git


def table(value: float) -> Table:
    ratios = {"ours": Ratio("Kafka", value, 0.02)}
    return Table("Speeds:", ("", "ratio"), [("ours", f"{value:.2f}x")], ratios)


def benchmark(name: str, measure: Callable[[], Table]) -> Benchmark:
    return Benchmark(name, lambda _: measure())


def failing(error: Exception) -> Callable[[], Table]:
    def measure() -> Table:
        raise error

    return measure


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(Oracle, tmp_path)


@pytest.fixture
def keeper(tmp_path: Path) -> Keeper:
    document = tmp_path / "README.md"
    document.write_text("".join("{}\n{}\n".format(*section(name)) for name in ("first", "second", "third")))
    return Keeper(tmp_path / "kept.jsonl", document)


NAMES = [benchmark.name for benchmark in BENCHMARKS]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([], NAMES),
        (["replay"], ["replay"]),
        (["runs,replay"], ["replay", "runs"]),
        (["runs, replay", "replay"], ["replay", "runs"]),
    ],
)
def test_tables_are_chosen_by_name_and_measured_in_their_order(words: list[str], names: list[str]) -> None:
    assert [benchmark.name for benchmark in chosen(BENCHMARKS, words)] == names


def test_a_name_that_no_table_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(
        UsageError, match=r"No table is called replays\..*: commits, .*, replay, .*, partition\."
    ):
        chosen(BENCHMARKS, ["replays,runs"])


def test_make_bench_refuses_it_too() -> None:
    program = [sys.executable, "-m", "bench", "replays"]
    output = subprocess.run(program, cwd=README.parent, capture_output=True, text=True, check=False)
    assert (output.stdout, output.returncode) == ("", 2) and "No table is called replays." in output.stderr


def test_every_table_has_its_section_in_the_readme() -> None:
    readme = README.read_text()
    places = [readme.index(comment) for name in NAMES for comment in section(name)]
    assert places == sorted(places)
    assert len(set(NAMES)) == len(NAMES) and readme.count("<!-- bench ") == len(NAMES)


def test_a_table_is_kept_before_the_next_is_measured(room: Room, keeper: Keeper) -> None:
    def second() -> Table:
        assert list(keeper.tables()) == ["first"]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Measuring(room, keeper).run([benchmark("first", lambda: table(2.0)), benchmark("second", second)])
    [kept] = keeper.tables().values()
    assert kept.ratios == table(2.0).ratios
    _, document = keeper.files
    assert "| ours | 2.00x |" in document.read_text()


def test_readers_that_disagree_fail_their_own_table(
    room: Room, keeper: Keeper, capsys: pytest.CaptureFixture[str]
) -> None:
    unequal = failing(OffsetsToolError("commits: they differ"))
    done = Measuring(room, keeper).run([benchmark("first", unequal), benchmark("second", lambda: table(1.0))])
    assert not done and list(keeper.tables()) == ["second"]
    assert capsys.readouterr().out.splitlines()[-1] == "first could not be measured: commits: they differ"


def test_each_table_has_an_empty_folder_that_goes_away(room: Room) -> None:
    folders = []

    def measure(own: Room) -> Table:
        assert list(own.folder.iterdir()) == []
        (own.folder / "left").touch()
        folders.append(own.folder)
        return table(1.0)

    assert Measuring(room, None).run([Benchmark("first", measure), Benchmark("second", measure)])
    assert len(set(folders)) == 2 and not any(folder.exists() for folder in folders)


def test_what_would_end_too_late_is_left_out_and_named(
    room: Room, keeper: Keeper, capsys: pytest.CaptureFixture[str]
) -> None:
    """As long as it took when it was kept; of a table that was never kept, a minute and a half is supposed."""
    benchmarks = [benchmark(name, lambda: table(1.0)) for name in ("first", "second", "third")]
    Measuring(room, keeper).run(benchmarks[:2])
    Measuring(room, keeper, limit=60).run(benchmarks)
    output = capsys.readouterr().out
    assert list(keeper.tables()) == ["first", "second"]
    assert output.splitlines()[-1] == "Not measured, as it would have taken too long: make bench TABLES=third"


@pytest.mark.parametrize(("value", "is_worse"), [(1.9, False), (3.0, False), (1.5, True)])
def test_what_is_worse_than_what_was_kept_is_said_in_words(
    value: float, is_worse: bool, room: Room, keeper: Keeper, capsys: pytest.CaptureFixture[str]
) -> None:
    Measuring(room, keeper).run([benchmark("first", lambda: table(2.0))])
    assert "there was none to compare it with" in capsys.readouterr().out
    Measuring(room, keeper).run([benchmark("first", lambda: table(value))])
    output = capsys.readouterr().out
    assert ("none worse" in output, "1 worse" in output) == (not is_worse, is_worse)
    sentence = (
        r"first, ours: Kafka takes 1\.5 times as much as this, and took 2\.0 times at commit [\w ]+: "
        r"worse by 25%, and the spread is 5%\."
    )
    assert len(re.findall(sentence, output)) == (2 if is_worse else 0)
    assert keeper.tables()["first"].ratios["ours"].value == value


def test_a_run_again_is_compared_with_what_was_committed(
    room: Room, keeper: Keeper, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not with the worse table that the first run kept: whether that was noise is what the second is for."""
    Measuring(room, keeper).run([benchmark("first", lambda: table(2.0))])
    git(room.folder, "init", "--quiet")
    git(room.folder, "add", "kept.jsonl")
    git(room.folder, "commit", "--quiet", "--message", "first")
    for _ in range(2):
        capsys.readouterr()
        Measuring(room, keeper).run([benchmark("first", lambda: table(1.5))])
        assert "worse by 25%" in capsys.readouterr().out


def test_tables_of_other_sizes_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BENCH_MB", "BENCH_CLUSTERS"):
        monkeypatch.delenv(name, raising=False)
    assert is_usual()
    for name in ("BENCH_MB", "BENCH_CLUSTERS"):
        with monkeypatch.context() as context:
            context.setenv(name, "10")
            assert not is_usual()


def test_it_is_red_on_a_terminal(room: Room, keeper: Keeper, capsys: pytest.CaptureFixture[str]) -> None:
    Measuring(room, keeper).run([benchmark("first", lambda: table(2.0))])
    assert "\033[31m" not in capsys.readouterr().out
    with click.Context(click.Command("bench"), color=True).scope():
        Measuring(room, keeper).run([benchmark("first", lambda: table(1.0))])
    assert "\033[31m\033[1mfirst, ours: Kafka takes 1.0 times" in capsys.readouterr().out

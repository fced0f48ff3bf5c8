"""`--engine reference` keeps compiled code and columns out of every command that reads a log, and each says the same without it."""

import subprocess
import sys
from ast import literal_eval
from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from offsets_tool.columns.jit.native import Compiled
from offsets_tool.columns.lane import availability
from offsets_tool.columns.lane.availability import ENGINE_VARIABLE, Engine, asking_for, engine_asked, is_fast
from offsets_tool.columns.reading import RowReader
from offsets_tool.errors import SetupError, UsageError
from tests.corpora import CORPORA

LOG: Final = str(CORPORA / "3.9.2-txn" / "segments")
GROUP: Final = ("--group", "pricing-hang-43")
COMMANDS: Final = {
    "inspect": (),
    "decode": (),
    "size": (),
    "copies": (),
    "groups": (),
    "describe": ("--all-groups",),
    "assignments": ("--audit", "--over-time"),
    "offsets": (),
    "lag": (),
    "diff": ("--from", "2026-11-21T12:22:55.400Z"),
    "diagnose": (),
    "explain": GROUP,
    "timeline": (),
    "report": GROUP,
    "findings": (),
    "rebalances": (),
    "history": (),
    "expiry": (),
    "transactions": (),
    "plan": ("--as-of", "2026-11-21T12:22:55.400Z"),
}
"""All that read LOG, with what they need."""
ALWAYS_REFERENCE: Final = {"copies"}
"""Commands that have no fast way."""
HEAVY: Final = {"numpy", "pyarrow", "pandas", "numba", "llvmlite", "deltalake", "duckdb"}
"""Packages that take longer to load than a small log to read."""
WITH_ARRAYS: Final = {
    name: {"numpy"} if name == "size" else {"numpy", "pyarrow"}
    for name in ("size", "lag", "plan", "report", "diagnose", "explain", "timeline", "findings", "rebalances")
}
"""Commands that compute with arrays, and what of these is loaded once they and those above them have run."""


def noted(function: Callable[..., Any], names: list[str]) -> Callable[..., Any]:
    """Return a function that does what another does, and adds its name to `names` first."""

    @wraps(function)
    def noting(*arguments: Any, **options: Any) -> Any:
        names.append(function.__name__)
        return function(*arguments, **options)

    return noting


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was entered of compiled code and of reading by rows; any log is large enough for these."""
    names: list[str] = []
    for owner, name in ((Compiled, "__call__"), (RowReader, "read")):
        monkeypatch.setattr(owner, name, noted(getattr(owner, name), names))
    monkeypatch.setattr(availability, "PAYS_FROM", 1)
    monkeypatch.delenv(ENGINE_VARIABLE, raising=False)
    return names


def run(command: str, folder: Path, *options: str) -> tuple[Result, bytes]:
    """Return the result of a command on LOG, and the page that it wrote, if any."""
    page = folder / "page.html"
    where = ("--output", str(page)) if command == "report" else ()
    result = CliRunner().invoke(main, [command, LOG, *COMMANDS[command], *where, *options])
    return result, page.read_bytes() if where else b""


def test_all_commands_that_read_logs_are_here() -> None:
    named = {name: main.get_command(None, name) for name in main.list_commands(None)}  # type: ignore[arg-type]
    with_engine = {
        name
        for name, command in named.items()
        if command is not None and {"logs", "engine", "debug"} <= {option.name for option in command.params}
    }
    with_logs = {
        name
        for name, command in named.items()
        if command is not None and "logs" in {option.name for option in command.params}
    }
    assert with_engine == with_logs == set(COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_the_reference_says_the_same_alone(command: str, tmp_path: Path, entered: list[str]) -> None:
    fast, its_page = run(command, tmp_path)
    assert bool(entered) == (command not in ALWAYS_REFERENCE)
    entered.clear()
    plain, page = run(command, tmp_path, "--engine", "reference")
    assert entered == []
    assert (plain.exit_code, plain.stdout, plain.stderr) == (fast.exit_code, fast.stdout, fast.stderr)
    assert page == its_page
    assert plain.exit_code == 0 and (plain.stdout or page)


@pytest.mark.slow
def test_the_variable_asks_as_the_option_does_which_comes_first(
    tmp_path: Path, entered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENGINE_VARIABLE, "reference")
    run("groups", tmp_path)
    assert entered == []
    run("groups", tmp_path, "--engine", "auto")
    assert entered
    # Nothing of the option is left for what comes later in this process.
    assert engine_asked() is Engine.REFERENCE


def test_a_small_log_is_read_by_the_reference_unless_the_lane_is_asked_for(
    tmp_path: Path, entered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(availability, "PAYS_FROM", 1 << 20)
    run("groups", tmp_path)
    assert entered == []
    run("groups", tmp_path, "--engine", "fast")
    assert entered


@pytest.mark.parametrize("text", ["quick", "Reference "])
def test_an_engine_that_is_none(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("groups", tmp_path, "--engine", text)[0].exit_code == 2
    monkeypatch.setenv(ENGINE_VARIABLE, text)
    result, _ = run("groups", tmp_path)
    assert result.exit_code == 2 and ENGINE_VARIABLE in result.stderr and "'reference'" in result.stderr
    with pytest.raises(UsageError, match=f"{ENGINE_VARIABLE}={text}: there is no such engine"):
        is_fast(1 << 30)


@pytest.mark.parametrize("engine", Engine)
def test_where_the_lane_cannot_be_had(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only who asks for nothing else is refused, and only who reads much is told why that is slow."""
    notes: list[str] = []
    monkeypatch.setattr(availability, "lane_problem", lambda: "no compiler")
    with asking_for(engine):
        if engine is Engine.FAST:
            with pytest.raises(SetupError, match="`fast` cannot be used: no compiler"):
                is_fast(1, note=notes.append)
        else:
            assert not is_fast(1, note=notes.append) and notes == []
            assert not is_fast(1 << 30, note=notes.append)
    assert notes == (["no compiler"] if engine is Engine.AUTO else [])


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "pays_from"), [("reference", 1), ("auto", availability.PAYS_FROM)])
def test_a_program_loads_what_a_command_needs(engine: str, pays_from: int, tmp_path: Path) -> None:
    """No compiled code for the reference, however large the log, nor for a small log; and no pandas, which Arrow asks for."""
    options = COMMANDS | {"report": (*GROUP, "--output", str(tmp_path / "page.html"))}
    commands = [name for name in COMMANDS if name not in WITH_ARRAYS] + list(WITH_ARRAYS)
    asked = [[name, LOG, *options[name], "--engine", engine] for name in commands]
    code = (
        "import sys; from contextlib import suppress\n"
        f"from offsets_tool.columns.lane import availability as a; a.PAYS_FROM = {pays_from}\n"
        "from offsets_tool.cli import program\n"
        "loaded = {}\n"
        f"for sys.argv[1:] in {asked!r}:\n"
        "    with suppress(SystemExit): program()\n"
        f"    loaded[sys.argv[1]] = {HEAVY!r} & set(sys.modules)\n"
        "print(loaded)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (tmp_path / "page.html").exists() and all(map(find_spec, HEAVY))
    assert literal_eval(done.stdout.splitlines()[-1]) == {name: set() for name in commands} | WITH_ARRAYS

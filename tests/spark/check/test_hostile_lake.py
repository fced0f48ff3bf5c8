"""Whatever stands in a lake's logs, or in place of its files: a check ends soon, names it, and goes on with the rest."""

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from offsets_tool.cli import main as tool
from offsets_tool.errors import LakeInUse, SetupError, SourceError
from spark.check.check import check
from spark.check.checked import Checked
from spark.lake.folder import FORGETTING, LOCK, opened
from tests.depth import DEEP, sample
from tests.evidence.copies import copy
from tests.log.archive.hostile import Json, changed
from tests.spark.derived.test_forget import LOG
from tests.spark.lakes import ingest_here
from tests.spark.replay.test_copies import replay_here

_SECONDS: Final = 20
"""More than a check of a small lake takes on a busy machine."""
Action = dict[str, Json]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small lake with histories."""
    folder = tmp_path_factory.mktemp("sound")
    ingest_here(folder / "lake", copy(folder / "c", LOG[:6]), cluster="c")
    replay_here(folder / "lake")
    return folder / "lake"


@pytest.fixture
def lake(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "lake"))


@contextmanager
def soon() -> Iterator[None]:
    """Fail where a `with` block waits for something that does not come."""

    def late(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def wrong(lake: Path) -> list[Checked]:
    with soon():
        return [row for row in check(str(lake), reads_rows=True) if not row.is_ok]


def relogged(lake: Path, change: Callable[[Action], Action]) -> None:
    """Change the actions in all commits of `sources`."""
    for commit in (lake / "sources" / "_delta_log").glob("*.json"):
        lines = [json.dumps(change(json.loads(line))) for line in commit.read_text().splitlines()]
        commit.write_text("\n".join(lines) + "\n")


def become(name: str, value: Json) -> Callable[[Action], Action]:
    """Return the change of an action of this name into another value."""
    return lambda action: {name: value} if name in action else action


def part(name: str, field: str, value: Json) -> Callable[[Action], Action]:
    """Return the change of a field of an action of this name."""
    return lambda action: {name: action[name] | {field: value}} if name in action else action


def without_path(action: Action) -> Action:
    return {name: {key: v for key, v in value.items() if key != "path"} for name, value in action.items()}


def another_column(action: Action) -> Action:
    return json.loads(json.dumps(action).replace("range_start", "begin"))


HOSTILE: Final[dict[str, tuple[Callable[[Action], Action], str]]] = {
    **{f"add {value}": (become("add", value), "it is no object") for value in (None, [], [1], "x", 5, True)},
    "add NaN": (become("add", float("nan")), "not JSON"),
    "add empty": (become("add", {}), "it has no path"),
    "no path": (without_path, "it has no path"),
    **{
        f"path {value!a:.12}": (part("add", "path", value), "its path can be no file's")
        for value in ([], "", 5, "a\0b", "a%00b")
    },
    "path NaN": (part("add", "path", float("nan")), "not JSON"),
    "long path": (part("add", "path", "x" * 5000), "File name too long"),
    "path of a folder": (part("add", "path", "."), "is not a file"),
    **{
        f"size {value}": (part("add", "size", value), "its size can be no file's")
        for value in ([], "5", -1, 1.5, 1 << 70, True)
    },
    "size of another": (part("add", "size", 1), "the table's log says 1"),
    **{
        f"commitInfo {value}": (become("commitInfo", value), "commitInfo that is not")
        for value in ([], "x", 5, True)
    },
    **{
        f"partition columns {value}": (part("metaData", "partitionColumns", value), "")
        for value in (None, 5, ["nope"], [5])
    },
    **{f"schema {value}": (part("metaData", "schemaString", value), "") for value in (None, "", "{", "[]")},
    "another column": (another_column, "has other columns than this version writes"),
}
"""Changes of the actions in a log, and what is said of them."""


@pytest.mark.parametrize("name", sample(list(HOSTILE), 4))
def test_a_hostile_entry_is_named_with_a_remedy(lake: Path, name: str) -> None:
    change, said = HOSTILE[name]
    relogged(lake, change)
    found = wrong(lake)
    assert found and all(row.remedy for row in found)
    assert said in (found[0].problem or "") and "Traceback" not in str(found)


@pytest.mark.parametrize("metadata", ["{", "{[", "[]", '{"offsets-tool run": 5}', None])
def test_what_others_say_of_their_commits_is_nothing_wrong(lake: Path, metadata: str | None) -> None:
    """User metadata is free text; what a run of ours has left to do is in none of these."""
    relogged(lake, part("commitInfo", "userMetadata", metadata))
    assert {row.what for row in wrong(lake)} <= {"records"}


@settings(max_examples=2000 if DEEP else 10, deadline=None)
@given(data=st.data())
def test_any_value_in_any_place_of_a_log_ends_as_it_should(sound: Path, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(shutil.copytree(sound, f"{folder}/lake"))
        relogged(lake, lambda action: changed(action, data))
        try:
            assert all(row.remedy for row in wrong(lake))
        except SourceError as error:
            assert str(lake) in str(error)
        asked = CliRunner().invoke(tool, ["sql", "--lake", str(lake), "SELECT path FROM sources"])
        assert asked.exit_code in (0, 1) and isinstance(asked.exception, SystemExit | None)
        assert asked.exit_code == 0 or asked.stderr.count("\n") == 1


def in_log(name: str) -> Callable[[Path], Path]:
    return lambda lake: lake / "sources" / "_delta_log" / name


PIPES: Final[dict[str, tuple[Callable[[Path], Path], str | None]]] = {
    "commit": (in_log(f"{0:020}.json"), "tables"),
    "last checkpoint": (in_log("_last_checkpoint"), "tables"),
    "checkpoint of the log": (in_log(f"{0:020}.checkpoint.parquet"), "tables"),
    "part of a checkpoint": (in_log(f"{0:020}.checkpoint.{1:010}.{2:010}.parquet"), "tables"),
    "data file": (lambda lake: Path(DeltaTable(lake / "events").file_uris()[0]), "files"),
    "checkpoint of a replay": (lambda lake: next((lake / "_checkpoints").iterdir()), "checkpoints"),
    "lock": (lambda lake: lake / LOCK, None),
}
"""The place of a pipe that nobody writes to, and the check that names it."""


@pytest.mark.parametrize(("place", "what"), PIPES.values(), ids=PIPES)
def test_nobody_waits_for_a_pipe(lake: Path, place: Callable[[Path], Path], what: str | None) -> None:
    path = place(lake)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    found = wrong(lake)
    assert [row.what for row in found[:1]] == ([what] if what else [])
    assert all("is not a file" in (row.problem or "") for row in found[:1])


@pytest.mark.parametrize(
    "text", sample([None, "", "{", "[]", "5", "{}", '{"cluster": 5, "source": null}', "\xff"], 3)
)
def test_a_marker_of_something_else_is_named(lake: Path, text: str | None) -> None:
    marker = lake / FORGETTING
    if text is None:
        os.mkfifo(marker)
    else:
        marker.write_bytes(text.encode("latin-1"))
    assert [(row.what, row.where) for row in wrong(lake)] == [("runs", FORGETTING)]
    with soon(), pytest.raises(SourceError, match=f"{FORGETTING}: is not what an interrupted"):
        replay_here(lake)


def test_a_job_does_not_wait_for_a_pipe_either(lake: Path) -> None:
    (lake / LOCK).unlink()
    os.mkfifo(lake / LOCK)
    with soon(), pytest.raises(SetupError, match="is not a file"):
        replay_here(lake)


def test_a_check_keeps_no_job_from_its_work(lake: Path, tmp_path: Path) -> None:
    """Nothing is locked; who looked while a job wrote is told so at the end."""
    rows = check(str(lake))
    next(rows)
    with opened(lake):
        pass
    next(rows)
    ingest_here(lake, copy(tmp_path / "d", LOG[:3]), cluster="d")
    with pytest.raises(LakeInUse, match=r"a job wrote to .* meanwhile, .*: do it again"):
        list(rows)
    rows = check(str(lake))
    next(rows)
    with opened(lake), pytest.raises(LakeInUse, match="a job is writing"):
        list(rows)

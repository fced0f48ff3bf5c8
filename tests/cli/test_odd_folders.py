"""Folders that nobody expects: closed ones, links that fan out, very deep ones, pipes, names that are no text."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from offsets_tool.log.discover import find_segments
from tests.log.samples import SMALL

pytestmark = pytest.mark.slow

NAME = f"{0:020}.log"
NOBODY = 65534


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def partition(folder: Path, name: str = "__consumer_offsets-0") -> Path:
    (folder / name).mkdir(parents=True)
    shutil.copy(SMALL[0], folder / name / NAME)
    return folder / name


def test_links_that_fan_out_end(tmp_path: Path) -> None:
    """Two links to the next folder, forty times over: more ways than there is time."""
    levels = [tmp_path / f"level-{number}" for number in range(40)]
    for here, below in pairwise(levels):
        here.mkdir()
        for name in ("a", "b"):
            (here / name).symlink_to(below)
    partition(levels[-1])
    for given in (levels[0], tmp_path):
        assert len(find_segments([given])) == 1
        for command in ("inspect", "lag", "describe"):
            options = ["--all-groups"] if command == "describe" else []
            result = invoke(command, given, *options)
            assert result.exit_code == 0 and result.stdout, (command, result.output)


def test_a_folder_given_by_two_names_is_read_as_one(tmp_path: Path) -> None:
    partition(tmp_path / "data")
    (tmp_path / "again").symlink_to(tmp_path / "data")
    found = find_segments([tmp_path / "data", tmp_path / "again"])
    assert [segment.path for segment in found] == [f"{tmp_path.as_posix()}/data/__consumer_offsets-0/{NAME}"]
    # A partition's directory that is a link is followed, under the link's name.
    (tmp_path / "links").mkdir()
    for number in (3, 4):
        (tmp_path / "links" / f"__consumer_offsets-{number}").symlink_to(
            tmp_path / "data/__consumer_offsets-0"
        )
    assert [segment.log_partition for segment in find_segments([tmp_path / "links"])] == [3]


@pytest.fixture(params=[("x", 700), ("x" * 250, 20)])
def deep(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder deeper than Python's recursion, or than the longest path that can be opened."""
    name, levels = request.param
    here = Path.cwd()
    os.chdir(tmp_path)
    for _ in range(levels):
        Path(name).mkdir()
        os.chdir(name)
    os.chdir(here)
    yield tmp_path
    shutil.rmtree(tmp_path / "__consumer_offsets-0")
    os.chdir(tmp_path)
    for _ in range(levels):
        os.chdir(name)
    for _ in range(levels):
        os.chdir("..")
        Path(name).rmdir()
    os.chdir(here)


def test_a_very_deep_folder(deep: Path) -> None:
    partition(deep)
    too_long = [segment for segment in find_segments([deep]) if segment.unreadable]
    assert all("File name too long" in segment.unreadable for segment in too_long)
    assert len(too_long) == any(len(entry.name) > 100 for entry in deep.iterdir())
    for command in ("inspect", "lag"):
        result = invoke(command, deep)
        assert result.exit_code == 0 and result.stdout, result.output


def test_pipes_do_not_hang(tmp_path: Path) -> None:
    folder = partition(tmp_path)
    pipes = [folder / f"{7:020}.log", *(tmp_path / name for name in ("a.json", "a.tar", "a.parquet"))]
    for pipe in (
        *pipes,
        folder / f"{0:020}.index",
        tmp_path / "meta.properties",
        folder / "partition.metadata",
    ):
        os.mkfifo(pipe)
    for command in ("inspect", "lag", "offsets"):
        result = invoke(command, tmp_path)
        assert result.exit_code == 0 and result.stdout
    assert f"{pipes[0].as_posix()}: not read: it is neither" in invoke("inspect", tmp_path).stderr
    for pipe in pipes:
        result = invoke("inspect", pipe)
        assert result.exit_code == 1 and "neither a file nor a folder" in result.stderr


def test_names_that_are_no_text(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"night\xff\n\x1b[31m")
    partition(odd)
    for command in ("inspect", "decode", "lag"):
        result = invoke(command, tmp_path)
        assert result.exit_code == 0 and result.stdout, result.output


def as_nobody(*commands: list[str]) -> list[tuple[int, str, str]]:
    """Return code, stdout and stderr of commands run as an unprivileged user; all is imported before."""
    for command in commands:
        invoke(*command)
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        results = [invoke(*command) for command in commands]
        told = [
            (result.exit_code, result.stdout, result.stderr + repr(result.exception)) for result in results
        ]
        with os.fdopen(theirs, "w") as out:
            out.write(repr(told))
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as answer:
        told = answer.read()
    os.waitpid(child, 0)
    return eval(told)  # type: ignore[no-any-return]  # what the child wrote


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_folders_that_may_not_be_entered_or_listed() -> None:
    top = Path(tempfile.mkdtemp())
    try:
        data = top / "data"
        for name in (
            "__consumer_offsets-0",
            "__consumer_offsets-1",
            "__consumer_offsets-2",
            "orders-0",
            "orders-1",
        ):
            partition(data, name)
        (data / "meta.properties").write_text("version=1\ncluster.id=c\n")
        top.chmod(0o755)
        # Listed but not entered; neither; a file that may not be read.
        for name, mode in (("__consumer_offsets-1", 0o744), ("orders-0", 0o744), ("orders-1", 0o700)):
            (data / name).chmod(mode)
        (data / "__consumer_offsets-2" / NAME).chmod(0o600)
        (data / "meta.properties").chmod(0o600)
        commands = [
            ["inspect", data.as_posix()],
            ["lag", data.as_posix()],
            ["describe", data.as_posix(), "--all-groups"],
            ["history", data.as_posix()],
            ["inspect", (data / "__consumer_offsets-1").as_posix()],
            ["decode", (data / "__consumer_offsets-1" / NAME).as_posix()],
        ]
        *answers, alone = as_nobody(*commands)
        for command, (code, out, err) in zip(commands, answers, strict=False):
            assert code == 0 and out and "Permission denied" in err, (command, out, err)
        for _, _, err in answers[:4]:
            assert "orders-1: unreadable" in err and "__consumer_offsets-1/" in err
        assert alone[0] == 1 and "Error: " in alone[2] and "Permission denied" in alone[2]
    finally:
        shutil.rmtree(top)

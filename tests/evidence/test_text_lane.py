"""`decode` through the lane and without it: the same bytes, notes and exit codes, and Numba only where it pays."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from offsets_tool.columns.lane.availability import ENGINE_VARIABLE, Engine
from tests.corpora import CORPORA
from tests.depth import sample
from tests.dialects.hostile import Hostile
from tests.dialects.samples import COMMIT_KEY, commit
from tests.log import encoded_batches
from tests.log.encoded_batches import record, v2

pytestmark = pytest.mark.slow

CLASSIC, TXN = CORPORA / "4.3.1-classic" / "segments", CORPORA / "4.3.1-txn" / "segments"
ASKED = (
    (),
    ("--raw",),
    ("--group", "g"),
    ("--topic", "t", "--partition", "5", "--since", "1000"),
    ("--group", "*-[a-m]*", "--topic", "?r*", "--topic", "nowhere"),
    ("--group", "nobody", "--group", "*o*", "--since", "2000-01-01", "--until", "2001-01-01"),
    ("--type", "control", "--type", "OffsetCommit", "--until", "1999-01-01"),
    ("--since", "0:9", "--until", "0:71", "--formatter", "offsets"),
    ("--since", "1:9"),
    ("--since", "9999999999999999999999"),
    ("--formatter", "offsets"),
    ("--formatter", "offsets", "--kafka-version", "2.8"),
    ("--formatter", "group-metadata"),
    ("--formatter", "dump-log"),
    ("--formatter", "dump-log", "--kafka-version", "0.10"),
    ("--formatter", "dump-log", "--kafka-version", "2.0"),
    ("--formatter", "dump-log", "--kafka-version", "3.6"),
    ("--formatter", "dump-log", "--no-records"),
    ("--formatter", "dump-log", "--type", "OffsetCommit"),
)


def both(monkeypatch: pytest.MonkeyPatch, *args: object) -> tuple[Result, Result]:
    """Return the results of `decode` with the lane and without it."""
    said = []
    for engine in (Engine.FAST, Engine.REFERENCE):
        monkeypatch.setenv(ENGINE_VARIABLE, engine)
        said.append(CliRunner().invoke(main, ["decode", *map(str, args)]))
    return said[0], said[1]


def assert_same(monkeypatch: pytest.MonkeyPatch, *args: object) -> Result:
    fast, slow = both(monkeypatch, *args)
    assert fast.stdout_bytes == slow.stdout_bytes
    assert (fast.stderr, fast.exit_code) == (slow.stderr, slow.exit_code)
    return fast


@pytest.mark.parametrize("asked", ASKED, ids=" ".join)
def test_a_folder_of_segments(monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...]) -> None:
    assert_same(monkeypatch, CLASSIC, TXN, *asked)


def hostile_segment(folder: Path) -> Path:
    """Write a segment of commits with unreadable records, a wrong checksum, damage, a gap and a torn tail."""
    commits = [record(place, COMMIT_KEY, commit(3)) for place in range(5)]
    strange = [record(place, *pair) for place, pair in enumerate(Hostile(3).records(40))]
    wrong = bytearray(v2(60, commits))
    wrong[-1] ^= 1
    good = v2(100, commits, codec=encoded_batches.GZIP)
    path = folder / "00000000000000000000.log"
    path.write_bytes(
        v2(0, commits) + v2(5, strange) + bytes(wrong) + v2(70, commits) + b"\7" * 99 + good + good[:70]
    )
    return path


@pytest.mark.parametrize("strict", [(), ("--strict",)], ids=["easy", "strict"])
@pytest.mark.parametrize("asked", sample(ASKED, 3), ids=" ".join)
def test_what_is_wrong_is_said_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, asked: tuple[str, ...], strict: tuple[str, ...]
) -> None:
    said = assert_same(monkeypatch, hostile_segment(tmp_path), *asked, *strict)
    assert said.stderr and said.exit_code == (3 if strict else 0)


def test_a_tar_and_a_compressed_copy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import gzip
    import tarfile

    path = hostile_segment(tmp_path)
    packed = tmp_path / f"{path.name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    with tarfile.open(tmp_path / "copy.tar", "w") as tar:
        tar.add(path, f"__consumer_offsets-4/{path.name}")
    for evidence in (packed, tmp_path / "copy.tar"):
        assert_same(monkeypatch, evidence)
        assert_same(monkeypatch, evidence, "--formatter", "dump-log")


LEAST = 10_000
"""Instead of a bound of megabytes, which the reference takes seconds to read."""


def test_the_lane_is_loaded_where_it_pays_and_nowhere_else(tmp_path: Path) -> None:
    small, large = tmp_path / "1.log", tmp_path / "2.log"
    one = v2(0, [record(place, COMMIT_KEY, commit(3)) for place in range(100)])
    small.write_bytes(one)
    large.write_bytes(one * (LEAST // len(one) + 1))
    for path, options, loads in (
        (small, "", False),
        (large, "", True),
        (large, "--formatter dump-log", True),
        (large, "--raw", False),
        (large, "--formatter dump-log --no-records", False),
    ):
        code = (
            f"import sys; from offsets_tool.columns.lane import availability; availability.PAYS_FROM = {LEAST};"
            "from offsets_tool.cli import main; main(sys.argv[1:], standalone_mode=False);"
            "print('llvmlite' in sys.modules, file=sys.stderr)"
        )
        command = [sys.executable, "-c", code, "decode", str(path), *options.split()]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr.splitlines()[-1] == str(loads), (path, options)

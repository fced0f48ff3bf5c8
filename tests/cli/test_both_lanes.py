"""Commands say the same in both lanes, down to the order of their notes, on logs that no broker would have written.

All of stdout and stderr is compared: small logs are read by the reference reader in use, so that what differs here differs with the
size of a log.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main
from offsets_tool.columns.lane.availability import ENGINE_VARIABLE, Engine
from tests.columns.mutants import Mutants, least
from tests.columns.test_mutants import hold
from tests.corpora import CORPORA
from tests.depth import DEEP
from tests.log.displaced_batches import flipped
from tests.log.encoded_batches import record, v2
from tests.replay.story import StoryRecord, commit, commit_marker

Batches = list[bytes]

COMMANDS: Final = (
    "offsets",
    "offsets --as-of 1700000000200",
    "groups",
    "describe --all-groups",
    "transactions",
    "expiry",
    "lag",
    "size --by group",
    "plan --as-of 1700000000200",
    "diagnose",
    "findings",
    "history",
    "inspect",
    "decode",
)
NAMES: Final = ("2.8.2-compaction", "4.3.1-txn", "4.3.1-newgroups", "0.10.2.2-crash")
LARGEST: Final = 60_000
"""Segments of corpora that are larger are left out."""


class Said(NamedTuple):
    """What a command has printed, and how it ended."""

    exit_code: int
    stdout: str
    stderr: str


def said(command: str, path: Path) -> Said:
    result = CliRunner().invoke(main, [*command.split(), str(path)], catch_exceptions=False)
    return Said(result.exit_code, result.stdout, result.stderr)


def differing(path: Path, patch: pytest.MonkeyPatch) -> list[str]:
    """Return the commands that say something else of a log in the fast lane than in the reference lane."""
    by_lane = []
    for engine in (Engine.FAST, Engine.REFERENCE):
        patch.setenv(ENGINE_VARIABLE, engine)
        by_lane.append([said(command, path) for command in COMMANDS])
    return [command for command, one, other in zip(COMMANDS, *by_lane, strict=True) if one != other]


@pytest.fixture
def same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Batches], None]:
    """Asserts that all commands say the same of a log in both lanes."""
    log = tmp_path / "__consumer_offsets-3" / "00000000000000000000.log"
    log.parent.mkdir()

    def check(batches: Batches) -> None:
        log.write_bytes(b"".join(batches))
        assert differing(tmp_path, monkeypatch) == []

    return check


def of_brokers(name: str) -> Batches:
    """Return the batches that a broker wrote to a segment of a corpus."""
    log = max(
        (CORPORA / name).rglob("*.log"),
        key=lambda path: (path.stat().st_size < LARGEST) * path.stat().st_size,
    )
    data, batches = log.read_bytes(), []
    while data:
        size = 12 + int.from_bytes(data[8:12])
        batches.append(data[:size])
        data = data[size:]
    return batches


class Disturbed:
    """Batches of a broker: some are changed as mutants are, left out, moved, repeated or swapped."""

    def __init__(self, seed: int, name: str) -> None:
        self._random, self._mutants = Random(seed), Mutants(seed)
        self._batches = of_brokers(name)

    def batches(self, count: int) -> Batches:
        random = self._random
        first = random.randrange(max(1, len(self._batches) - count))
        some = self._batches[first : first + count]
        for _ in range(random.randrange(4)):
            at, other = random.randrange(len(some)), random.randrange(len(some))
            act = random.randrange(5)
            if act == 0:
                some[at] = flipped(random, some[at])
            elif act == 1:
                some[at] = self._mutants.changed(some[at])
            elif act == 2:
                some.insert(at, some[other])
            elif act == 3:
                some[at], some[other] = some[other], some[at]
            elif len(some) > 1:
                del some[at]
        return some


COMMIT: Final = commit("g", "t", 0, 1)
NOW: Final = 1_700_000_000_000
TRANSACTIONAL, CONTROL = 16, 32


def of_commits(
    base: int, *values: StoryRecord, attributes: int = 0, producer: int = -1, time: int = NOW
) -> bytes:
    """Return a batch of records with these keys and values."""
    return v2(
        base,
        [record(at, each.key, each.value) for at, each in enumerate(values)],
        attributes=attributes,
        base_timestamp=time,
        max_timestamp=time,
        producer=(producer, 0, 0) if producer >= 0 else (-1, -1, -1),
        last_offset_delta=len(values) - 1,
    )


MISPLACED: Final = [
    of_commits(0, COMMIT),
    of_commits(0, commit("g", "t", 0, 2, metadata="longer than before")),
]
CASES: Final = {
    "a control record whose key is that of a commit": [
        of_commits(9, COMMIT, attributes=TRANSACTIONAL | CONTROL, time=NOW + 1_000),
        of_commits(20, COMMIT, time=NOW + 2_000),
    ],
    "a time that no number exceeds": [of_commits(0, COMMIT, time=2**63 - 1)],
    "a time below which is no number": [of_commits(0, COMMIT, time=-(2**63))],
    "times whose sum wraps": [
        of_commits(0, COMMIT, time=NOW),
        v2(1, [record(0, COMMIT.key, COMMIT.value, -(2**63))], base_timestamp=-1, max_timestamp=NOW),
        of_commits(2, COMMIT, time=NOW),
    ],
    "offsets that were there before": MISPLACED,
    "a wrong checksum behind offsets that were there before": [
        *MISPLACED,
        of_commits(5, COMMIT)[:-1] + b"\7",
        of_commits(9, COMMIT),
    ],
    "open transactions of two producers about one partition": [
        of_commits(0, COMMIT, attributes=TRANSACTIONAL, producer=3),
        of_commits(1, commit_marker(3), attributes=TRANSACTIONAL | CONTROL, producer=3),
        of_commits(2, COMMIT, attributes=TRANSACTIONAL, producer=4),
        of_commits(3, COMMIT, attributes=TRANSACTIONAL, producer=3),
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_what_lanes_have_told_otherwise(same: Callable[[Batches], None], name: str) -> None:
    same(CASES[name])


@pytest.mark.parametrize("name", NAMES)
def test_disturbed_logs_of_brokers(same: Callable[[Batches], None], name: str) -> None:
    for seed in range(40 if DEEP else 2):
        batches = Disturbed(seed, name).batches(8)
        try:
            same(batches)
        except AssertionError:
            pytest.fail("\n".join(each.hex() for each in least(batches, lambda some: _differs(same, some))))


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(20))
def test_mutants(same: Callable[[Batches], None], seed: int) -> None:
    hold(300 + seed, 2, same, 20)


def _differs(same: Callable[[Batches], None], batches: Batches) -> bool:
    try:
        same(batches)
    except AssertionError:
        return True
    return False

"""Replay against Kafka's own coordinators, at every position of logs that live, end, convert and go wrong.

Where Kafka's load fails, replay goes on: there it says that Kafka refuses, and nothing after it can be compared.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import pytest

from offsets_tool.events import decode
from offsets_tool.log.segment import read_segment
from offsets_tool.replay.changes import Change, ChangeKind
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import BatchRead
from oracle.client import Oracle
from oracle.jars import DEEP_ALONE
from oracle.loaded import LoadedState
from tests.depth import DEEP
from tests.expiry.log_cleaner import cleaned
from tests.replay.comparable_states import ComparableState, common, of_kafka, of_ours
from tests.replay.random_logs import (
    READERS,
    Placed,
    RandomLog,
    Reader,
    batch_ends,
    ends,
    segment,
)

pytestmark = pytest.mark.java

SEEDS: Final = range(8 if DEEP else 1)
STEPS: Final = 90 if DEEP else 40
REFUSES: Final = "Kafka refuses to load it"
UNSEEN: Final = "Cannot set the epoch of"
"""What Kafka refuses and replay does not see: a member that takes a partition which another owns at the same or a later epoch."""
NOT_YET: Final = {
    "1.1.1": {"topic_id", "record_offset", "leader_epoch", "expire_timestamp"},
    "4.0.2": {"topic_id"},
}
"""Fields of a commit that a release does not keep; of the classic coordinator, see `shown`."""


class Moment(NamedTuple):
    """Both states at an end offset, and the changes by the records since the last one."""

    end: int
    ours: ComparableState
    kafkas: LoadedState
    refusals: list[Change]


def logs(seed: int, reader: Reader, disorder: float) -> Iterator[list[Placed]]:
    """Yield a log, and the same log cleaned, without newer kinds of groups for a classic coordinator."""
    placed = (
        RandomLog(seed, reader._replace(kinds=() if reader.classic else reader.kinds), disorder)
        .grow(STEPS)
        .placed
    )
    yield placed
    yield cleaned(placed, Random(seed))


def moments(oracle: Oracle, version: str, placed: list[Placed], folder: Path) -> Iterator[Moment]:
    path = folder / "00000000000000000000.log"
    path.write_bytes(segment(placed))
    classic = READERS[version].classic
    at = (batch_ends if classic else ends)(placed)
    coordinator = Coordinator(0, Rules.CLASSIC if classic else Rules.NEW)
    records = [each for item in read_segment(path) if isinstance(item, BatchRead) for each in item.records]
    for end, kafkas in zip(at, oracle.load(version, path, at, classic=classic), strict=True):
        said: list[Change] = []
        while records and records[0].log_offset < end:
            said.extend(coordinator.replay(decode(records.pop(0))))
        refusals = [each for each in said if each.kind is ChangeKind.ANOMALY and REFUSES in (each.note or "")]
        yield Moment(end, of_ours(coordinator.state), kafkas, refusals)


def shown(sight: ComparableState, version: str) -> ComparableState:
    """Return a state without what a release's coordinator does not keep.

    The classic coordinator knows the offset of a commit's batch, and forgets in a restart a group of which all was aborted.
    """
    classic = READERS[version].classic
    unknown = NOT_YET.get(version, {"topic_id", "record_offset"} if classic else set())

    def cut(commits: dict[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
        return {
            at: {name: field for name, field in each.items() if name not in unknown}
            for at, each in commits.items()
        }

    used = {at[0] for at in sight.offsets} | {at[1] for at in sight.pending}
    groups = {
        name: group
        for name, group in sight.groups.items()
        if not (classic and group["kind"] == "simple" and name not in used)
    }
    return sight._replace(offsets=cut(sight.offsets), pending=cut(sight.pending), groups=groups)


def differences(moment: Moment, version: str) -> dict[str, Any]:
    """Return the differences between both states as (ours, Kafka's), by subject."""
    ours, kafkas = shown(moment.ours, version), shown(of_kafka(moment.kafkas), version)
    found = {}
    for name, mine, theirs in zip(ComparableState._fields, ours, common(ours, kafkas), strict=True):
        for at in mine.keys() | theirs.keys():
            if mine.get(at) != theirs.get(at):
                found[f"{name} {at}"] = (mine.get(at), theirs.get(at))
    return found


@pytest.mark.parametrize("disorder", [0.0, 0.01])
@pytest.mark.parametrize("version", [version for version, reader in READERS.items() if not reader.classic])
def test_the_new_coordinator(version: str, disorder: float, oracle: Oracle, tmp_path: Path) -> None:
    """A log in order is refused only where a group changed its kind and the cleaner left tombstones of the kind before."""
    compared = 0
    for seed in SEEDS:
        for number, placed in enumerate(logs(seed, READERS[version], disorder)):
            for moment in moments(oracle, version, placed, tmp_path):
                error = moment.kafkas.error
                if error is not None and UNSEEN in (error.message or ""):
                    break
                assert bool(moment.refusals) == (error is not None), (seed, moment)
                if error is not None:
                    assert disorder or (number == 1 and " is not a " in (error.message or "")), error
                    break
                assert differences(moment, version) == {}, (seed, moment.end)
                compared += 1
    assert compared > 20 * len(SEEDS)


@pytest.mark.parametrize("disorder", [0.0, 0.02])
@pytest.mark.parametrize(
    "version",
    [
        pytest.param(version, marks=pytest.mark.deep if version in DEEP_ALONE else ())
        for version, reader in READERS.items()
        if reader.classic
    ],
)
def test_the_classic_coordinator(version: str, disorder: float, oracle: Oracle, tmp_path: Path) -> None:
    """Of these logs it refuses one kind, and only where they end: a deleted group that has nothing but pending commits."""
    compared = 0
    for seed in SEEDS:
        for placed in logs(seed, READERS[version], disorder):
            for moment in moments(oracle, version, placed, tmp_path):
                if moment.kafkas.error is not None:
                    assert "Unexpected unload of active group" in (moment.kafkas.error.message or "")
                    continue
                assert differences(moment, version) == {}, (seed, moment.end)
                compared += 1
    assert compared > 30 * len(SEEDS)

"""The generated logs are what they claim to be: the same for a seed, of every kind, and loadable by Kafka unless disordered."""

from pathlib import Path
from random import Random

import pytest

from oracle.client import Oracle
from oracle.jars import DEEP_ALONE
from tests.expiry.log_cleaner import cleaned
from tests.replay.random_logs import READERS, RandomLog, batch_ends, ends, segment


def test_a_seed_makes_one_log() -> None:
    first, again, other = (
        segment(RandomLog(seed, READERS["4.3.1"], 0.01).grow(50).placed) for seed in (3, 3, 4)
    )
    assert first == again != other


def test_a_log_grows_at_its_end() -> None:
    log = RandomLog(3, READERS["4.3.1"])
    short = list(log.grow(20).placed)
    assert log.grow(20).placed[:20] == short
    assert ends(log.placed) == list(range(1, batch_ends(log.placed)[-1] + 1))


def test_what_was_cleaned_is_less_and_ends_where_it_ended() -> None:
    placed = RandomLog(3, READERS["4.3.1"]).grow(200).placed
    for seed in range(20):
        left = cleaned(placed, Random(seed))
        assert set(ends(left)) <= set(ends(placed))
        assert left[-1] == placed[-1]
    assert min(len(ends(cleaned(placed, Random(seed)))) for seed in range(20)) < len(ends(placed)) * 0.7


@pytest.mark.java
@pytest.mark.parametrize(
    "version",
    [pytest.param(version, marks=pytest.mark.deep if version in DEEP_ALONE else ()) for version in READERS],
)
def test_kafka_loads_every_log_that_keeps_to_the_rules(version: str, oracle: Oracle, tmp_path: Path) -> None:
    found = set()
    for seed in range(5):
        placed = RandomLog(seed, READERS[version]).grow(120).placed
        for log in (placed, cleaned(placed, Random(seed))):
            path = tmp_path / "00000000000000000000.log"
            path.write_bytes(segment(log))
            [state] = oracle.load(version, path, classic=READERS[version].classic)
            assert state.error is None, (seed, state.error)
            found |= {group.kind for group in state.groups.values()}
    kinds = () if READERS[version].classic else READERS[version].kinds
    assert found == {"classic", "simple", *kinds}


@pytest.mark.java
def test_kafka_refuses_most_logs_in_disorder(oracle: Oracle, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    refused = 0
    for seed in range(10):
        path.write_bytes(segment(RandomLog(seed, READERS["4.3.1"], 0.05).grow(100).placed))
        refused += oracle.load("4.3.1", path)[0].error is not None
    assert refused > 5

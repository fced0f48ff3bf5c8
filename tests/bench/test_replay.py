"""Before replay is timed, Kafka's coordinator and ours agree on the state that each mix leads to."""

from pathlib import Path

import pytest

from bench.generator.mixes import MIXES
from bench.replay import history, history_by_column, kafka_load, tallies
from bench.tally import agreed
from oracle.client import Oracle
from oracle.jars import NEWEST
from tests.bench.test_readers import made


@pytest.mark.java
@pytest.mark.parametrize("mix", sorted(MIXES))
def test_the_same_state(mix: str, oracle: Oracle, tmp_path: Path) -> None:
    path = made(mix, tmp_path)
    told = agreed(mix, tallies(oracle, path))
    assert told.commits > 100 and told.groups > 10
    history(path, 100)
    assert history_by_column(path) >= told.commits


@pytest.mark.java
def test_kafka_is_timed_without_telling_what_it_holds(oracle: Oracle, tmp_path: Path) -> None:
    """An answer as JSON takes as long as the load of a small segment."""
    path = made("commits", tmp_path)
    load = kafka_load(oracle, path)
    load()  # finds the release's classes
    began = oracle.cpu_seconds()
    oracle.load(NEWEST, path)
    told = oracle.cpu_seconds() - began
    assert 0 < min(load() for _ in range(5)) < told

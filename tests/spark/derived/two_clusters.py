"""What holds of every table that is derived from a cluster's log: two clusters of which one grew, and a kill at each commit."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark.derived.derive import Derived
from tests.spark.histories import replay_lake
from tests.spark.kills import Killed, killed
from tests.spark.lakes import ingest_here

Job = Callable[[SparkSession, Path], Derived]


def half_derived(session: SparkSession, lake: Path, parts: Sequence[Path], job: Job) -> Path:
    """Return a lake of two clusters with derived tables, of which "b" then got another part, which was replayed."""
    for cluster in ("a", "b"):
        ingest_here(lake, parts[0], cluster=cluster)
    replay_lake(session, lake)
    job(session, lake)
    ingest_here(lake, parts[1], cluster="b")
    replay_lake(session, lake)
    return lake


def together(folder: Path, parts: Sequence[Path]) -> Path:
    """Copy the parts into one folder, so that it has all that cluster "b" has."""
    for part in parts:
        shutil.copytree(part, folder / part.name)
    return folder


def at_each_commit(test: Callable[..., None]) -> Callable[..., None]:
    """Parametrize a test by `step` and `before` of `kill`; all but one case run in `make deep` only."""
    deep = pytest.mark.deep
    before = pytest.mark.parametrize("before", [pytest.param(True, marks=deep), False])
    step = pytest.mark.parametrize("step", [0, pytest.param(1, marks=deep)])
    return before(step(test))


def kill(session: SparkSession, lake: Path, job: Job, step: int, *, before: bool) -> None:
    """End a job before or after its n-th commit, as if it had been killed."""
    with killed(step, before=before) as made, pytest.raises(Killed):
        job(session, lake)
    assert len(made) == step + (not before)

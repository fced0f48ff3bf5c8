"""Clusters of one lake have settings of their own: each cluster's rows are those of a lake of its own with these settings."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from offsets_tool.errors import UsageError
from offsets_tool.evidence.expiring import PolicyOverrides
from spark.derived.expiry import expiry
from spark.ingest.ingest import Request
from spark.run import JobDone, run, run_expiry, run_findings, run_replay
from tests.corpora import CORPORA
from tests.spark.histories import rows
from tests.spark.lakes import ingest_here, no_session

pytestmark = pytest.mark.spark

DAY = 86_400_000
TABLES = ("offset_history", "group_history", "removals", "expiry", "findings", "rebalances")
LOGS = {
    "a": [CORPORA / "2.8.2-expiry" / "segments" / f"__consumer_offsets-{number}" for number in (25, 15)],
    "b": sorted((CORPORA / "1.1.1-expiry" / "segments").iterdir())[:2],
}


class Given(NamedTuple):
    """The settings of one cluster; None where none is given."""

    policy: PolicyOverrides | None = None
    coordinator: str | None = None


def policy(release: tuple[int, int] | None = None, *retentions: int) -> Given:
    return Given(PolicyOverrides(release, retentions))


CASES = {
    "other retentions": ({"a": policy(None, DAY), "b": policy(None, 7 * DAY)}, policy(None, 3 * DAY)),
    "other releases": ({"a": policy((1, 1), DAY), "b": policy((2, 8), DAY)}, policy((4, 0), DAY)),
    "one has none any more": (
        {"a": policy((1, 1), DAY), "b": policy((2, 8), DAY, 7 * DAY)},
        Given(PolicyOverrides()),
    ),
    "one has none": ({"a": policy((2, 8), DAY, 7 * DAY), "b": Given()}, policy((2, 8), 7 * DAY)),
    "other coordinators": ({"a": Given(coordinator="new"), "b": Given()}, Given(coordinator="classic")),
}


RARE = {"other retentions", "other releases", "one has none", "other coordinators"}
"""The cases that only `make deep` runs."""


def of_cluster(lake: Path, cluster: str) -> dict[str, list[dict[str, Any]]]:
    """Return a cluster's rows of all tables, without the runs that wrote them."""
    return {
        table: sorted(
            (
                {name: value for name, value in row.items() if name != "run"}
                for row in rows(lake, table)
                if row["cluster"] == cluster
            ),
            key=repr,
        )
        for table in TABLES
    }


def alone(lake: Path, cluster: str, logs: Iterable[Path], given: Given) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a lake that has this cluster only, with settings of the whole lake."""
    for log in logs:
        ingest_here(lake, log, cluster=cluster)
    run_replay(str(lake), no_session, given.coordinator)
    run_expiry(str(lake), no_session, given.policy)
    run_findings(str(lake), no_session)
    return of_cluster(lake, cluster)


def run_all(lake: Path, cluster: str, log: Path, given: Given) -> list[JobDone]:
    request = Request(paths=[str(log)], lake=str(lake), cluster=cluster)
    return list(run(request, no_session, given.coordinator, policy=given.policy))


def runs(lake: Path, cluster: str) -> set[tuple[str, int]]:
    """Return which runs wrote the derived rows of a cluster."""
    return {
        (table, row["run"])
        for table in ("expiry", "findings", "rebalances")
        for row in rows(lake, table)
        if row["cluster"] == cluster
    }


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.deep] if case in RARE else []) for case in CASES]
)
def test_each_cluster_has_the_rows_of_a_lake_of_its_own(tmp_path: Path, case: str) -> None:
    """In a first run, in one that only adds records, and after the settings of one cluster have changed."""
    settings, changed = CASES[case]
    lake = tmp_path / "lake"
    for cluster, given in settings.items():
        run_all(lake, cluster, LOGS[cluster][0], given)
    for cluster, given in settings.items():
        assert of_cluster(lake, cluster) == alone(
            tmp_path / f"first-{cluster}", cluster, LOGS[cluster][:1], given
        )
    for cluster in settings:
        run_all(lake, cluster, LOGS[cluster][1], Given())
    both = {
        cluster: alone(tmp_path / f"both-{cluster}", cluster, LOGS[cluster], given)
        for cluster, given in settings.items()
    }
    assert {cluster: of_cluster(lake, cluster) for cluster in settings} == both
    before = {cluster: runs(lake, cluster) for cluster in settings}
    run_all(lake, "a", LOGS["a"][1], changed)
    assert of_cluster(lake, "a") == alone(tmp_path / "changed", "a", LOGS["a"], changed)
    assert of_cluster(lake, "b") == both["b"]
    assert runs(lake, "b") == before["b"]
    assert not runs(lake, "a") & before["a"]


@pytest.fixture
def two(tmp_path: Path) -> str:
    """A lake of two clusters that were replayed."""
    for cluster, logs in LOGS.items():
        ingest_here(tmp_path, logs[0], cluster=cluster)
    run_replay(str(tmp_path), no_session, None)
    return str(tmp_path)


def asked(lake: str, request: PolicyOverrides | None, cluster: str | None = None) -> list[str]:
    return expiry(lake, no_session, request, cluster=cluster).notes


def retentions(lake: str) -> dict[str, set[int]]:
    return {
        cluster: {row["retention_ms"] for row in rows(Path(lake), "expiry") if row["cluster"] == cluster}
        - {None}
        for cluster in ("a", "b", "c")
    }


def test_what_is_given_for_all_is_of_those_without_their_own(two: str) -> None:
    """Also of a cluster that comes later; a cluster whose own settings are taken away has those of all again."""
    by_log = retentions(two) if asked(two, None) else {}
    every, own = PolicyOverrides(retentions=(9 * DAY,)), PolicyOverrides(retentions=(2 * DAY,))
    assert "settings of all clusters: retention 9d" in asked(two, every)
    assert "settings: retention 2d for a; retention 9d for b" in asked(two, own, "a")
    for other in (every, None):
        assert "settings: retention 2d for a; retention 9d for b" in asked(two, other)
    assert "settings: retention 2d for a; what the log says for b" in asked(two, PolicyOverrides())
    assert "settings: retention 2d for a; retention 9d for b" in asked(two, every)
    ingest_here(Path(two), LOGS["a"][1], cluster="c")
    run_replay(two, no_session, None)
    assert "settings: retention 2d for a; retention 9d for b and c" in asked(two, None)
    assert "settings of all clusters: retention 9d" in asked(two, PolicyOverrides(), "a")
    assert asked(two, None) == ["settings of all clusters: retention 9d"]
    assert all(9 * DAY in found for cluster, found in retentions(two).items() if by_log.get(cluster))


def test_settings_that_no_cluster_takes_are_named(two: str) -> None:
    own = PolicyOverrides(retentions=(2 * DAY,))
    for cluster in ("a", "b"):
        asked(two, own, cluster)
    assert any("are not kept" in note for note in asked(two, PolicyOverrides(retentions=(DAY,))))
    assert not any("are not kept" in note for note in asked(two, PolicyOverrides()))


def test_settings_of_an_unknown_cluster_are_refused(two: str) -> None:
    with pytest.raises(UsageError, match="has no cluster 'x': choose among a, b"):
        asked(two, PolicyOverrides(), "x")
    with pytest.raises(UsageError, match="has no cluster 'x': choose among a, b"):
        run_replay(two, no_session, "new", cluster="x")


def test_a_coordinator_is_kept_until_another_is_given(two: str) -> None:
    run_replay(two, no_session, "new", cluster="a")
    assert run_replay(two, no_session, None).run is None
    asked_for = {(row["cluster"], row["coordinator"]) for row in rows(Path(two), "replays") if row["run"] > 1}
    assert asked_for == {("a", "new")}
    assert "settings: new coordinator for a; what the log says for b" in asked(two, None)
    run_replay(two, no_session, "auto")
    assert not any(note.startswith("settings") for note in asked(two, None))

"""The views over histories say what the command line says of the same files; and what is not there is named."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import DataFrame, SparkSession

from offsets_tool.cli import main as tool
from offsets_tool.views.derived import VIEWS as OF_DERIVATIONS
from spark.lake.tables import DERIVED_TABLES, REPLAY_TABLES
from spark.replay.replay import replay
from spark.views.views import open_lake
from tests.spark.lakes import CORPORA, SEGMENT, Row, ingest_here

pytestmark = pytest.mark.spark

EVIDENCE = {cluster: CORPORA / cluster / "segments" for cluster in ("3.9.2-txn", "4.3.1-kip848")}


@pytest.fixture(scope="module")
def asked(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session with the views of a lake that was replayed."""
    lake = tmp_path_factory.mktemp("histories") / "lake"
    for cluster, evidence in EVIDENCE.items():
        ingest_here(lake, evidence, cluster=cluster)
    replay(str(lake), lambda: session)
    own = session.newSession()
    shown = open_lake(own, str(lake))
    derived = {table.name for table in DERIVED_TABLES} | {view.name for view in OF_DERIVATIONS}
    assert {one.name for one in shown if one.lacks} == derived
    for one in shown:
        if one.lacks is None:
            assert all("comment" in column.metadata for column in own.table(one.name).schema), one.name
    return own


def told(command: str, *options: str, clusters: Iterable[str] = tuple(EVIDENCE)) -> list[tuple[str, Row]]:
    """What `offsets-tool` says of each cluster's files."""
    found = []
    for cluster in clusters:
        done = CliRunner().invoke(tool, [command, str(EVIDENCE[cluster]), "--format", "jsonl", *options])
        assert done.exit_code == 0, done.stderr
        found += [(cluster, json.loads(line)) for line in done.stdout.splitlines()]
    return found


def answer(view: DataFrame, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    rows = view.select("cluster", *columns).toArrow().to_pylist()
    return sorted((tuple(map(_plain, row.values())) for row in rows), key=repr)


def _plain(value: Any) -> Any:
    """What a member has is no sequence."""
    return sorted(value) if isinstance(value, list) else value


def expected(
    rows: list[tuple[str, Row]], columns: tuple[str, ...], counts: Callable[[Row], object] = bool
) -> list[tuple[Any, ...]]:
    found = [(cluster, *(_plain(row[name]) for name in columns)) for cluster, row in rows if counts(row)]
    assert found
    return sorted(found, key=repr)


def test_current_offsets(asked: SparkSession) -> None:
    columns = ("group", "topic", "partition", "committed_offset", "leader_epoch", "metadata")
    rows = expected(told("offsets"), columns, lambda row: row["committed_offset"] is not None)
    assert answer(asked.table("current_offsets"), columns) == rows


def test_current_groups(asked: SparkSession) -> None:
    columns = ("group", "kind", "state", "generation", "epoch", "protocol", "leader", "members")
    assert answer(asked.table("current_groups"), columns) == expected(told("groups"), columns)


def test_current_members(asked: SparkSession) -> None:
    columns = ("member_id", "client_id", "client_host", "member_epoch", "subscription", "assignment")
    (cluster, group), *_ = asked.sql(
        "SELECT cluster, `group` FROM current_members GROUP BY ALL ORDER BY count(*) DESC, `group`"
    ).collect()
    rows = told("describe", "--group", group, "--members", clusters=[cluster])
    ours = answer(asked.table("current_members").where(f"`group` = '{group}'"), columns)
    assert ours == expected(rows, columns)


def test_ownership(asked: SparkSession) -> None:
    columns = ("group", "topic", "partition", "delta", "generation", "group_epoch", "member_epoch")
    columns += ("is_owner_known", "member_id", "client_id")
    changes = told("history", "--kind", "offsets")
    rows = expected(changes, columns, lambda row: (row["after"] or {}).get("is_effective"))
    assert answer(asked.table("ownership"), columns) == rows
    assert any(row[-1] for row in rows)


def test_owned_without_commit(asked: SparkSession) -> None:
    """As `offsets-tool lag` shows partitions that are owned without a commit."""
    columns = ("group", "topic", "partition")
    others = {(c, row["group"]) for c, row in told("groups") if row["kind"] not in ("classic", "consumer")}
    rows = [(c, row) for c, row in told("lag") if (c, row["group"]) not in others]
    assert answer(asked.table("owned_without_commit"), columns) == expected(
        rows, columns, lambda row: row["committed_offset"] is None
    )


def test_without_a_replay(session: SparkSession, tmp_path: Path) -> None:
    """Also after one that began and was never finished: its tables are there, and nothing in them counts."""
    ingest_here(tmp_path, SEGMENT)
    own = session.newSession()
    lacking = {one.name: one.lacks for one in open_lake(own, str(tmp_path)) if one.lacks}
    assert lacking == {table.name: table.name for table in (*REPLAY_TABLES, *DERIVED_TABLES)} | {
        "current_offsets": "offset_history",
        "current_groups": "group_history",
        "current_members": "member_history",
        "ownership": "offset_history",
        "owned_without_commit": "member_history",
        "current_lag": "lag",
        "group_lag": "lag",
        "lag_per_hour": "lag",
        "lost_unread": "lag",
        "recreated_topics": "lag",
        "next_expiries": "expiry",
        "removals_per_day": "expiry",
    }
    assert not any(own.catalog.tableExists(name) for name in lacking)

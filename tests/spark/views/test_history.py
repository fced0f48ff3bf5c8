"""The views over histories say what the command line says of the same files; and what is not there is named."""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import DataFrame, SparkSession

from offsets_tool.cli import main as tool
from offsets_tool.lake.tables import DERIVED_TABLES, REPLAY_TABLES
from offsets_tool.records.consumer import ConsumerGroupMetadataKey, ConsumerGroupMetadataValue
from offsets_tool.sql.duck_lake import DuckLake
from offsets_tool.views.derived import VIEWS as OF_DERIVATIONS
from spark.replay.replay import replay
from spark.views.views import open_lake
from tests.depth import DEEP
from tests.replay.random_logs import READERS, RandomLog, segment
from tests.replay.story import commit, group_metadata, group_tombstone, record_of
from tests.replay.story_segments import Placed, write_log
from tests.spark.lakes import CORPORA, SEGMENT, Row, ingest_here
from tests.spark.moved import moved_logs, write_moved
from tests.spark.views.both import agree, check_queries, check_views

pytestmark = pytest.mark.spark

FOLDER = TemporaryDirectory()
SAMPLE = ("3.9.2-txn", "4.3.1-kip848", "4.2.1-newgroups", "0.9.0.1-mix")
FIXTURES = sorted(path.name for path in CORPORA.iterdir()) if DEEP else SAMPLE
RANDOM = [(release, seed) for release in ("3.9.2", "4.3.1") for seed in range(20 if DEEP else 2)]


def _written() -> Iterator[tuple[str, Path]]:
    """Logs that grew at random, and one whose group is gone while its offset stays."""
    for release, seed in RANDOM:
        # Version 4 says a topic's id, and random logs say one id of several topics: then no name is right.
        reader = READERS[release]._replace(commits=(0, 1, 2, 3))
        log = RandomLog(seed, reader, disorder=0.1 * (seed % 2)).grow(200)
        path = Path(FOLDER.name) / f"{release}-{seed}" / "__consumer_offsets-3" / f"{0:020d}.log"
        path.parent.mkdir(parents=True)
        path.write_bytes(segment(log.placed))
        yield path.parent.parent.name, path.parent.parent
    gone = (
        record_of(ConsumerGroupMetadataKey(group_id="other"), ConsumerGroupMetadataValue(epoch=3)),
        commit("g", "t", 0, 10),
        commit("g", "t", 1, 20),
        group_metadata("g", 1),
        group_tombstone("g"),
        commit("h", "t", 0, 30),
    )
    write_log(Path(FOLDER.name) / "gone", [Placed(at, at, each) for at, each in enumerate(gone)])
    yield "gone", Path(FOLDER.name) / "gone"
    unread = commit("g", "t", 9, 6)._replace(key=b"\0\x63")
    odd = (commit("g", "t", 0, 5), commit("h", "t", 0, 5), unread, commit("g", "t", 1, 7))
    write_log(Path(FOLDER.name) / "unread-key", [Placed(at, at, each) for at, each in enumerate(odd)])
    yield "unread-key", Path(FOLDER.name) / "unread-key"
    for name, logs in moved_logs():
        yield name, write_moved(Path(FOLDER.name) / name, logs)


EVIDENCE = {cluster: CORPORA / cluster / "segments" for cluster in FIXTURES} | dict(_written())


@pytest.fixture(scope="module")
def lake(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake that was replayed."""
    made = tmp_path_factory.mktemp("histories") / "lake"
    for cluster, evidence in EVIDENCE.items():
        ingest_here(made, evidence, cluster=cluster)
    replay(str(made), lambda: session)
    return made


@pytest.fixture(scope="module")
def asked(session: SparkSession, lake: Path) -> SparkSession:
    """A session with the views of the lake."""
    own = session.newSession()
    shown = open_lake(own, str(lake))
    derived = {table.name for table in DERIVED_TABLES} | {view.name for view in OF_DERIVATIONS}
    assert {one.name for one in shown if one.lacks} == derived
    for one in shown:
        if one.lacks is None:
            assert all("comment" in column.metadata for column in own.table(one.name).schema), one.name
    return own


def rows_of_command(
    command: str, *options: str, clusters: Iterable[str] = tuple(EVIDENCE)
) -> list[tuple[str, Row]]:
    """Return the rows that a command of `offsets-tool` shows of each cluster's files."""
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
    """Return a value in comparable form: lists, whose order does not count, sorted."""
    return sorted(value) if isinstance(value, list) else value


def expected(
    rows: list[tuple[str, Row]], columns: tuple[str, ...], counts: Callable[[Row], object] = bool
) -> list[tuple[Any, ...]]:
    found = [(cluster, *(_plain(row[name]) for name in columns)) for cluster, row in rows if counts(row)]
    assert found
    return sorted(found, key=repr)


def test_current_offsets(asked: SparkSession) -> None:
    columns = ("group", "topic", "partition", "committed_offset", "leader_epoch", "metadata", "is_proven")
    rows = expected(rows_of_command("offsets"), columns, lambda row: row["committed_offset"] is not None)
    assert answer(asked.table("current_offsets"), columns) == rows


def test_of_groups_that_moved_both_engines_have_what_the_command_line_has(
    asked: SparkSession, lake: Path
) -> None:
    assert agree(asked, DuckLake(str(lake)), "SELECT * FROM current_offsets")
    assert agree(asked, DuckLake(str(lake)), "SELECT * FROM moved_groups")
    found = asked.sql("SELECT cluster, log_partition FROM moved_groups WHERE `group` = 'g'").collect()
    assert dict(map(tuple, found)) == {
        "moved-newest-commit": 4,
        "moved-nothing-tells": None,
        "moved-unread": None,
        "moved-unread-alone": None,
        "moved-read-again": 4,
        "moved-other-keys": 4,
    }


def test_an_offset_whose_group_is_gone_is_no_current_offset(asked: SparkSession) -> None:
    found = asked.sql("SELECT `group`, partition FROM current_offsets WHERE cluster = 'gone'").collect()
    assert [tuple(row) for row in found] == [("h", 0)]
    kept = "SELECT partition FROM offset_history WHERE cluster = 'gone' AND begin_cause = 'hidden'"
    assert sorted(row[0] for row in asked.sql(kept).collect()) == [0, 1]


def test_pending_commits(asked: SparkSession) -> None:
    columns = ("producer_id", "group", "topic", "partition", "committed_offset", "metadata", "topic_id")
    # The one does not show groups that are gone, the other not commits of producers without a transaction.
    shown = (rows_of_command("offsets"), rows_of_command("transactions"))
    every = [
        (cluster, {"topic_id": None} | row | commit_)
        for cluster, row in chain(*shown)
        for commit_ in row["pending"]
        if row.get("outcome", "open") == "open"
    ]
    open_ = list(
        {(cluster, *map(commit_.get, columns)): (cluster, commit_) for cluster, commit_ in every}.values()
    )
    pending = "NOT is_effective AND begin_cause = 'transaction' AND to_log_offset IS NULL"
    assert answer(asked.table("offset_history").where(pending), columns) == expected(open_, columns)


def test_current_groups(asked: SparkSession) -> None:
    columns = ("group", "kind", "state", "generation", "epoch", "protocol", "leader", "members")
    rows = rows_of_command("groups")
    # The command leaves out what is unknown of a group that rests on what was not understood.
    unknown = {(cluster, row["group"]) for cluster, row in rows if not row["is_proven"]}
    known = [(cluster, row) for cluster, row in rows if (cluster, row["group"]) not in unknown]
    found = [row for row in answer(asked.table("current_groups"), columns) if row[:2] not in unknown]
    assert found == expected(known, columns)


def test_current_members(asked: SparkSession) -> None:
    columns = ("member_id", "client_id", "client_host", "member_epoch", "subscription", "assignment")
    (cluster, group), *_ = asked.sql(
        "SELECT cluster, `group` FROM current_members GROUP BY ALL ORDER BY count(*) DESC, `group`"
    ).collect()
    rows = rows_of_command("describe", "--group", group, "--members", clusters=[cluster])
    ours = answer(
        asked.table("current_members").where(f"cluster = '{cluster}' AND `group` = '{group}'"), columns
    )
    assert ours == expected(rows, columns)


def _is_new_commit(row: Row) -> bool:
    """Return whether a row is a commit that became effective, and not one that came back with its group."""
    return bool((row["after"] or {}).get("is_effective")) and row["what"] != "back with its group"


def test_ownership(asked: SparkSession) -> None:
    columns = ("group", "topic", "partition", "delta", "generation", "group_epoch", "member_epoch")
    columns += ("is_owner_known", "member_id", "client_id")
    changes = rows_of_command("history", "--kind", "offsets")
    rows = expected(changes, columns, _is_new_commit)
    assert answer(asked.table("ownership"), columns) == rows
    assert any(row[-1] for row in rows)


def test_owned_without_commit(asked: SparkSession) -> None:
    """As `offsets-tool describe` shows partitions that are owned without a commit."""
    columns = ("group", "topic", "partition")
    others = {
        (c, row["group"])
        for c, row in rows_of_command("groups")
        if row["kind"] not in ("classic", "consumer")
    }
    rows = [
        (c, row) for c, row in rows_of_command("describe", "--all-groups") if (c, row["group"]) not in others
    ]
    owned = expected(
        rows, columns, lambda row: row["committed_offset"] is None and row["member_id"] is not None
    )
    # Where members are said to own one partition together, the view has a row of each.
    assert sorted(set(answer(asked.table("owned_without_commit"), columns)), key=repr) == owned


def test_assignments(asked: SparkSession) -> None:
    columns = (
        "group",
        "topic",
        "subtopology",
        "partition",
        "member_id",
        "instance_id",
        "client_id",
        "client_host",
    )
    columns += (
        "group_kind",
        "generation",
        "member_epoch",
        "log_partition",
        "from_log_offset",
        "to_log_offset",
    )
    columns += ("end_cause",)
    rows = expected(rows_of_command("assignments", "--over-time"), columns)
    assert answer(asked.table("assignments"), columns) == rows
    assert len({row[-1] for row in rows}) > 3


def test_without_a_replay(session: SparkSession, tmp_path: Path) -> None:
    """Also after one that began and was never finished: its tables are there, and nothing in them counts."""
    ingest_here(tmp_path, SEGMENT)
    own = session.newSession()
    lacking = {one.name: one.lacks for one in open_lake(own, str(tmp_path)) if one.lacks}
    assert lacking == {table.name: table.name for table in (*REPLAY_TABLES, *DERIVED_TABLES)} | {
        "moved_groups": "group_history",
        "unread_keys": "anomalies",
        "current_offsets": "anomalies",
        "current_groups": "group_history",
        "current_members": "member_history",
        "ownership": "offset_history",
        "owned_without_commit": "member_history",
        "assignments": "member_history",
        "current_lag": "lag",
        "group_lag": "lag",
        "lag_per_hour": "lag",
        "lost_unread": "lag",
        "recreated_topics": "lag",
        "next_expiries": "expiry",
        "removals_per_day": "expiry",
        "coverage": "replays",
        "worst_findings": "findings",
        "findings_per_group": "findings",
    }
    assert not any(own.catalog.tableExists(name) for name in lacking)


@pytest.mark.deep
def test_without_spark_views_have_the_same_rows(asked: SparkSession, lake: Path) -> None:
    """And the same columns, types and comments."""
    check_views(asked, lake)


@pytest.mark.deep
def test_without_spark_queries_have_the_same_answers(asked: SparkSession, lake: Path) -> None:
    check_queries(
        asked,
        lake,
        ("events", "offset_history", "member_history", "current_offsets", "current_members", "transactions"),
    )

"""The views say of real brokers' logs what plain Python says of the same rows; all of them of whole runs only."""

import json
from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from offsets_tool.evidence.answers.sizing import EvidenceSizes
from offsets_tool.evidence.distinct_records import shown_records
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.lake.contents import VIEWS, Shown
from offsets_tool.records import RECORD_TYPES
from offsets_tool.sizes.rows import group_rows
from offsets_tool.wire.schema import Primitive, Shape, schema_of
from spark.views.views import OpenLake, open_lake
from tests.corpora import COPIES, REPLICATED
from tests.evidence.copies import copy
from tests.replay.story import commit
from tests.replay.story_segments import in_order
from tests.spark.histories import replay_lake
from tests.spark.lakes import CORPORA, Row, ingest_here, rows
from tests.spark.replay.test_copies import copies_of
from tests.spark.views.both import check_queries, check_views

pytestmark = pytest.mark.spark

CLUSTERS = ("2.4.1-mix", "3.9.2-txn", "3.7.2-kip848", "4.3.1-kip848", "4.3.1-newgroups", "3.9.2-compaction")


_SUMMED = ("records", "bytes", "dead_keys", "records_left", "bytes_left")


@pytest.fixture(scope="module")
def lake(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Groups of all kinds, transactions, a log that was cleaned with what was cleaned away, and brokers' copies of one log."""
    made = tmp_path_factory.mktemp("views") / "lake"
    for cluster in CLUSTERS:
        ingest_here(made, CORPORA / cluster / "segments", cluster=cluster)
    ingest_here(made, COPIES, cluster="replicas")
    return made


@pytest.fixture(scope="module")
def asked(session: SparkSession, lake: Path) -> SparkSession:
    """A session with the views of the lake, apart from those of other tests."""
    own = session.newSession()
    open_lake(own, str(lake))
    return own


@pytest.fixture(scope="module")
def events(lake: Path) -> list[Row]:
    return once(lake, "events")


@pytest.fixture(scope="module")
def compaction(asked: SparkSession) -> list[Row]:
    return answer(asked, "SELECT * FROM compaction ORDER BY cluster, log_partition")


def once(lake: Path, table: str) -> list[Row]:
    """Return the rows of a table in the order of the log, each log offset once: of copies the one that was read last."""
    newest: dict[Any, Row] = {}
    for row in sorted(rows(lake, table), key=lambda row: (row["run"], row["source"])):
        newest[row["cluster"], row["log_partition"], row["log_offset"]] = row
    return [newest[place] for place in sorted(newest)]


def answer(asked: SparkSession, sql: str) -> list[Row]:
    found: list[Row] = asked.sql(sql).toArrow().to_pylist()
    return found


def outcomes(events: Iterable[Row]) -> dict[Any, str | None]:
    """Return the next marker of each transactional record, by log partition and offset."""
    found: dict[Any, str | None] = {}
    opened: dict[Any, list[Any]] = defaultdict(list)
    for row in events:
        producer = (row["cluster"], row["log_partition"], row["producer_id"])
        place = (row["cluster"], row["log_partition"], row["log_offset"])
        if row["is_control"]:
            found |= dict.fromkeys(opened.pop(producer, ()), row["control"])
        elif row["is_transactional"]:
            opened[producer].append(place)
            found[place] = None
    return found


def size(row: Row) -> int:
    return len(row["key"] or b"") + len(row["value"] or b"")


def test_each_place_once(lake: Path, asked: SparkSession) -> None:
    """Two brokers' copies, and segments beside what the cleaner made of them."""
    for table in ("events", "log"):
        columns = "* EXCEPT (copies, branch)"
        found = answer(
            asked, f"SELECT {columns} FROM {table}_once ORDER BY cluster, log_partition, log_offset"
        )
        assert found == once(lake, table)
        assert len(rows(lake, table)) > len(found)


def test_each_record_with_its_copies_and_its_branch(session: SparkSession, tmp_path: Path) -> None:
    """As `decode --union` has them: of copies of a log that was forked, some of them with the same files."""
    copies = copies_of(REPLICATED / "4.1.2-unclean")
    for path in copies:
        ingest_here(tmp_path, path, cluster="c")
    own = session.newSession()
    OpenLake(own, str(tmp_path)).show(("events_once", "log_once"))
    with open_evidence(*copies) as evidence:
        expected = Counter(
            (
                found.event.record.log_partition,
                found.event.record.log_offset,
                found.event.record.batch and found.event.record.batch.partition_leader_epoch,
                found.copies,
                found.branch.value,
            )
            for found in shown_records(evidence)
        )
    for table in ("events", "log"):
        rows_of = answer(
            own,
            f"SELECT log_partition, log_offset, partition_leader_epoch, copies, branch FROM {table}_once",
        )
        assert (
            Counter((*list(row.values())[:3], tuple(row["copies"]), row["branch"]) for row in rows_of)
            == expected
        )
    assert {branch for *_, branch in expected} == {"current", "abandoned"}


def test_coverage(session: SparkSession, tmp_path: Path) -> None:
    """From the first record behind a missing one; before it, as far as copies have records."""
    log = in_order(*(commit("g", "t", 0, at) for at in range(6)))
    ingest_here(tmp_path / "lake", copy(tmp_path / "a", [*log[:2], *log[3:]], cleaned_to=3), cluster="c")
    replay_lake(session, tmp_path / "lake")
    own = session.newSession()
    OpenLake(own, str(tmp_path / "lake")).show(("coverage",))
    (row,) = answer(own, "SELECT * FROM coverage")
    assert row.pop("proven_from_at") == datetime.fromtimestamp(log[3].timestamp / 1_000, UTC)
    assert row.pop("copies") == [str(tmp_path / "a")]
    assert {name: value for name, value in row.items() if value is not None} == {
        **{"cluster": "c", "log_partition": 3, "proven_from_log_offset": 3, "next_log_offset": 6},
        **{"cleaned_to_offset": 3, "absences": 0, "abandoned": 0, "contradictions": 0},
    }


def test_transaction_outcomes(asked: SparkSession, events: list[Row]) -> None:
    found = answer(asked, "SELECT cluster, log_partition, log_offset, outcome FROM transaction_outcomes")
    assert {tuple(row.values())[:3]: row["outcome"] for row in found} == outcomes(events)
    assert {row["outcome"] for row in found} == {"COMMIT", "ABORT", None}


def test_commits_per_minute(asked: SparkSession, events: list[Row]) -> None:
    commits: Counter[Any] = Counter()
    partitions = defaultdict(set)
    for row in events:
        if row["committed_offset"] is not None:
            minute = datetime.fromtimestamp(row["commit_timestamp"] // 60_000 * 60, UTC)
            key = (row["cluster"], row["group"], minute)
            commits[key] += 1
            partitions[key].add((row["topic"], row["partition"]))
    found = {tuple(row.values())[:3]: row for row in answer(asked, "SELECT * FROM commits_per_minute")}
    assert {key: row["commits"] for key, row in found.items()} == commits
    assert {key: row["partitions"] for key, row in found.items()} == {
        k: len(v) for k, v in partitions.items()
    }


def test_rebalances_per_hour(asked: SparkSession, events: list[Row]) -> None:
    kinds = {2: "classic", 3: "consumer", 11: "share", 17: "streams"}
    before: dict[Any, int | None] = {}
    expected: dict[Any, list[int]] = defaultdict(list)
    for row in events:
        if row["record_type"] not in kinds:
            continue
        value = json.loads(row["value_json"] or "{}")
        epoch = value.get("generation", value.get("epoch"))
        group = (row["cluster"], row["group"], kinds[row["record_type"]])
        if epoch is not None and epoch > 0 and epoch != before.get(group):
            expected[*group, datetime.fromtimestamp(row["timestamp"] // 3_600_000 * 3600, UTC)].append(epoch)
        before[group] = epoch
    found = answer(asked, "SELECT * FROM rebalances_per_hour")
    told = {tuple(row.values())[:4]: tuple(row.values())[4:] for row in found}
    assert told == {key: (len(epochs), min(epochs), max(epochs)) for key, epochs in expected.items()}
    assert {row["kind"] for row in found} == set(kinds.values())


def test_offenders(lake: Path, asked: SparkSession, events: list[Row]) -> None:
    sizes = {(row["source"], row["log_partition"], row["log_offset"]): size(row) for row in once(lake, "log")}
    expected: dict[Any, Counter[str]] = defaultdict(Counter)
    before: dict[Any, Any] = {}
    for row in events:
        if row["group"] is None:
            continue
        of_group = expected[row["cluster"], row["group"]]
        of_group["records"] += 1
        of_group["bytes"] += sizes[row["source"], row["log_partition"], row["log_offset"]]
        position = (row["committed_offset"], row["leader_epoch"], row["metadata"])
        key = (row["cluster"], row["group"], row["topic"], row["partition"])
        if row["committed_offset"] is not None:
            of_group["commits"] += 1
            of_group["unchanged"] += position == before.get(key)
        before[key] = position
    found = answer(asked, "SELECT * FROM offenders")
    assert {
        (row["cluster"], row["group"]): Counter({n: row[n] for n in of_group}) for row in found
    } == expected
    first = {row["cluster"]: row["group"] for row in found if row["rank_by_bytes"] == 1}
    for cluster, group in first.items():
        of_cluster = {g: c["bytes"] for (name, g), c in expected.items() if name == cluster}
        assert of_cluster[group] == max(of_cluster.values())
        shares = [row["share_of_bytes"] for row in found if row["cluster"] == cluster]
        assert sum(shares) == pytest.approx(1)
    assert any(row["share_unchanged"] for row in found)


def test_compaction(lake: Path, compaction: list[Row], events: list[Row]) -> None:
    aborted = {place for place, outcome in outcomes(events).items() if outcome == "ABORT"}
    expected = []
    for (cluster, partition), log in groupby(
        once(lake, "log"), key=lambda row: (row["cluster"], row["log_partition"])
    ):
        records = list(log)
        newest = {
            row["key"]: row
            for row in records
            if not row["is_control"] and (cluster, partition, row["log_offset"]) not in aborted
        }
        left = [row for row in newest.values() if row["value"] is not None]
        dead, of_bytes, of_left = len(newest) - len(left), sum(map(size, records)), sum(map(size, left))
        expected.append(
            {
                "cluster": cluster,
                "log_partition": partition,
                "records": len(records),
                "bytes": of_bytes,
                "keys": len(newest),
                "dead_keys": dead,
                "share_dead": pytest.approx(dead / len(newest)) if newest else None,
                "records_left": len(left),
                "bytes_left": of_left,
                "share_freed": pytest.approx(1 - of_left / of_bytes),
            }
        )
    assert compaction == expected


def test_size(asked: SparkSession, compaction: list[Row], events: list[Row]) -> None:
    """What `offsets-tool size` counts of each group whose transactions all were committed, and together what `compaction` has."""
    names = {
        "records": "records",
        "tombstones": "tombstones",
        "keys": "keys",
        "commits": "commits",
        "records_left": "left_records",
    }
    found = answer(asked, "SELECT * FROM size")
    groups = {(row["cluster"], row["log_partition"], row["log_offset"]): row["group"] for row in events}
    not_committed = {groups[place] for place, outcome in outcomes(events).items() if outcome != "COMMIT"}
    compared = 0
    for cluster in ("2.4.1-mix", "4.3.1-newgroups", "3.9.2-txn"):
        with open_evidence(CORPORA / cluster / "segments") as evidence:
            shown = group_rows(EvidenceSizes(evidence).run(), 0)
        expected = {
            (row["log_partition"], row["group"]): [row[name] for name in names.values()]
            for row in shown
            if row["group"] is not None and row["group"] not in not_committed
        }
        compared += len(expected)
        assert expected == {
            (row["log_partition"], row["group"]): [row[name] for name in names]
            for row in found
            if row["cluster"] == cluster and row["group"] is not None and row["group"] not in not_committed
        }
    assert compared > 20
    of_partitions: dict[Any, Counter[str]] = defaultdict(Counter)
    for row in found:
        of_partitions[row["cluster"], row["log_partition"]] += Counter({n: row[n] for n in _SUMMED})
    assert of_partitions == {
        (row["cluster"], row["log_partition"]): Counter({n: row[n] for n in _SUMMED}) for row in compaction
    }


def test_latest_records(asked: SparkSession, events: list[Row]) -> None:
    aborted = {place for place, outcome in outcomes(events).items() if outcome == "ABORT"}
    key = ("cluster", "record_type", "group", "topic", "partition", "member_id", "regular_expression")
    newest = {
        tuple(row[name] for name in key): row
        for row in events
        if row["group"] is not None
        and (row["cluster"], row["log_partition"], row["log_offset"]) not in aborted
    }
    found = answer(asked, "SELECT * FROM latest_records")
    assert {tuple(row[name] for name in key): row for row in found} == newest
    assert len(found) == len(newest)


def test_columns_of_every_kind(asked: SparkSession, events: list[Row]) -> None:
    """Each record's value, field by field, as its JSON has it; what the JSON leaves out stands at its default."""
    kinds = {type_.name: type_ for type_ in RECORD_TYPES.values() if type_.id >= 2}
    names = [view.name for view in VIEWS if view.name.replace("_", "") in map(str.lower, kinds)]
    assert len(names) == len(kinds) == 22
    seen = set()
    every = " UNION ALL ".join(
        f"SELECT '{name}' AS kind, cluster, source, log_partition, log_offset, to_json(struct(*)) AS row FROM {name}"
        for name in names
    )
    found = {tuple(row.values())[1:5]: row for row in answer(asked, every)}
    for event in events:
        if event["record_name"] not in kinds:
            continue
        given = found[event["cluster"], event["source"], event["log_partition"], event["log_offset"]]
        row = json.loads(given["row"])
        assert given["kind"].replace("_", "") == event["record_name"].lower()
        assert (row["group"], row["is_tombstone"]) == (event["group"], event["is_tombstone"])
        assert row.get("member_id") == event["member_id"]
        layouts = {layout.since: layout.value for layout in kinds[event["record_name"]].layouts}
        fields = schema_of(layouts[event["layout"] or kinds[event["record_name"]].layouts[0].since]).fields
        value = json.loads(event["value_json"] or "{}")
        for field in fields:
            default = field.default if field.tag is not None and value and not field.shape.part else None
            assert row.get(field.name) == snake(value.get(camel(field.name), default), field.shape)
        seen.add(event["record_name"]) if value else None
    assert len(seen) >= 16


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(map(str.title, rest))


def snake(value: Any, shape: Shape) -> Any:
    """Return Kafka's JSON with the names of our columns and without nulls, as Spark writes JSON."""
    if value is None or value == () or (shape.primitive and shape.primitive is not Primitive.BYTES):
        return value
    if shape.primitive:
        assert b64decode(value) is not None
        return value
    if shape.element:
        return [snake(inner, shape.element) for inner in value]
    assert shape.part
    fields = schema_of(shape.part).fields
    given = {field.name: snake(value.get(camel(field.name)), field.shape) for field in fields}
    return {name: inner for name, inner in given.items() if inner is not None}


def test_members_of_classic_groups(asked: SparkSession, events: list[Row]) -> None:
    expected = [
        (row["cluster"], row["log_partition"], row["log_offset"], json.loads(row["value_json"])["generation"], m["memberId"])
        for row in events
        if row["record_type"] == 2 and row["value_json"]
        for m in json.loads(row["value_json"])["members"]
    ]  # fmt: skip
    found = answer(
        asked,
        "SELECT DISTINCT cluster, log_partition, log_offset, generation, member_id, session_timeout, rebalance_timeout "
        "FROM group_metadata_members",
    )
    assert sorted(tuple(row.values())[:5] for row in found) == sorted(expected) != []
    assert all(row["session_timeout"] > 0 and row["rebalance_timeout"] > 0 for row in found)


def test_everything_explains_itself(asked: SparkSession, lake: Path) -> None:
    """Tables, views, and each of their columns; also in the view that lists them."""
    shown = OpenLake(asked, str(lake)).shown
    assert all(one.comment for one in shown)
    for one in shown:
        if one.lacks is None:
            bare = [
                column.name for column in asked.table(one.name).schema if "comment" not in column.metadata
            ]
            assert bare == [], one.name
    assert all("comment" in column.metadata for column in asked.table("contents").schema)
    assert [Shown(**row) for row in answer(asked, "SELECT * FROM contents")] == list(shown)
    assert len({one.name for one in shown}) == len(shown)


@pytest.mark.deep
def test_without_spark_views_have_the_same_rows(asked: SparkSession, lake: Path) -> None:
    """And the same columns, types and comments."""
    check_views(asked, lake)


@pytest.mark.deep
def test_without_spark_queries_have_the_same_answers(asked: SparkSession, lake: Path) -> None:
    check_queries(asked, lake, ("events", "log", "sources", "copies", "commits_per_minute"))

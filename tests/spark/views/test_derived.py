"""The views over lag, expiry and findings say of made-up rows what plain Python does, and nothing of what does not count."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from offsets_tool.findings.finders import worst_first
from offsets_tool.findings.rows import Finding
from offsets_tool.lake.tables import FINDINGS, LAG
from offsets_tool.views.derived import VIEWS
from spark.views.views import open_lake
from tests.spark.lakes import Row
from tests.spark.views.both import check_queries, check_views
from tests.spark.views.random_lake import (
    CONFIDENCE,
    EXPIRIES,
    FOUND,
    HELD,
    HOUR,
    LAGS,
    NO_TIME,
    POSITION,
    full,
    made_up_lake,
)

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lake(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake that is made up."""
    made = tmp_path_factory.mktemp("derived")
    made_up_lake(made)
    return made


@pytest.fixture(scope="module")
def asked(session: SparkSession, lake: Path) -> SparkSession:
    """A session with the views of the lake."""
    own = session.newSession()
    assert not any(one.lacks in ("lag", "expiry", "findings") for one in open_lake(own, str(lake)))
    return own


def answer(asked: SparkSession, view: str) -> list[Row]:
    found: list[Row] = asked.table(view).toArrow().to_pylist()
    assert found
    return sorted(found, key=repr)


def of(rows: Iterable[Row], *names: str) -> dict[Any, list[Row]]:
    found = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in names)].append(row)
    return found


def time(at: int | None) -> datetime | None:
    return None if at in (None, NO_TIME) else datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=at)


def known(rows: Iterable[Row], name: str) -> list[Any]:
    return [row[name] for row in rows if row[name] is not None]


def total(values: Sequence[int]) -> int | None:
    return sum(values) if values else None


def newest() -> dict[Any, Row]:
    return {
        position: max(rows, key=lambda row: row["timestamp"])
        for position, rows in of(LAGS, *POSITION).items()
    }


def test_current_lag(asked: SparkSession) -> None:
    found = answer(asked, "current_lag")
    held = {position: row for position, row in newest().items() if position in HELD}
    assert {tuple(row[name] for name in POSITION): row["moment_at"] for row in found} == {
        position: time(row["timestamp"]) for position, row in held.items()
    }
    for row in found:
        of_table = full(LAG, held[tuple(row[name] for name in POSITION)])
        assert row["is_proven"]
        assert {name: value for name, value in row.items() if name in of_table and name != "moment_at"} == {
            name: of_table[name] for name in row if name in of_table and name != "moment_at"
        }


def test_group_lag(asked: SparkSession) -> None:
    held = [row for position, row in newest().items() if position in HELD]
    expected = []
    for (cluster, group), rows in of(held, "cluster", "group").items():
        lags, most = known(rows, "lag"), known(rows, "lag_max")
        worst = max(
            ((r["lag"], r["topic"], r["partition"]) for r in rows if r["lag"] is not None),
            default=(None,) * 3,
        )
        expected.append(
            {
                "cluster": cluster,
                "group": group,
                "partitions": len(rows),
                "unknown": len(rows) - len(lags),
                "lag": total(lags),
                "lag_min": sum(row["lag_min"] for row in rows),
                "lag_max": sum(most) if len(most) == len(rows) else None,
                "time_lag_ms": max(known(rows, "time_lag_ms"), default=None),
                "least_confidence": min((row["confidence"] for row in rows), key=CONFIDENCE.index),
                "worst_topic": worst[1],
                "worst_partition": worst[2],
                "worst_lag": worst[0],
                "data_lost": total(known(rows, "data_lost")),
                "beyond_end": sum(row["beyond_end"] for row in rows),
                "oldest_at": time(min(row["timestamp"] for row in rows)),
                "newest_at": time(max(row["timestamp"] for row in rows)),
            }
        )
    assert answer(asked, "group_lag") == sorted(expected, key=repr)
    assert {row["lag_max"] is None for row in expected} == {True, False}


def hour(at: int) -> datetime | None:
    found = time(at)
    return found and found.replace(minute=0, second=0, microsecond=0)


def test_lag_per_hour(asked: SparkSession) -> None:
    expected = []
    timed = [row | {"hour": hour(row["timestamp"])} for row in LAGS]
    for (cluster, group, began), rows in of(timed, "cluster", "group", "hour").items():
        order = ("lag", "topic", "partition", "timestamp", "confidence")
        peaks = [tuple(row[name] for name in order) for row in rows if row["lag"] is not None]
        lag, topic, partition, at, confidence = max(peaks, default=(None,) * 5)
        expected.append(
            {
                "cluster": cluster,
                "group": group,
                "hour_at": began,
                "moments": len(rows),
                "partitions": len({(row["topic"], row["partition"]) for row in rows}),
                "peak_lag": lag,
                "peak_topic": topic,
                "peak_partition": partition,
                "peak_at": time(at),
                "peak_confidence": confidence,
                "peak_time_lag_ms": max(known(rows, "time_lag_ms"), default=None),
            }
        )
    assert answer(asked, "lag_per_hour") == sorted(expected, key=repr)


def test_lost_unread(asked: SparkSession) -> None:
    expected = []
    for position, rows in of(LAGS, *POSITION).items():
        losing = [row for row in rows if row["data_lost"]]
        if losing:
            worst = max(
                losing,
                key=lambda row: (row["data_lost"], row["committed_offset"], row["log_start_offset"] or -1),
            )
            last = max(row["timestamp"] for row in losing)
            expected.append(
                dict(zip(POSITION, position, strict=True))
                | {
                    "most_lost": worst["data_lost"],
                    "committed_offset": worst["committed_offset"],
                    "log_start_offset": worst["log_start_offset"],
                    "first_at": time(min(row["timestamp"] for row in losing)),
                    "last_at": time(last),
                    "is_still_so": last == max(row["timestamp"] for row in rows),
                }
            )
    assert answer(asked, "lost_unread") == sorted(expected, key=repr)
    assert {row["is_still_so"] for row in expected} == {True, False}


def test_recreated_topics(asked: SparkSession) -> None:
    recreated = [row for row in LAGS if row["is_topic_recreated"]]
    expected = [
        {
            "cluster": cluster,
            "topic": topic,
            "partitions": len({row["partition"] for row in rows}),
            "groups": len({row["group"] for row in rows}),
            "first_at": time(min(row["timestamp"] for row in rows)),
            "last_at": time(max(row["timestamp"] for row in rows)),
        }
        for (cluster, topic), rows in of(recreated, "cluster", "topic").items()
    ]
    assert answer(asked, "recreated_topics") == sorted(expected, key=repr)


def test_next_expiries(asked: SparkSession) -> None:
    names = ("cluster", "group", "rule", "release", "retention_ms")
    expiring = [row for row in EXPIRIES if row.get("expires_at")]
    expected = [
        dict(zip(names, key, strict=True))
        | {
            "offsets": len(rows),
            "topics": len({row["topic"] for row in rows}),
            "first_at": time(min(row["expires_at"] for row in rows)),
            "last_at": time(max(row["expires_at"] for row in rows)),
            "first_in_hours": min(row["expires_in_ms"] for row in rows) / HOUR,
            "last_in_hours": max(row["expires_in_ms"] for row in rows) / HOUR,
        }
        for key, rows in of(expiring, *names).items()
    ]
    assert answer(asked, "next_expiries") == sorted(expected, key=repr)


def test_losses_per_day(asked: SparkSession) -> None:
    expected = []
    gone = [row | {"day": day(row["removed_at"])} for row in EXPIRIES if row["status"] == "removed"]
    for key, rows in of(gone, "cluster", "group", "day", "cause", "confidence").items():
        first = min((row["log_partition"], row["log_offset"]) for row in rows)
        times = known(rows, "removed_at")
        expected.append(
            dict(zip(("cluster", "group", "day_at", "cause", "confidence"), key, strict=True))
            | {
                "offsets": len(rows),
                "topics": len({row["topic"] for row in rows}),
                "alternatives": sorted({name for row in rows for name in row["alternatives"]}),
                "first_at": time(min(times, default=None)),
                "last_at": time(max(times, default=None)),
                "log_partition": first[0],
                "log_offset": first[1],
            }
        )
    assert answer(asked, "removals_per_day") == sorted(expected, key=repr)
    assert {row["day_at"] is None for row in expected} == {True, False}


def day(at: int | None) -> datetime | None:
    found = time(at)
    return found and found.replace(hour=0, minute=0, second=0, microsecond=0)


def test_every_column_has_its_sentence(asked: SparkSession) -> None:
    bare = [
        (v.name, c.name) for v in VIEWS for c in asked.table(v.name).schema if "comment" not in c.metadata
    ]
    assert bare == []


def listed(cluster: str) -> list[Finding]:
    """Return the findings of a cluster in the order of `offsets-tool findings`."""
    rows = [full(FINDINGS, row) for row in FOUND if row["cluster"] == cluster]
    micro = [row | {name: row[name] and row[name] // 1000 for name in ("from_at", "to_at")} for row in rows]
    return worst_first(Finding(**{name: row[name] for name in Finding._fields}) for row in micro)


def test_worst_findings(asked: SparkSession) -> None:
    found = answer(asked, "worst_findings")
    for cluster in "ab":
        ranked = sorted((row["rank"], row["title"]) for row in found if row["cluster"] == cluster)
        assert ranked == [(rank, row.title) for rank, row in enumerate(listed(cluster), 1)]


def test_findings_per_group(asked: SparkSession) -> None:
    expected = []
    for cluster in "ab":
        groups = defaultdict(list)
        for row in listed(cluster):
            if row.group is not None:
                groups[row.group].append(row)
        counts = {
            group: tuple(
                -sum(row.severity == each for row in rows) for each in ("critical", "warning", "notice")
            )
            for group, rows in groups.items()
        }
        for group, rows in groups.items():
            critical, warnings, notices = (-each for each in counts[group])
            times = [row.from_at for row in rows if row.from_at is not None]
            ends = [at for row in rows if (at := row.from_at if row.to_at is None else row.to_at) is not None]
            expected.append(
                {
                    "cluster": cluster,
                    "rank": 1 + sum(each < counts[group] for each in counts.values()),
                    "group": group,
                    "critical": critical,
                    "warnings": warnings,
                    "notices": notices,
                    "worst_kind": rows[0].kind,
                    "worst_title": rows[0].title,
                    "worst_remedy": rows[0].remedy,
                    "kinds": sorted({row.kind for row in rows}),
                    "first_at": time(min(times, default=None)),
                    "last_at": time(max(ends, default=None)),
                }
            )
    assert answer(asked, "findings_per_group") == sorted(expected, key=repr)


def test_without_spark_views_have_the_same_rows(asked: SparkSession, lake: Path) -> None:
    """And the same columns, types and comments."""
    check_views(asked, lake)


@pytest.mark.deep
def test_without_spark_queries_have_the_same_answers(asked: SparkSession, lake: Path) -> None:
    check_queries(asked, lake, ("lag", "expiry", "findings", "current_lag", "group_lag", "worst_findings"))

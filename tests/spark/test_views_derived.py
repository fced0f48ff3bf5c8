"""The views over lag and expiry say of made-up rows what plain Python says of them, and nothing of what does not count."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark.commit import INGEST, REPLAY, ArrowLake, Chain
from spark.expiry import OF_EXPIRY
from spark.lag import OF_LAG
from spark.parquet import NewFile, TableWriter
from spark.tables import DERIVATIONS, EXPIRY, LAG, OFFSET_HISTORY, REPLAYS, SOURCES, Table
from spark.views import open_lake
from spark.views_derived import VIEWS
from tests.spark.lakes import Row

pytestmark = pytest.mark.spark

CONFIDENCE = ("none", "low", "medium", "high", "exact")
BEGIN = datetime(2026, 11, 20, 22, tzinfo=UTC)
HOUR = 3_600_000
NO_TIME = -1
POSITION = ("cluster", "group", "topic", "partition")


def full(table: Table, given: Row) -> Row:
    """All columns of a row: what is not given is null, or empty where there are no nulls."""
    empty = {
        pa.int64(): 0,
        pa.int32(): 0,
        pa.string(): "",
        pa.bool_(): False,
        pa.timestamp("us", "UTC"): BEGIN,
    }
    return {
        field.name: given.get(field.name, None if field.nullable else empty.get(field.type, []))
        for field in table.schema
    }


def write(root: Path, table: Table, given: Iterable[Row]) -> list[NewFile]:
    rows = pa.RecordBatch.from_pylist([full(table, row) for row in given], table.schema)
    with TableWriter(root, table) as writer:
        writer.write(rows)
        return writer.close()


def commit(root: Path, chain: Chain, run: int, *tables: tuple[Table, Iterable[Row]]) -> None:
    lake = ArrowLake(root, chain)
    lake.create()
    lake.commit(run, [file for table, rows in tables for file in write(root, table, rows)])


def milliseconds(hours: float) -> int:
    return round(BEGIN.timestamp() * 1000 + hours * HOUR)


def made_up_lag(random: Random) -> Iterator[Row]:
    """At random moments, of which one is no time; a partition of a group at most once at each."""
    for number in range(400):
        lag = random.choice([None, *range(50)])
        yield {
            "cluster": random.choice("ab"),
            "group": f"g{random.randrange(6)}",
            "topic": f"t{random.randrange(2)}",
            "partition": random.randrange(2),
            "at": milliseconds(number / 60) if number else NO_TIME,
            "committed_offset": random.randrange(100),
            "end_offset": None if lag is None else random.randrange(100, 200),
            "lag": lag,
            "lag_min": lag or 0,
            "lag_max": random.choice([lag, lag, lag, None]),
            "time_lag_ms": random.choice([None, 0, 5, 700]),
            "confidence": "none" if lag is None else random.choice(CONFIDENCE[1:]),
            "log_start": random.choice([None, 7]),
            "data_lost": random.choice([None, 0, 0, 3, 9]),
            "beyond_end": random.choice([0, 0, 4]),
            "topic_recreated": random.random() < 0.05,
        }


def made_up_expiry(random: Random) -> Iterator[Row]:
    for number in range(300):
        row = {
            "cluster": random.choice("ab"),
            "group": f"g{random.randrange(6)}",
            "topic": f"t{random.randrange(3)}",
            "partition": number,
            "log_partition": random.choice([0, 1]),
            "log_offset": number,
            "release": "3.6",
            "retention_ms": random.choice([HOUR, 7 * 24 * HOUR]),
        }
        if number % 3 == 0:
            yield row | {"status": "live", "rule": "subscribed"}
        elif number % 3 == 1:
            hours = random.uniform(-2, 40)
            at = {"expires_at": milliseconds(hours), "in_ms": round(hours * HOUR)}
            yield (
                row
                | at
                | {"status": "live", "rule": random.choice(["retention_since_empty", "expire_timestamp"])}
            )
        else:
            gone = {"gone_at": random.choice([None, milliseconds(random.uniform(0, 40))])}
            why = {
                "cause": random.choice(["retention", "group_deleted"]),
                "confidence": random.choice(["likely", "certain"]),
            }
            others = random.sample(["offsets_deleted", "topic_deleted", "unknown"], random.randrange(3))
            yield row | gone | why | {"status": "gone", "alternatives": others}


LAGS = list(made_up_lag(Random(1)))
EXPIRIES = list(made_up_expiry(Random(2)))
HELD = {tuple(row[name] for name in POSITION) for row in LAGS if row["group"] != "g0"}
"""Offsets of one group do not hold any more."""


@pytest.fixture(scope="module")
def asked(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session with a lake's views, in which a second job has begun and did not come to its end."""
    lake = tmp_path_factory.mktemp("derived")
    commit(lake, INGEST, 1, (SOURCES, [{"run": 1}]))
    held = [dict(zip(POSITION, position, strict=True)) | {"counted": True, "run": 1} for position in HELD]
    gone = [row | {"to_offset": 9, "group": "g0", "run": 1} for row in held]
    commit(lake, REPLAY, 1, (OFFSET_HISTORY, held + gone), (REPLAYS, [{"run": 1}]))
    for chain, table, rows in ((OF_LAG, LAG, LAGS), (OF_EXPIRY, EXPIRY, EXPIRIES)):
        told = {"derived": table.name, "run": 1}
        commit(lake, chain, 1, (table, [row | {"run": 1} for row in rows]), (DERIVATIONS, [told]))
        begun = [row | {"run": 2, "at": row.get("at", 0) + HOUR, "log_offset": 1000} for row in rows[:50]]
        commit(lake, Chain(chain.app, (table,)), 2, (table, begun))
    own = session.newSession()
    lacking = [one for one in open_lake(own, str(lake)) if one.lacks in ("lag", "expiry")]
    assert lacking == []
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
    return {position: max(rows, key=lambda row: row["at"]) for position, rows in of(LAGS, *POSITION).items()}


def test_current_lag(asked: SparkSession) -> None:
    found = answer(asked, "current_lag")
    held = {position: row for position, row in newest().items() if position in HELD}
    assert {tuple(row[name] for name in POSITION): row["as_of"] for row in found} == {
        position: time(row["at"]) for position, row in held.items()
    }
    for row in found:
        of_table = full(LAG, held[tuple(row[name] for name in POSITION)])
        assert {name: value for name, value in row.items() if name != "as_of"} == {
            name: of_table[name] for name in row if name != "as_of"
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
                "oldest_at": time(min(row["at"] for row in rows)),
                "newest_at": time(max(row["at"] for row in rows)),
            }
        )
    assert answer(asked, "group_lag") == sorted(expected, key=repr)
    assert {row["lag_max"] is None for row in expected} == {True, False}


def hour(at: int) -> datetime | None:
    found = time(at)
    return found and found.replace(minute=0, second=0, microsecond=0)


def test_lag_per_hour(asked: SparkSession) -> None:
    expected = []
    timed = [row | {"hour": hour(row["at"])} for row in LAGS]
    for (cluster, group, began), rows in of(timed, "cluster", "group", "hour").items():
        order = ("lag", "topic", "partition", "at", "confidence")
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
                losing, key=lambda row: (row["data_lost"], row["committed_offset"], row["log_start"] or -1)
            )
            last = max(row["at"] for row in losing)
            expected.append(
                dict(zip(POSITION, position, strict=True))
                | {
                    "most_lost": worst["data_lost"],
                    "committed_offset": worst["committed_offset"],
                    "log_start": worst["log_start"],
                    "first_at": time(min(row["at"] for row in losing)),
                    "last_at": time(last),
                    "is_still_so": last == max(row["at"] for row in rows),
                }
            )
    assert answer(asked, "lost_unread") == sorted(expected, key=repr)
    assert {row["is_still_so"] for row in expected} == {True, False}


def test_recreated_topics(asked: SparkSession) -> None:
    recreated = [row for row in LAGS if row["topic_recreated"]]
    expected = [
        {
            "cluster": cluster,
            "topic": topic,
            "partitions": len({row["partition"] for row in rows}),
            "groups": len({row["group"] for row in rows}),
            "first_at": time(min(row["at"] for row in rows)),
            "last_at": time(max(row["at"] for row in rows)),
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
            "first_in_hours": min(row["in_ms"] for row in rows) / HOUR,
            "last_in_hours": max(row["in_ms"] for row in rows) / HOUR,
        }
        for key, rows in of(expiring, *names).items()
    ]
    assert answer(asked, "next_expiries") == sorted(expected, key=repr)


def test_losses_per_day(asked: SparkSession) -> None:
    expected = []
    gone = [row | {"day": day(row["gone_at"])} for row in EXPIRIES if row["status"] == "gone"]
    for key, rows in of(gone, "cluster", "group", "day", "cause", "confidence").items():
        first = min((row["log_partition"], row["log_offset"]) for row in rows)
        times = known(rows, "gone_at")
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
    assert answer(asked, "losses_per_day") == sorted(expected, key=repr)
    assert {row["day_at"] is None for row in expected} == {True, False}


def day(at: int | None) -> datetime | None:
    found = time(at)
    return found and found.replace(hour=0, minute=0, second=0, microsecond=0)


def test_every_column_has_its_sentence(asked: SparkSession) -> None:
    bare = [
        (v.name, c.name) for v in VIEWS for c in asked.table(v.name).schema if "comment" not in c.metadata
    ]
    assert bare == []

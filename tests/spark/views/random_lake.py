"""A lake of rows of lag, expiry and findings that nobody derived: made from a seed, and more various than any log's."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pyarrow as pa

from offsets_tool.lake.tables import (
    DERIVATIONS,
    EXPIRY,
    FINDINGS,
    LAG,
    OFFSET_HISTORY,
    REPLAYS,
    SOURCES,
    Table,
)
from spark.derived.expiry import OF_EXPIRY
from spark.derived.findings import OF_FINDINGS
from spark.derived.lag import OF_LAG
from spark.lake.commit import INGEST, REPLAY, ArrowLake, Chain
from spark.lake.parquet import NewFile, TableWriter
from tests.spark.lakes import Row

CONFIDENCE = ("none", "low", "medium", "high", "exact")
BEGIN = datetime(2026, 11, 20, 22, tzinfo=UTC)
HOUR = 3_600_000
NO_TIME = -1
POSITION = ("cluster", "group", "topic", "partition")


def full(table: Table, given: Row) -> Row:
    """Return all columns of a row: those not given are null, or empty where the column has no nulls."""
    empty = {
        pa.int64(): 0,
        pa.int32(): 0,
        pa.string(): "",
        pa.bool_(): False,
        pa.timestamp("us", "UTC"): BEGIN,
    }
    return {
        field.name: _moment(given[field.name], field.type)
        if field.name in given
        else (None if field.nullable else empty.get(field.type, []))
        for field in table.schema
    }


def _moment(value: object, type_: pa.DataType) -> object:
    """Return milliseconds as the microseconds of a timestamp column; -1 becomes null."""
    is_number = pa.types.is_timestamp(type_) and isinstance(value, int)
    return (None if value == NO_TIME else 1000 * value) if is_number else value


def _write(root: Path, table: Table, given: Iterable[Row]) -> list[NewFile]:
    rows = pa.RecordBatch.from_pylist([full(table, row) for row in given], table.schema)
    with TableWriter(root, table) as writer:
        writer.write(rows)
        return writer.close()


def commit(root: Path, chain: Chain, run: int, *tables: tuple[Table, Iterable[Row]]) -> None:
    lake = ArrowLake(root, chain)
    lake.create()
    lake.commit(run, [file for table, rows in tables for file in _write(root, table, rows)])


def _milliseconds(hours: float) -> int:
    return round(BEGIN.timestamp() * 1000 + hours * HOUR)


def _lag(random: Random) -> Iterator[Row]:
    """Yield rows of `lag` at random moments, one of them without a time; a group's partition occurs once at each."""
    for number in range(400):
        lag = random.choice([None, *range(50)])
        yield {
            "cluster": random.choice("ab"),
            "group": f"g{random.randrange(6)}",
            "topic": f"t{random.randrange(2)}",
            "partition": random.randrange(2),
            "moment_at": _milliseconds(number / 60) if number else NO_TIME,
            "timestamp": _milliseconds(number / 60) if number else NO_TIME,
            "committed_offset": random.randrange(100),
            "end_offset": None if lag is None else random.randrange(100, 200),
            "lag": lag,
            "lag_min": lag or 0,
            "lag_max": random.choice([lag, lag, lag, None]),
            "time_lag_ms": random.choice([None, 0, 5, 700]),
            "confidence": "none" if lag is None else random.choice(CONFIDENCE[1:]),
            "log_start_offset": random.choice([None, 7]),
            "data_lost": random.choice([None, 0, 0, 3, 9]),
            "beyond_end": random.choice([0, 0, 4]),
            "is_topic_recreated": random.random() < 0.05,
        }


def _expiry(random: Random) -> Iterator[Row]:
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
            at = {"expires_at": _milliseconds(hours), "expires_in_ms": round(hours * HOUR)}
            yield (
                row
                | at
                | {"status": "live", "rule": random.choice(["retention_since_empty", "expire_timestamp"])}
            )
        else:
            gone = {"removed_at": random.choice([None, _milliseconds(random.uniform(0, 40))])}
            why = {
                "cause": random.choice(["retention", "group_deleted"]),
                "confidence": random.choice(["likely", "certain"]),
            }
            others = random.sample(["offsets_deleted", "topic_deleted", "unknown"], random.randrange(3))
            yield row | gone | why | {"status": "removed", "alternatives": others}


def _finding(random: Random) -> Iterator[Row]:
    """Yield findings of different log offsets: some without a time, some with a span, some about no group or topic."""
    for number in range(120):
        began = random.choice([NO_TIME, _milliseconds(random.randrange(40))])
        ended = NO_TIME if began == NO_TIME else began + random.choice([0, HOUR])
        yield {
            "cluster": random.choice("ab"),
            "group": random.choice([None, *(f"g{each}" for each in range(6))]),
            "topic": random.choice([None, "t0", "t1"]),
            "kind": random.choice(["reset", "rewind", "offsets_expired"]),
            "severity": random.choice(["critical", "warning", "notice"]),
            "from_at": began,
            "to_at": random.choice([NO_TIME, ended]),
            "title": f"title {number}",
            "remedy": f"remedy {number}",
            "log_partition": random.choice([0, 1]),
            "log_offset": number,
        }


LAGS = list(_lag(Random(1)))
EXPIRIES = list(_expiry(Random(2)))
FOUND = list(_finding(Random(3)))
HELD = {tuple(row[name] for name in POSITION) for row in LAGS if row["group"] != "g0"}
"""Offsets of one group do not hold any more."""
COMMITS = {
    position: {"from_timestamp": row["timestamp"], "committed_offset": row["committed_offset"]}
    for row in LAGS
    if (position := tuple(row[name] for name in POSITION)) in HELD
}
"""The commits that hold: of each position the last one by time."""


def made_up_lake(lake: Path) -> None:
    """Write all tables that the views read, with a second job that did not finish."""
    commit(lake, INGEST, 1, (SOURCES, [{"run": 1}]))
    held = [
        dict(zip(POSITION, position, strict=True)) | {"is_effective": True, "run": 1} | commit_
        for position, commit_ in sorted(COMMITS.items())
    ]
    gone = [row | {"to_log_offset": 9, "group": "g0", "run": 1} for row in held]
    commit(lake, REPLAY, 1, (OFFSET_HISTORY, held + gone), (REPLAYS, [{"run": 1}]))
    jobs = ((OF_LAG, LAG, LAGS), (OF_EXPIRY, EXPIRY, EXPIRIES), (OF_FINDINGS, FINDINGS, FOUND))
    for chain, table, rows in jobs:
        told = {"derived": table.name, "run": 1}
        commit(lake, chain, 1, (table, [row | {"run": 1} for row in rows]), (DERIVATIONS, [told]))
        begun = [
            row | {"run": 2, "timestamp": row.get("timestamp", 0) + HOUR, "log_offset": 1000}
            for row in rows[:50]
        ]
        commit(lake, Chain(chain.app, (table,)), 2, (table, begun))

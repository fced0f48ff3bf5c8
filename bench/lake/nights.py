"""Compare ten nightly copies of one partition, each 5 % larger than the last, with one night: time, and bytes of the lake."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from bench.benchmark import Room
from bench.generator.batches import repeated
from bench.inputs import Input
from bench.lake.lakes import MASTER
from bench.pace import Ratio, ratio
from bench.table import Table, number, times
from offsets_tool.errors import OffsetsToolError
from offsets_tool.lake.scan import facts_of
from offsets_tool.lake.tables import LOG
from offsets_tool.log.archive.delta import open_delta
from spark.ingest.ingest import Request, ingest
from spark.replay.replay import replay
from spark.runtime.session import session

NIGHTS: Final = 10
_GROWTH: Final = 0.05
_ROUNDS: Final = 3
_ONE_NIGHT: Final = "one night"
_INPUT: Final = Input("commits")
_MEGABYTE: Final = 1 << 20


class Cost(NamedTuple):
    """Seconds of ingests and of replays, bytes of the files that were read and of the lake, and records in it."""

    ingest: float
    replay: float
    read: int
    kept: int
    records: int


def nights_table(room: Room) -> Table:
    """Return the table of nights; lakes are made in the room's folder and removed."""
    running = session("offsets-tool bench", master=MASTER)
    lake = room.folder / "lake"
    try:
        copies = nights(_INPUT.path(), room.folder / "nights")
        cost(lambda: running, copies[:1], lake)  # for Spark to become warm
        rounds = [
            [cost(lambda: running, some, lake) for some in (copies[:1], copies)] for _ in range(_ROUNDS)
        ]
    finally:
        running.stop()
    ones, alls = zip(*rounds, strict=True)
    heads = ("", "MB of copies", "ingest, s", "replay, s", "both, one night = 1", "MB of the lake", "one night = 1")  # fmt: skip
    title = f"{NIGHTS} nights of a partition, {_GROWTH:.0%} new in each, ingested and replayed one by one, Spark {MASTER}:"
    name = f"{NIGHTS} nights"
    rows = [_row(_ONE_NIGHT, ones, ones), _row(name, alls, ones)]
    return Table(
        title, heads, rows, {f"{name}, seconds": _time(alls, ones), f"{name}, bytes": _size(alls, ones)}
    )


def _time(costs: Sequence[Cost], ones: Sequence[Cost]) -> Ratio:
    theirs, ours = ([cost.ingest + cost.replay for cost in run] for run in (ones, costs))
    return ratio(_ONE_NIGHT, theirs, ours)


def _size(costs: Sequence[Cost], ones: Sequence[Cost]) -> Ratio:
    return ratio(_ONE_NIGHT, [cost.kept for cost in ones], [cost.kept for cost in costs])


def _row(name: str, costs: Sequence[Cost], ones: Sequence[Cost]) -> tuple[str, ...]:
    return (
        name,
        number(costs[0].read / _MEGABYTE),
        number(median(cost.ingest for cost in costs)),
        number(median(cost.replay for cost in costs)),
        times(1 / _time(costs, ones).value),
        number(costs[0].kept / _MEGABYTE),
        times(1 / _size(costs, ones).value),
    )


def nights(path: Path, folder: Path) -> list[Path]:
    """Make copies of a partition: the segment, and behind it an active one that grows from night to night."""
    first, second = repeated(path.read_bytes(), 2)
    ends = ends_of(second, [_GROWTH * night * len(second) for night in range(NIGHTS)])
    copies = []
    for number_, end in enumerate(ends, 1):
        place = folder / f"night-{number_:02d}" / path.parent.name
        place.mkdir(parents=True)
        (place / path.name).write_bytes(first)
        (place / f"{int.from_bytes(second[:8]):020d}.log").write_bytes(second[:end])
        copies.append(place.parent)
    return copies


def ends_of(log: bytes, wanted: Sequence[float]) -> list[int]:
    """Return for each of some ascending positions where the batch ends that reaches it."""
    ends, position = list[int](), 0
    for least in wanted:
        while position < least:
            position += 12 + int.from_bytes(log[position + 8 : position + 12])
        ends.append(position)
    return ends


def cost(start: Callable[[], SparkSession], copies: Sequence[Path], lake: Path) -> Cost:
    """Ingest and replay copies one by one into a new lake, which is removed; OffsetsToolError where it has not all of the last."""
    ingested = replayed = 0.0
    for copy in copies:
        began = perf_counter()
        done = ingest(Request(paths=[str(copy)], lake=str(lake), cluster="bench"), start)
        between = perf_counter()
        replay(str(lake), start)
        ingested, replayed = ingested + between - began, replayed + perf_counter() - between
    records = sum(file["num_records"] for file in facts_of(open_delta(lake / LOG.name)))
    if records != done.sums["records"]:
        raise OffsetsToolError(f"{lake} has {records} records, and the last night {done.sums['records']}")
    kept = sum(path.stat().st_size for path in lake.rglob("*") if path.is_file())
    shutil.rmtree(lake)
    read = sum(path.stat().st_size for copy in copies for path in copy.rglob("*.log"))
    return Cost(ingested, replayed, read, kept, records)

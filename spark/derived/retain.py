"""Take records older than a span out of `log` and `events`, as a cleaner does, so that what holds can still be replayed.

Histories stay as they are. `sources` says how many records went, `replays` from where on all are there. Nothing is taken out of a
partition whose histories do not have it yet. `log` is changed last: who is killed before that finds the same again.
"""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.lake.copies import last_ingests
from offsets_tool.lake.plan import LogPartition, Work, failed, latest
from offsets_tool.lake.rows import LakeRows
from offsets_tool.lake.scan import file_rows, values_within
from offsets_tool.lake.tables import EVENTS, LOG, REPLAYS, SOURCES
from spark.derived.derive import finished
from spark.derived.forget import CHAINS
from spark.derived.survivors import Survivors
from spark.lake.commit import Lake
from spark.lake.folder import RETAINING, mark, opened_whole
from spark.lake.replaced import ReplacedRecords, replace, rewritten
from spark.replay.notes import partition_text

_Fields = dict[str, Any]
_Unit = tuple[str, str, int]
"""A cluster, a source, and the run that read it."""
_UNIT: Final = ("cluster", "source", "run")
_READ: Final = ("cluster", "log_partition", "log_offset", "source", "run", "batch_position")


class RetainedPartition(NamedTuple):
    """A log partition of which records were taken out: how many, and from which offset on all are there."""

    cluster: str
    log_partition: int | None
    dropped_records: int
    proven_from_log_offset: int


class Retained(NamedTuple):
    """What was taken out, and why nothing was of other log partitions that have older records."""

    partitions: list[RetainedPartition]
    notes: list[str]


def retain(lake: str, keep_ms: int, at: int | None = None) -> Retained:
    """Take out of a lake the records that are older than `keep_ms` at a time (epoch milliseconds; now) and superseded.

    UsageError where there is no lake, or while a job writes to it.
    """
    before = (time.time_ns() // 1_000_000 if at is None else at) - keep_ms
    with opened_whole(lake) as open_lake:
        for chain in CHAINS:
            finished(open_lake, chain)
        return _Retention(open_lake, before).run()


class _Retention:
    """One retention of a lake: the rows of its small tables, and which records go."""

    def __init__(self, lake: Lake, before: int) -> None:
        self._lake, self._root, self._before = lake, lake.root, before
        self._sources = lake.rows(SOURCES)
        self._replays = lake.rows(REPLAYS) if lake.has(REPLAYS) else []

    def run(self) -> Retained:
        """Take the records out of all tables, and return what was taken out and what was left as it is."""
        old = (
            row
            for row in self._sources
            if row["min_timestamp"] is not None and row["min_timestamp"] < self._before
        )
        log_partitions = sorted(last_ingests(old), key=repr)
        why_not = dict(self._kept_whole(log_partitions))
        rows = LakeRows.now(self._lake, self._sources)
        found = [
            self._superseded(rows, log_partition)
            for log_partition in log_partitions
            if log_partition not in why_not
        ]
        counted = _RetainCounts(self._lake, found, self._sources)
        done = counted.partitions()
        if done:
            self._change([each for each in found if counted.dropped[_log_partition(each)]], counted, done)
        self._unmark({_log_partition(each) for each in found})
        notes = [
            f"{partition_text(*log_partition)} is left as it is: {why}"
            for log_partition, why in why_not.items()
        ]
        return Retained(done, notes)

    def _kept_whole(self, log_partitions: Iterable[LogPartition]) -> Iterator[tuple[LogPartition, str]]:
        """Yield each log partition out of which nothing may be taken, and the reason in words."""
        known, problems, newest = latest(self._replays), failed(self._replays), last_ingests(self._sources)
        for log_partition in log_partitions:
            row = known.get(log_partition)
            if row is None or log_partition in problems or row["ingest_run"] < newest[log_partition]:
                yield log_partition, "its histories do not have all of it; run offsets-spark replay first"
            elif row["abandoned"] or row["contradictions"]:
                yield log_partition, "its copies disagree, and which records count follows from all of them"

    def _superseded(self, rows: LakeRows, log_partition: LogPartition) -> ReplacedRecords:
        survivors = Survivors(self._before)
        for some in rows.records(Work(*log_partition, 0, None, None, 0, 0)):
            if not survivors.observe(some):
                break
        return ReplacedRecords(*log_partition, survivors.end, survivors.kept())

    def _change(
        self, gone: Sequence[ReplacedRecords], counted: "_RetainCounts", done: Iterable[RetainedPartition]
    ) -> None:
        marker, begun = self._root / RETAINING, [list(_log_partition(each)) for each in gone]
        mark(marker, json.dumps(_begun(marker) + begun))
        self._lake.rewrite(EVENTS, lambda files: replace(self._root, EVENTS, files, gone))
        proven = {(each.cluster, each.log_partition): each.proven_from_log_offset for each in done}
        replays = [_proven(row, proven) for row in self._replays]
        self._lake.rewrite(REPLAYS, lambda files: rewritten(self._root, REPLAYS, files, replays))
        sources = counted.sources()
        self._lake.rewrite(SOURCES, lambda files: rewritten(self._root, SOURCES, files, sources))
        self._lake.rewrite(LOG, lambda files: replace(self._root, LOG, files, gone))

    def _unmark(self, done: set[LogPartition]) -> None:
        """Note in the marker of a killed retention that these partitions are finished; delete it when all are."""
        marker = self._root / RETAINING
        left = [
            log_partition
            for log_partition in _begun(marker)
            if (log_partition[0], log_partition[1]) not in done
        ]
        if left:
            mark(marker, json.dumps(left))
        else:
            marker.unlink(missing_ok=True)


def _begun(marker: Path) -> list[list[Any]]:
    found: list[list[Any]] = json.loads(marker.read_text(encoding="utf-8")) if marker.exists() else []
    return found


def _log_partition(each: ReplacedRecords) -> LogPartition:
    return each.cluster, each.log_partition


def _proven(row: _Fields, proven: Mapping[LogPartition, int]) -> _Fields:
    known = row["proven_from_log_offset"]
    return {
        **row,
        "proven_from_log_offset": max(known, proven.get((row["cluster"], row["log_partition"]), 0)),
    }


class _RetainCounts:
    """Counts in one pass over `log`, for the clusters concerned, how many records go and how many stay."""

    def __init__(self, lake: Lake, replaced: Sequence[ReplacedRecords], sources: Sequence[_Fields]) -> None:
        self.replaced = replaced
        self.dropped: Counter[LogPartition] = Counter()
        self._last: dict[LogPartition, int] = {}
        self._before = sources
        self._clusters = {each.cluster for each in replaced}
        self._ranges: dict[_Unit, list[_Fields]] = {}
        self._left: Counter[tuple[_Unit, int]] = Counter()
        for row in sources:
            if row["same_as"] is None and row["cluster"] in self._clusters:
                self._ranges.setdefault((row["cluster"], row["source"], row["run"]), []).append(row)
        clusters = sorted(self._clusters)
        for file in lake.files(LOG) if replaced else ():
            if values_within(file, "cluster", clusters):
                concerned = [each for each in replaced if each.may_be_in(file, LOG)]
                for rows in file_rows(lake.root / LOG.name / file["path"], LOG, _READ):
                    self._observe(rows, concerned)

    def _observe(self, rows: pa.RecordBatch, replaced: Iterable[ReplacedRecords]) -> None:
        goes = pa.array([False] * rows.num_rows, pa.bool_())
        for each in replaced:
            of_place = each.are(rows, LOG)
            if count := of_place.true_count:
                last = pc.max(rows.column("log_offset").filter(of_place)).as_py()
                self.dropped[_log_partition(each)] += count
                self._last[_log_partition(each)] = max(last, self._last.get(_log_partition(each), 0))
                goes = pc.or_(goes, of_place)
        stays = pa.table(rows.filter(pc.invert(goes)).select([*_UNIT, "batch_position"]))
        for unit in stays.group_by(list(_UNIT)).aggregate([]).to_pylist():
            self._count(stays, (unit["cluster"], unit["source"], unit["run"]))

    def _count(self, rows: pa.Table, unit: _Unit) -> None:
        """Count rows of `log` by the range of bytes that they were read from; they are of one source and run."""
        of_unit = rows
        for name, value in zip(_UNIT, unit, strict=True):
            of_unit = of_unit.filter(pc.equal(of_unit.column(name), value))
        ranges = self._ranges.get(unit, [])
        for row in ranges:
            start, end, positions = row["range_start"], row["range_end"], of_unit.column("batch_position")
            within = pc.and_(pc.greater_equal(positions, start), pc.less(positions, end))
            count = of_unit.num_rows if len(ranges) == 1 else pc.sum(within).as_py() or 0
            self._left[unit, start] += count

    def partitions(self) -> list[RetainedPartition]:
        """Return each log partition that loses records: how many, and from which offset on all are there."""
        return [
            RetainedPartition(
                *_log_partition(each), self.dropped[_log_partition(each)], self._proven_from(each)
            )
            for each in self.replaced
            if self.dropped[_log_partition(each)]
        ]

    def _proven_from(self, each: ReplacedRecords) -> int:
        """Return the offset of the first staying record behind the last one that goes."""
        behind = each.kept.filter(pc.greater(each.kept, self._last[_log_partition(each)]))
        return int(behind[0].as_py()) if len(behind) else each.end

    def sources(self) -> list[_Fields]:
        """Return the rows of `sources`, with how many of each one's records are gone."""
        gone = {
            _range(row, row["source"]): row["records"] - self._left[unit, row["range_start"]]
            for unit, rows in self._ranges.items()
            for row in rows
        }
        return [self._with_dropped(row, gone) for row in self._before]

    @staticmethod
    def _with_dropped(row: _Fields, gone: Mapping[tuple[Any, ...], int]) -> _Fields:
        key = _range(row, row["same_as"] or row["source"])
        return {**row, "dropped_records": gone[key] or None} if key in gone else row


def _range(row: _Fields, source: str) -> tuple[Any, ...]:
    return row["cluster"], source, row["log_partition"], row["range_start"], row["range_end"]

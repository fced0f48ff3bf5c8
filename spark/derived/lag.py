"""Compute the table `lag` from `offset_history` and `ends`: a task has all commits in a topic's partition.

Partitions of topics with something new are computed again (lag_news.py); the whole cluster is where options have changed, and on a
grid, because that reaches up to the cluster's newest time for every offset. Holds no rules about lag (offsets_tool.lag).
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds

from offsets_tool.lag.batches import LagAsked, lag_batches
from offsets_tool.lake.journal import app_of
from offsets_tool.lake.merge import Batches
from offsets_tool.lake.plan import latest
from offsets_tool.lake.scan import greatest_of
from offsets_tool.lake.tables import DERIVATIONS, ENDS, LAG, REPLAYS, Maker
from offsets_tool.log_clock import latest_of
from offsets_tool.rows import Row
from offsets_tool.wire.arrow import arrow_schema
from spark.derived.derive import (
    BasisFields,
    Derived,
    FilesMade,
    Made,
    WantedRows,
    derive,
    last_runs,
    made_of,
    replaced_rows,
    replayed,
    write_derived,
)
from spark.derived.ends import EndsRequest, add_ends
from spark.derived.expiry import facts_of_logs
from spark.derived.lag_news import new_partitions
from spark.derived.lag_rows import LagInput
from spark.lake.commit import Chain, Lake
from spark.runtime.rows import Progress, StartSpark, Task, untold

OF_LAG: Final = Chain(app_of(Maker.LAG), (LAG, DERIVATIONS))


@dataclass(frozen=True, slots=True, kw_only=True)
class LagRequest:
    """The lag to compute: at each commit and, with `grid_ms`, at its multiples too, within since and until (epoch milliseconds)."""

    ends: EndsRequest = field(default_factory=EndsRequest)
    grid_ms: int | None = None
    since: int | None = None
    until: int | None = None
    is_last_stable: bool = False
    """Whether lag counts to the last stable offset, for consumers with isolation.level=read_committed."""


def lag(lake: str | Lake, start: StartSpark, request: LagRequest, progress: Progress = untold) -> Derived:
    """Add new end offsets to the lake, and compute and commit the lag of clusters where something is new.

    `start` makes a session, and is called only if there is something to do; `progress` counts units of about half a million
    rows. UsageError where the lake has no histories yet, and for ends of an unknown cluster; SourceError for a file of end offsets
    that cannot be read.
    """
    with replayed(lake) as (open_lake, rows):
        replays = last_runs(rows)
        newest = _NewestRecords(open_lake, replays)
        added = add_ends(open_lake, request.ends, newest)
        ends = greatest_of(open_lake, ENDS, ("timestamp", "run"), replays)
        basis = {
            cluster: {
                "replay": run,
                "ends": ends[cluster]["run"] if cluster in ends else 0,
                "asked": _asked(request),
            }
            for cluster, run in replays.items()
        }
        counting = _Lag(open_lake, start, _asked(request), newest, ends, progress)
        done = derive(open_lake, OF_LAG, basis, counting.make, counting.since)
        return done._replace(notes=[*added.notes, *done.notes])


def _asked(request: LagRequest) -> Row:
    """Return the fields of LagAsked that the request gives for every cluster."""
    names = ("grid_ms", "since", "until", "is_last_stable")
    return {name: getattr(request, name) for name in names}


class _NewestRecords(Mapping[str, int]):
    """By cluster the time of its newest record in epoch milliseconds, 0 where none has one; read where it is asked for."""

    def __init__(self, lake: Lake, clusters: Collection[str]) -> None:
        self._lake, self._clusters = lake, clusters

    def __getitem__(self, cluster: str) -> int:
        if cluster not in self._clusters:
            raise KeyError(cluster)
        replays = latest(self._lake.rows(REPLAYS, where=ds.field("cluster") == cluster))
        return latest_of(facts.newest for facts in facts_of_logs(self._lake.root, replays).values()) or 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._clusters)

    def __len__(self) -> int:
        return len(self._clusters)


class _Lag(NamedTuple):
    """Computes lag by tasks, for whole clusters or for some partitions of their topics."""

    lake: Lake
    start: StartSpark
    asked: Mapping[str, Any]
    newest: Mapping[str, int]
    ends: Mapping[str, Mapping[str, int]]
    progress: Progress

    def since(self, cluster: str, known: BasisFields) -> pa.Table | None:
        """Return the partitions of topics to compute again for a cluster, given the basis of its rows; None for all."""
        if known["asked"] != self.asked or self.asked["grid_ms"] is not None:
            return None
        return new_partitions(self.lake, cluster, known["replay"], known["ends"])

    def make(self, clusters: WantedRows, run: int) -> Made:
        wanted = {
            of: partitions for of, partitions in clusters.items() if partitions is None or partitions.num_rows
        }
        if not wanted:
            return made_of(clusters, [])
        newest = {of: max(self.newest[of], self.ends.get(of, {}).get("timestamp", 0)) for of in wanted}
        asked = LagAsked(newest, **self.asked)
        rows = LagInput.of(
            self.lake, {of: replaced_rows(of, partitions) for of, partitions in wanted.items()}
        )
        task, schema = _task(self.lake.root, run, asked), arrow_schema(FilesMade)
        return made_of(clusters, rows.through(self.start, task, schema, asked, self.progress).collect())


def _task(root: Path, run: int, asked: LagAsked) -> Task:
    def task(batches: Batches) -> Batches:
        yield from write_derived(root, LAG, run, lag_batches(asked, batches))

    return task

"""Which partitions of a cluster's topics have something new that lag does not rest on yet: commits that began or ended, samples.

All rows of such a partition are counted again, since what is known later tells of what was before; rows of others stay. A log
partition that was told from its first record again may have lost some: then it is the whole cluster. Reads of a history what later
replays wrote, which is what they brought and what holds.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from spark.commit import REPLAY, ArrowLake
from spark.replay_plan import latest
from spark.tables import ENDS, OFFSET_HISTORY, REPLAYS

PLACE: Final = ("topic", "partition")
_TOLD: Final = ("log_partition", "from_offset", "to_offset")


def new_places(root: Path, cluster: str, replay: int, ends: int) -> pa.Table | None:
    """Topics and partitions with rows of replays after `replay`, or samples of runs after `ends`; None: all that there are."""
    told = [row for row in ArrowLake(root, REPLAY).rows(REPLAYS) if row["cluster"] == cluster]
    before = latest(row for row in told if row["run"] <= replay)
    since = [row for row in told if row["run"] > replay]
    places = {(row["cluster"], row["log_partition"]) for row in since}
    if any(row["from_start"] and (cluster, row["log_partition"]) in before for row in since):
        return None
    settled = {place[1]: before[place]["settled"] if place in before else 0 for place in places}
    sampled = _distinct([_rows(root, ENDS.name, cluster, ends, PLACE)])
    return _distinct(
        [sampled, _told(_rows(root, OFFSET_HISTORY.name, cluster, replay, (*PLACE, *_TOLD)), settled)]
    )


def _told(rows: pa.Table, settled: Mapping[int | None, int]) -> pa.Table:
    """Those that began or ended behind what was `settled` in their log partition: all others only hold still."""
    of = pc.index_in(rows.column("log_partition"), pa.array(list(settled), pa.int32()))
    behind = pc.fill_null(pa.array(list(settled.values()), pa.int64()).take(of), 0)
    began = pc.greater_equal(rows.column("from_offset"), behind)
    ended = pc.fill_null(pc.greater_equal(rows.column("to_offset"), behind), False)
    return rows.filter(pc.or_(began, ended))


def _rows(root: Path, table: str, cluster: str, after: int, columns: tuple[str, ...]) -> pa.Table:
    found = DeltaTable(root / table).to_pyarrow_dataset()
    of_these: Any = (pc.field("cluster") == cluster) & (pc.field("run") > after)
    return found.to_table(columns=list(columns), filter=of_these)


def _distinct(some: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(each.select(PLACE) for each in some).group_by(list(PLACE)).aggregate([])

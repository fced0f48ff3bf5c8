"""Find the partitions of topics whose lag must be computed again, because commits began or ended, or ends have new samples.

All rows of such a partition are computed again, since later facts bound earlier lag; rows of other partitions stay. A log
partition that was replayed from its first record may have lost rows: then the whole cluster is computed again. Of a history, only
what later replays wrote is read: the rows that they added and those that still hold.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from offsets_tool.lake.plan import latest
from offsets_tool.lake.scan import scan
from offsets_tool.lake.tables import ENDS, OFFSET_HISTORY, REPLAYS
from spark.lake.commit import Lake

_PARTITIONS: Final = pa.schema([("topic", pa.string()), ("partition", pa.int32())])
PARTITION: Final = tuple(_PARTITIONS.names)
AT_ONCE: Final = 1 << 17
"""How many rows are collected before duplicates are dropped."""
_SPAN: Final = ("log_partition", "from_log_offset", "to_log_offset")


def new_partitions(lake: Lake, cluster: str, replay: int, ends: int) -> pa.Table | None:
    """Return the topics and partitions with rows of replays after run `replay`, or samples after run `ends`; None means all."""
    replays = lake.rows(REPLAYS, where=ds.field("cluster") == cluster)
    before = latest(row for row in replays if row["run"] <= replay)
    since = [row for row in replays if row["run"] > replay]
    partitions = {(row["cluster"], row["log_partition"]) for row in since}
    if any(row["is_from_start"] and (cluster, row["log_partition"]) in before for row in since):
        return None
    settled = {
        partition[1]: before[partition]["settled_log_offset"] if partition in before else 0
        for partition in partitions
    }
    sampled = scan(lake, ENDS, PARTITION, [cluster], ends)
    committed = scan(lake, OFFSET_HISTORY, (*PARTITION, *_SPAN), [cluster], replay)
    return _distinct(chain(sampled, (_changed(rows, settled) for rows in committed)))


def _changed(rows: pa.RecordBatch, settled: Mapping[int | None, int]) -> pa.RecordBatch:
    """Return the rows that began or ended at or behind the offset in `settled` of their log partition: those that are new."""
    of = pc.index_in(rows.column("log_partition"), pa.array(list(settled), pa.int32()))
    behind = pc.fill_null(pa.array(list(settled.values()), pa.int64()).take(of), 0)
    began = pc.greater_equal(rows.column("from_log_offset"), behind)
    ended = pc.fill_null(pc.greater_equal(rows.column("to_log_offset"), behind), False)
    return rows.filter(pc.or_(began, ended))


def _distinct(some: Iterable[pa.RecordBatch]) -> pa.Table:
    """Return each topic and partition once; holds at most AT_ONCE rows beyond the distinct ones."""
    held, waiting = _PARTITIONS.empty_table(), list[pa.Table]()
    for rows in some:
        waiting.append(_each_once(pa.table(rows.select(PARTITION))))
        if sum(each.num_rows for each in waiting) > max(held.num_rows, AT_ONCE):
            held, waiting = _each_once(pa.concat_tables([held, *waiting])), []
    return _each_once(pa.concat_tables([held, *waiting]))


def _each_once(partitions: pa.Table) -> pa.Table:
    return partitions.group_by(list(PARTITION)).aggregate([]).cast(_PARTITIONS)

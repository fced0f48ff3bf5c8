"""Sum up the ages of removed offsets, over `removals`, and of live ones, over checkpoints: one sum a cluster, made in tasks.

The library infers from them the settings of a broker that no option gives.
"""

import pickle
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from offsets_tool.columns.expiry import checkpoint_ages, removal_ages
from offsets_tool.errors import OffsetsToolError
from offsets_tool.expiry.policy_search import Ages
from offsets_tool.wire.arrow import arrow_schema, record_batch
from offsets_tool.wire.schema import Bytes, String
from spark.derived.expiry_tasks import (
    Batches,
    Checkpoints,
    ExpiryJob,
    Task,
    by_place,
    removals_of,
    units_of,
    with_checkpoints,
)

ByCluster = dict[str, Ages]


class _Told(NamedTuple):
    """The result of a task: the ages of a part of a cluster (a pickle), or why there are none."""

    cluster: String
    error: String | None
    ages: Bytes


def ages_removed(session: SparkSession, job: ExpiryJob) -> ByCluster:
    """Return by cluster the ages of removed offsets, from the table `removals`."""

    def task(batches: Batches) -> Batches:
        for batch in batches:
            for (cluster, log_partition), facts in by_place(batch):
                ages = removal_ages(facts, job.log_ends[cluster, log_partition], job.asked[cluster])
                yield record_batch(_Told, [_Told(cluster, None, pickle.dumps(ages))])

    return _together(removals_of(session, job), task)


def ages_left(session: SparkSession, job: ExpiryJob, checkpoints: Checkpoints) -> ByCluster:
    """Return by cluster the ages of live offsets, from checkpoints; OffsetsToolError where one cannot be read."""

    def task(batches: Batches) -> Batches:
        for cluster, error, ages in with_checkpoints(job, checkpoints, batches, checkpoint_ages):
            yield record_batch(_Told, [_Told(cluster, error, pickle.dumps(ages))])

    return _together(units_of(session, checkpoints), task)


def _together(rows: DataFrame, task: Task) -> ByCluster:
    found: ByCluster = {}
    for row in rows.mapInArrow(task, from_arrow_schema(arrow_schema(_Told))).collect():
        if row["error"] is not None:
            raise OffsetsToolError(row["error"])
        found.setdefault(row["cluster"], Ages()).add(pickle.loads(row["ages"]))
    return found

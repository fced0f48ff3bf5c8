"""Sum up the ages of removed offsets, over `removals`, and of live ones, over checkpoints: one sum a cluster, made in tasks.

The library infers from them the settings of a broker that no option gives.
"""

import pickle
from typing import NamedTuple

from offsets_tool.columns.expiry import checkpoint_ages, removal_ages
from offsets_tool.errors import OffsetsToolError
from offsets_tool.expiry.policy_search import Ages
from offsets_tool.wire.arrow import arrow_schema, record_batch
from offsets_tool.wire.schema import Bytes, String
from spark.derived.expiry_tasks import ExpiryInput, ExpiryJob, removals_in, with_checkpoints
from spark.runtime.rows import Batches, Rows, Task, numbers_of

ByCluster = dict[str, Ages]


class _AgesFound(NamedTuple):
    """The result of a task: the ages of a part of a cluster (a pickle), or why there are none."""

    cluster: String
    error: String | None
    ages: Bytes


def ages_removed(job: ExpiryJob, given: ExpiryInput) -> ByCluster:
    """Return by cluster the ages at which offsets were removed, summed up from the files of `removals`."""
    removals = given.removals

    def task(batches: Batches) -> Batches:
        for unit in numbers_of(batches):
            for (cluster, log_partition), facts in removals_in(removals[unit], job):
                ages = removal_ages(facts, job.log_ends[cluster, log_partition], job.asked[cluster])
                yield record_batch(_AgesFound, [_AgesFound(cluster, None, pickle.dumps(ages))])

    return _together(given.units(len(removals)), task)


def live_ages(job: ExpiryJob, given: ExpiryInput) -> ByCluster:
    """Return by cluster the ages of live offsets, summed up from checkpoints; OffsetsToolError where one cannot be read."""
    checkpoints = given.checkpoints

    def task(batches: Batches) -> Batches:
        for cluster, error, ages in with_checkpoints(job, checkpoints, batches, checkpoint_ages):
            yield record_batch(_AgesFound, [_AgesFound(cluster, error, pickle.dumps(ages))])

    return _together(given.units(len(checkpoints)), task)


def _together(units: Rows, task: Task) -> ByCluster:
    found: ByCluster = {}
    for cluster, error, ages in units.through(task, arrow_schema(_AgesFound)).collect():
        if error is not None:
            raise OffsetsToolError(error)
        found.setdefault(cluster, Ages()).add(pickle.loads(ages))
    return found

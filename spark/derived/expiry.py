"""Compute the table `expiry` from what a replay left: when each live offset expires, and why others were removed.

Reads no log: log facts at the beginning of checkpoints give the rules, each log partition's checkpoint its live offsets. Rows of
`removals` are grouped by topic, because removals in all partitions of a topic together show their cause. A cluster is computed
again when it was replayed, or when options have changed.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow.dataset as ds

from offsets_tool.columns.expiry import ExpiryAsked
from offsets_tool.errors import OffsetsToolError, SourceError
from offsets_tool.evidence.expiring import PolicyOverrides, basis_note
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.expiry.policy import Basis, ClusterFacts, by_removals
from offsets_tool.expiry.policy_search import Ages
from offsets_tool.expiry.topic_removals import LogEnd, log_end_of
from offsets_tool.lake.tables import DERIVATIONS, EXPIRY, REMOVALS, REPLAYS, SOURCES
from offsets_tool.log.archive.delta import open_delta
from offsets_tool.log_clock import latest_of
from offsets_tool.replay.rules import Rules
from spark.derived.derive import Derived, Made, asked_before, derive, made_of, replayed
from spark.derived.expiry_ages import ages_removed, live_ages
from spark.derived.expiry_tasks import ExpiryInput, ExpiryJob, write_live, write_removed
from spark.ingest.plan import ARCHIVE, counts
from spark.lake.commit import ArrowLake, Chain
from spark.lake.folder import root_of
from spark.lake.scan import facts_of
from spark.replay.checkpoints import REMEDY, checkpoint_path, log_facts_of
from spark.replay.plan import LakeRow as Replay
from spark.replay.plan import LogPartition, latest
from spark.runtime.rows import RECORD_BYTES, Progress, StartSpark, is_little, of_units, untold

OF_EXPIRY: Final = Chain("offsets-tool expiry", (EXPIRY, DERIVATIONS))


def as_before(lake: str) -> PolicyOverrides:
    """Return the policy with which the lake's expiry was last computed; the default one where it never was."""
    asked = asked_before(root_of(lake), EXPIRY)
    release = asked.pop("release", None)
    return PolicyOverrides(release=release and tuple(release), **asked)


def expiry(lake: str, start: StartSpark, request: PolicyOverrides, progress: Progress = untold) -> Derived:
    """Compute the expiry of clusters where something is new, and commit it; `start` makes a session, if there is something to do.

    `progress` counts checkpoints of log partitions, and files of `removals`.
    UsageError where the lake has no histories yet; OffsetsToolError for a lost checkpoint.
    """
    root = root_of(lake)
    asked = {
        "release": request.release,
        "retentions": list(request.retentions),
        "check_interval_ms": request.check_interval_ms,
    }
    with replayed(root) as replays:
        basis = {cluster: {"replay": run, "asked": asked} for cluster, run in replays.items()}
        making = _Expiry(root, start, request, progress)
        done = derive(root, OF_EXPIRY, basis, making.make)
        return done._replace(notes=[*making.notes, *done.notes])


class _Expiry:
    """Computes expiry in tasks: live offsets from checkpoints, removed ones from `removals`; `notes` name the policy."""

    def __init__(self, root: Path, start: StartSpark, request: PolicyOverrides, progress: Progress) -> None:
        self._root, self._start, self._request, self._progress = root, start, request, progress
        self.notes: list[str] = []

    def make(self, clusters: Collection[str], run: int) -> Made:
        of_clusters = ds.field("cluster").isin(sorted(clusters))
        replays = latest(ArrowLake(self._root).rows(REPLAYS, where=of_clusters))
        facts = facts_of_logs(self._root, replays)
        checkpoints = [(log_partition, row["checkpoint"]) for log_partition, row in replays.items()]
        here: dict[str, list[LogFacts]] = {cluster: [] for cluster in sorted(clusters)}
        for (cluster, _), fact in facts.items():
            here[cluster].append(fact)
        bases = {cluster: self._basis_of(some) for cluster, some in here.items()}
        asked = {cluster: _asked(each) for cluster, each in bases.items()}
        job = ExpiryJob(self._root.as_posix(), run, asked, _log_ends(self._root, replays, facts))
        given = self._input(checkpoints)
        found = self._searched(job, bases, given)
        for cluster, each in found.items():
            self._say(cluster, each.bases[0])
        job = job._replace(asked={cluster: _asked(each) for cluster, each in found.items()})
        live = write_live(job, given)
        return made_of(clusters, [*live.files, *write_removed(job, given, live.longest)])

    def _input(self, checkpoints: Sequence[tuple[LogPartition, str]]) -> ExpiryInput:
        files = facts_of(open_delta(self._root / REMOVALS.name))
        held = sum(checkpoint_path(self._root, name).stat().st_size for _, name in checkpoints)
        is_here = is_little(held // RECORD_BYTES + sum(file["num_records"] for file in files))
        paths = [self._root / REMOVALS.name / file["path"] for file in files]
        return ExpiryInput(
            checkpoints, paths, partial(of_units, self._start, is_here=is_here, progress=self._progress)
        )

    def _basis_of(self, here: Sequence[LogFacts]) -> "_ClusterBasis":
        request, of_cluster = self._request, ClusterFacts()
        for each in here:
            of_cluster.add(each)
        retentions: Sequence[int | None] = request.retentions or [None]
        bases = [of_cluster.basis(request.release, each, request.check_interval_ms) for each in retentions]
        return _ClusterBasis(bases, latest_of(each.newest for each in here))

    def _searched(
        self, job: ExpiryJob, bases: Mapping[str, "_ClusterBasis"], given: ExpiryInput
    ) -> dict[str, "_ClusterBasis"]:
        """Return the clusters' policies, with values that removals suggest where the request gives none.

        The ages of live offsets are computed only if removals suggest something.
        """
        is_interval_given = self._request.check_interval_ms is not None
        if self._request.retentions and is_interval_given:
            return dict(bases)
        removed, left = ages_removed(job, given), cache(lambda: live_ages(job, given))

        def searched(cluster: str, basis: Basis) -> Basis:
            ages = removed.get(cluster, Ages())
            return by_removals(basis, ages, lambda: left()[cluster], interval_given=is_interval_given)

        return {
            cluster: each._replace(bases=[searched(cluster, basis) for basis in each.bases])
            for cluster, each in bases.items()
        }

    def _say(self, cluster: str, basis: Basis) -> None:
        note = basis_note(basis)
        if note:
            self.notes.append(f"{cluster}: {note}" if cluster else note)


class _ClusterBasis(NamedTuple):
    """The basis of a cluster's expiry: a policy for each retention that was asked for, and the time of its newest record."""

    bases: Sequence[Basis]
    newest: int | None


def _asked(of: _ClusterBasis) -> ExpiryAsked:
    return ExpiryAsked(tuple(basis.policy for basis in of.bases), of.bases[0].known, of.newest)


def facts_of_logs(root: Path, replays: Mapping[LogPartition, Replay]) -> dict[LogPartition, LogFacts]:
    """Return the log facts of partitions, given their rows of `replays`; OffsetsToolError for a lost checkpoint."""
    try:
        return {log_partition: log_facts_of(root, row) for log_partition, row in replays.items()}
    except SourceError as error:
        raise OffsetsToolError(f"{error}; {REMEDY}") from error


def _log_ends(
    root: Path, replays: Mapping[LogPartition, Replay], facts: Mapping[LogPartition, LogFacts]
) -> dict[LogPartition, LogEnd]:
    """Return how each log partition ends, and from which offset on it is complete, given its row of `replays` and log facts."""
    begins = first_offsets(root, max((row["ingest_run"] for row in replays.values()), default=0))
    return {
        log_partition: log_end_of(
            is_new=row["rules"] == Rules.NEW,
            proven_from=facts[log_partition].proven_from,
            begins=begins.get(log_partition, 0),
            end=row["next_log_offset"],
        )
        for log_partition, row in replays.items()
    }


_OF_FIRST: Final = ("cluster", "log_partition", "first_offset", "base_offset", "kind", "fate", "run")


def first_offsets(root: Path, upto: int) -> dict[LogPartition, int]:
    """Return the base offset of each log partition's first segment, among those of ingests up to the run `upto`."""
    begins: dict[LogPartition, int] = {}
    for source in ArrowLake(root).rows(SOURCES, _OF_FIRST):
        first = source["first_offset"] if source["base_offset"] is None else source["base_offset"]
        is_segment = counts(source["kind"], source["fate"]) and source["kind"] != ARCHIVE
        if source["run"] <= upto and is_segment and first is not None:
            log_partition = source["cluster"], source["log_partition"]
            begins[log_partition] = min(first, begins.get(log_partition, first))
    return begins

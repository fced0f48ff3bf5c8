"""Compute the table `expiry` from what a replay left: when each live offset expires, and why others were removed.

The brokers' settings are those that a cluster has of its own, or else those that the lake has for all others. They are kept in what
`derivations` says of `expiry`, so that each later run has them.

Reads no log: log facts at the beginning of checkpoints give the rules, each log partition's checkpoint its live offsets. Open rows
of `group_history` say where a group lies in several log partitions, of which one is current. Rows of `removals` are grouped by
topic, because removals in all partitions of a topic together show their cause. A cluster is computed again when it was replayed, or
when options have changed.
"""

import pickle
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from offsets_tool.errors import OffsetsToolError, SourceError
from offsets_tool.evidence.expiring import PolicyOverrides, bases_of, basis_note
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.expiry.policy import Basis, by_removals
from offsets_tool.expiry.policy_search import Ages
from offsets_tool.expiry.topic_removals import LogEnd, log_end_of
from offsets_tool.findings.sentences import listed
from offsets_tool.lake.checkpoints import REMEDY, checkpoint_path, is_of_this_version, log_facts_of
from offsets_tool.lake.expiry import ExpiryAsked, checkpoint_ages, checkpoint_homes, removal_ages
from offsets_tool.lake.journal import app_of
from offsets_tool.lake.merge import Batches
from offsets_tool.lake.plan import AUTO, Coordinators, LogPartition, last_coordinators, latest
from offsets_tool.lake.plan import LakeRow as Replay
from offsets_tool.lake.rows import ARCHIVE, counts
from offsets_tool.lake.scan import FileFacts, LakeTables, scan, values_within
from offsets_tool.lake.tables import DERIVATIONS, EXPIRY, GROUP_HISTORY, REMOVALS, REPLAYS, SOURCES, Maker
from offsets_tool.lake.whole import unknown_cluster
from offsets_tool.log.archive.delta_mirror import file_bytes, file_size
from offsets_tool.log_clock import latest_of
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import Row
from offsets_tool.time_texts import duration_text
from offsets_tool.wire.arrow import arrow_schema, record_batch
from offsets_tool.wire.schema import Bytes, String
from spark.derived.derive import (
    Derived,
    Made,
    bases_before,
    derive,
    finished,
    last_runs,
    made_of,
    replayed,
)
from spark.derived.expiry_tasks import (
    ExpiryInput,
    ExpiryJob,
    removals_in,
    with_checkpoints,
    write_live,
    write_removed,
)
from spark.lake.commit import Chain, Lake
from spark.runtime.rows import (
    RECORD_BYTES,
    Progress,
    Rows,
    StartSpark,
    Task,
    is_little,
    numbers_of,
    of_units,
    untold,
)

OF_EXPIRY: Final = Chain(app_of(Maker.EXPIRY), (EXPIRY, DERIVATIONS))
_OWN: Final = "is_own"
"""In the basis of a cluster's rows: whether the settings were given for this cluster alone."""
_NONE_GIVEN: Final = PolicyOverrides()


class BrokerSettings(NamedTuple):
    """The brokers' settings that are given: those of some clusters, and those of all others of the lake."""

    own: Mapping[str, PolicyOverrides] = MappingProxyType({})
    others: PolicyOverrides = _NONE_GIVEN

    @classmethod
    def before(cls, lake: Lake) -> "BrokerSettings":
        """Return the settings by which the lake's expiry was last computed."""
        newest: dict[str, PolicyOverrides | None] = {}
        others: PolicyOverrides | None = None
        for cluster, basis in bases_before(lake, EXPIRY):
            is_own = basis.get(_OWN, False)
            if cluster not in newest:
                newest[cluster] = _policy(basis["asked"]) if is_own else None
            if others is None and not is_own:
                others = _policy(basis["asked"])
        own = {cluster: policy for cluster, policy in newest.items() if policy is not None}
        return cls(own, others or _NONE_GIVEN)

    def changed(self, request: PolicyOverrides | None, cluster: str | None) -> "BrokerSettings":
        """Return the settings with those of a request: of a cluster, which without any has none of its own, or of all others."""
        if request is None:
            return self
        if cluster is None:
            return self._replace(others=request)
        own = {name: policy for name, policy in self.own.items() if name != cluster}
        return self._replace(own=own if request == _NONE_GIVEN else own | {cluster: request})

    def of(self, cluster: str) -> PolicyOverrides:
        return self.own.get(cluster, self.others)

    def basis(self, cluster: str) -> Row:
        """Return what a row of `derivations` says of a cluster's settings."""
        return {"asked": _asked_text(self.of(cluster)), **({_OWN: True} if cluster in self.own else {})}


def _asked_text(policy: PolicyOverrides) -> Row:
    return {
        "release": policy.release,
        "retentions": list(policy.retentions),
        "check_interval_ms": policy.check_interval_ms,
    }


def _policy(asked: Row) -> PolicyOverrides:
    release = asked["release"]
    return PolicyOverrides(release and tuple(release), tuple(asked["retentions"]), asked["check_interval_ms"])


def expiry(
    lake: str | Lake,
    start: StartSpark,
    request: PolicyOverrides | None,
    progress: Progress = untold,
    *,
    cluster: str | None = None,
) -> Derived:
    """Compute the expiry of clusters where something is new, and commit it; `start` makes a session, if there is something to do.

    `request` has the brokers' settings of one cluster, or where `cluster` is None of all that have none of their own; None leaves
    all as they were. `progress` counts checkpoints of log partitions, and files of `removals`.
    UsageError where the lake has no histories yet, and for an unknown cluster; OffsetsToolError for a lost checkpoint.
    """
    with replayed(lake) as (open_lake, replays):
        runs = last_runs(replays)
        if cluster is not None and cluster not in runs:
            raise unknown_cluster(cluster, runs)
        finishing = finished(open_lake, OF_EXPIRY)
        settings = BrokerSettings.before(open_lake).changed(request, cluster)
        basis = {name: {"replay": run, **settings.basis(name)} for name, run in runs.items()}
        making = _Expiry(open_lake, start, settings, progress)
        done = derive(open_lake, OF_EXPIRY, basis, making.make)
        coordinators = last_coordinators(replays)
        named = _settings_notes(settings, coordinators)
        if cluster is None and request not in (None, _NONE_GIVEN) and runs.keys() <= settings.own.keys():
            named.append(
                "each cluster here has settings of its own, which stay; the given ones hold for none and are not kept: name a "
                "cluster with --cluster to change what it has"
            )
        return done._replace(notes=[*finishing, *named, *making.notes, *done.notes])


def _settings_notes(settings: BrokerSettings, coordinators: Coordinators) -> list[str]:
    """Return one line with the settings that are given for clusters; none where all follow from their logs.

    `coordinators` has all clusters.
    """
    clusters: dict[str, list[str]] = defaultdict(list)
    for cluster, coordinator in sorted(coordinators.items()):
        clusters[_settings_text(settings.of(cluster), coordinator)].append(cluster)
    if not any(clusters):
        return []
    if len(clusters) == 1:
        [(text, names)] = clusters.items()
        whose = " of all clusters" if len(names) > 1 else f" of {names[0]}" if names[0] else ""
        return [f"settings{whose}: {text}"]
    said = [f"{text} for {listed(names)}" for text, names in clusters.items() if text]
    by_log = [f"what the log says for {listed(clusters[''])}"] if "" in clusters else []
    return [f"settings: {'; '.join(said + by_log)}"]


def _settings_text(policy: PolicyOverrides, coordinator: str) -> str:
    """Return settings in words; an empty text where none is given."""
    parts = [f"Kafka {'.'.join(map(str, policy.release))}"] if policy.release else []
    if policy.retentions:
        parts.append(f"retention {' or '.join(map(duration_text, policy.retentions))}")
    if policy.check_interval_ms is not None:
        parts.append(f"checks every {duration_text(policy.check_interval_ms)}")
    if coordinator != AUTO:
        parts.append(f"{coordinator} coordinator")
    return ", ".join(parts)


class _Expiry:
    """Computes expiry in tasks: live offsets from checkpoints, removed ones from `removals`; `notes` name the policy."""

    def __init__(self, lake: Lake, start: StartSpark, settings: BrokerSettings, progress: Progress) -> None:
        self._lake, self._root = lake, lake.root
        self._start, self._settings, self._progress = start, settings, progress
        self.notes: list[str] = []

    def make(self, clusters: Collection[str], run: int) -> Made:
        of_clusters = ds.field("cluster").isin(sorted(clusters))
        replays = latest(self._lake.rows(REPLAYS, where=of_clusters))
        facts = facts_of_logs(self._root, replays)
        of_each = ((log_partition, row["checkpoint"]) for log_partition, row in replays.items())
        checkpoints = sorted(of_each, key=lambda each: each[0][0])
        here: dict[str, list[LogFacts]] = {cluster: [] for cluster in sorted(clusters)}
        for (cluster, _), fact in facts.items():
            here[cluster].append(fact)
        bases = {cluster: self._basis_of(cluster, some) for cluster, some in here.items()}
        homes = _homes(self._lake, checkpoints)
        asked = {cluster: _asked(each, homes.get(cluster, {})) for cluster, each in bases.items()}
        job = ExpiryJob(self._root.as_posix(), run, asked, _log_ends(self._lake, replays, facts))
        given = self._input(checkpoints, sorted(clusters))
        found = self._searched(job, bases, given)
        for cluster, each in found.items():
            self._say(cluster, each.bases[0])
        job = job._replace(
            asked={cluster: _asked(each, homes.get(cluster, {})) for cluster, each in found.items()}
        )
        live = write_live(job, given)
        return made_of(clusters, [*live.files, *write_removed(job, given, live.longest)])

    def _input(self, checkpoints: Sequence[tuple[LogPartition, str]], clusters: Sequence[str]) -> ExpiryInput:
        files = [file for file in self._lake.files(REMOVALS) if values_within(file, "cluster", clusters)]
        held = sum(file_size(checkpoint_path(self._root, name)) for _, name in checkpoints)
        is_here = is_little(held // RECORD_BYTES + sum(file["num_records"] for file in files))
        paths = [self._root / REMOVALS.name / file["path"] for file in files]
        return ExpiryInput(
            checkpoints, paths, partial(of_units, self._start, is_here=is_here, progress=self._progress)
        )

    def _basis_of(self, cluster: str, here: Sequence[LogFacts]) -> "_ClusterBasis":
        return _ClusterBasis(
            bases_of(here, self._settings.of(cluster)), latest_of(each.newest for each in here)
        )

    def _searched(
        self, job: ExpiryJob, bases: Mapping[str, "_ClusterBasis"], given: ExpiryInput
    ) -> dict[str, "_ClusterBasis"]:
        """Return the clusters' policies, with values that removals suggest where none are given.

        The ages of live offsets are computed only if removals suggest something.
        """
        policies = {cluster: self._settings.of(cluster) for cluster in bases}
        if all(policy.retentions and policy.check_interval_ms is not None for policy in policies.values()):
            return dict(bases)
        removed, left = ages_removed(job, given), cache(lambda: live_ages(job, given))

        def searched(cluster: str, basis: Basis) -> Basis:
            ages, is_interval_given = (
                removed.get(cluster, Ages()),
                policies[cluster].check_interval_ms is not None,
            )
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


def _asked(of: _ClusterBasis, homes: Mapping[str, int | None]) -> ExpiryAsked:
    return ExpiryAsked(tuple(basis.policy for basis in of.bases), of.bases[0].known, of.newest, homes)


def _homes(
    lake: Lake, checkpoints: Sequence[tuple[LogPartition, str]]
) -> dict[str, Mapping[str, int | None]]:
    """Return by cluster where each group lives that lies in several log partitions; OffsetsToolError for a lost checkpoint."""
    paths = defaultdict[str, list[Path]](list)
    for (cluster, _), name in checkpoints:
        paths[cluster].append(checkpoint_path(lake.root, name))
    several = [cluster for cluster, of_cluster in paths.items() if len(of_cluster) > 1]
    try:
        return {
            cluster: checkpoint_homes((file_bytes(path), path.as_posix()) for path in paths[cluster])
            for cluster in _with_moved_groups(lake, several)
        }
    except SourceError as error:
        raise OffsetsToolError(f"{error}; {REMEDY}") from error


def _with_moved_groups(lake: Lake, clusters: Collection[str]) -> list[str]:
    """Return the clusters in which a group lies in several log partitions."""
    if not clusters:
        return []
    schema = pa.schema([("cluster", pa.string()), ("group", pa.string()), ("log_partition", pa.int32())])
    places = list[pa.RecordBatch]()
    for rows in scan(lake, GROUP_HISTORY, (*schema.names, "to_log_offset"), clusters, may_have=_has_open):
        is_open = pc.and_(pc.is_null(rows.column("to_log_offset")), pc.is_valid(rows.column("log_partition")))
        places.append(rows.filter(is_open).select(schema.names).cast(schema))
    of_groups = pa.Table.from_batches(places, schema).group_by(["cluster", "group"])
    counts = of_groups.aggregate([("log_partition", "count_distinct")])
    moved = counts.filter(pc.greater(counts.column("log_partition_count_distinct"), 1))
    return sorted(set(moved.column("cluster").to_pylist()))


def _has_open(file: FileFacts) -> bool:
    return file.get("null_count.to_log_offset") != 0


def facts_of_logs(root: Path, replays: Mapping[LogPartition, Replay]) -> dict[LogPartition, LogFacts]:
    """Return the log facts of partitions, given their rows of `replays`; OffsetsToolError for a lost checkpoint.

    One of this version that cannot be read is deleted: the next replay looks at no more than whether it is there.
    """
    facts: dict[LogPartition, LogFacts] = {}
    for log_partition, row in replays.items():
        try:
            facts[log_partition] = log_facts_of(root, row)
        except SourceError as error:
            if is_of_this_version(row["checkpoint"]):
                checkpoint_path(root, row["checkpoint"]).unlink(missing_ok=True)
            raise OffsetsToolError(f"{error}; {REMEDY}") from error
    return facts


def _log_ends(
    lake: Lake, replays: Mapping[LogPartition, Replay], facts: Mapping[LogPartition, LogFacts]
) -> dict[LogPartition, LogEnd]:
    """Return how each log partition ends, and from which offset on it is complete, given its row of `replays` and log facts."""
    begins = first_offsets(lake, max((row["ingest_run"] for row in replays.values()), default=0))
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


def first_offsets(lake: LakeTables, upto: int) -> dict[LogPartition, int]:
    """Return the base offset of each log partition's first segment, among those of ingests up to the run `upto`."""
    begins: dict[LogPartition, int] = {}
    for source in lake.rows(SOURCES, _OF_FIRST):
        first = source["first_offset"] if source["base_offset"] is None else source["base_offset"]
        is_segment = counts(source["kind"], source["fate"]) and source["kind"] != ARCHIVE
        if source["run"] <= upto and is_segment and first is not None:
            log_partition = source["cluster"], source["log_partition"]
            begins[log_partition] = min(first, begins.get(log_partition, first))
    return begins


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

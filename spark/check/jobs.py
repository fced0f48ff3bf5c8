"""Check what jobs have made: interrupted ones, histories and checkpoints of each log partition, and tables derived of them.

Only what jobs said of themselves is read, and the cluster of rows that are counted. Replays nothing.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from offsets_tool.errors import SourceError
from offsets_tool.findings.rows import Severity
from offsets_tool.lake.checkpoints import (
    CHECKPOINTS,
    REMEDY,
    checkpoint_path,
    is_of_this_version,
    live_state_of,
)
from offsets_tool.lake.copies import last_ingests
from offsets_tool.lake.damage import remedy_for
from offsets_tool.lake.plan import LogPartition, failed, latest
from offsets_tool.lake.rows import ARCHIVE, counts
from offsets_tool.lake.tables import DERIVED_TABLES, EXPIRY, REPLAYS, Table
from spark.check.checked import Defect, Looked
from spark.check.files import unused_defect
from spark.check.lake import Fields, LakeToCheck
from spark.derived.forget import CHAINS
from spark.lake.folder import RETAINING, interrupted
from spark.replay.notes import partition_text


def runs(lake: LakeToCheck) -> Looked:
    """Look for jobs that were killed between their commits: the next one of their kind finishes them."""
    if said := interrupted(lake.root):
        problem, _, remedy = said.partition(": ")
        yield Defect("lake", Severity.CRITICAL, problem, remedy)
    if (lake.root / RETAINING).exists():
        said = "retain was interrupted: log still has records that are gone from events"
        yield Defect("log", Severity.WARNING, said, f"{lake.command('retain', '--keep', 'SPAN')} finishes it")
    for chain in CHAINS:
        if not all(map(lake.has, chain.tables)):
            continue
        maker = chain.tables[0].made_by
        begun, done = (lake.last_run(table, chain.app) for table in (chain.tables[0], chain.tables[-1]))
        whole = f"{lake.command(maker)} finishes it; until then its rows do not count"
        said = f"run {begun} of {maker} was interrupted between its commits"
        yield None if begun <= done else Defect(chain.tables[0].name, Severity.WARNING, said, whole)


def partitions(lake: LakeToCheck) -> Looked:
    """Check that all that was ingested of each log partition is in its histories, once."""
    if not lake.replays:
        return
    known, problems = latest(lake.replays), failed(lake.replays)
    remedy = lake.command("replay")
    for log_partition, run in sorted(last_ingests(lake.sources).items(), key=repr):
        row, where = known.get(log_partition), partition_text(*log_partition)
        if log_partition in problems:
            yield Defect(where, Severity.WARNING, f"could not be replayed: {problems[log_partition]}", remedy)
        elif row is None:
            yield Defect(where, Severity.WARNING, "was ingested and never replayed", remedy)
        elif row["ingest_run"] < run:
            said = f"ingest {run} is not in its histories, which have those up to {row['ingest_run']}"
            yield Defect(where, Severity.WARNING, said, remedy)
        else:
            yield _recounted(lake, log_partition, row)


def _recounted(lake: LakeToCheck, log_partition: LogPartition, row: Mapping[str, Any]) -> Defect | None:
    """Return the problem that replays have replayed other records than there are; None where copies were joined, or archives."""
    of_log_partition = [
        each
        for each in lake.sources
        if each["cluster"] == log_partition[0]
        and counts(each["kind"], each["fate"])
        and each["same_as"] is None
    ]
    if row["copies"] or any(each["kind"] == ARCHIVE for each in of_log_partition):
        return None
    of_replay = [
        each
        for each in of_log_partition
        if each["log_partition"] == log_partition[1] and each["run"] <= row["ingest_run"]
    ]
    there = sum(each["records"] - each["misplaced_records"] for each in of_replay)
    dropped = sum(each["dropped_records"] or 0 for each in of_replay)
    replayed = _replayed(lake.replays, log_partition)
    # What was taken out may have been replayed before.
    if there - dropped <= replayed <= there:
        return None
    said = f"replays have replayed {replayed} records, where sources has {there}"
    remedy = remedy_for(lake.root, lake.root / REPLAYS.name) or ""
    return Defect(partition_text(*log_partition), Severity.CRITICAL, said, remedy)


def _replayed(replays: Iterable[Fields], log_partition: LogPartition) -> int:
    """Return how many records are in a partition's histories: those of its last replay from the first one, and of all later."""
    found = 0
    for row in sorted(replays, key=_run):
        if (row["cluster"], row["log_partition"]) == log_partition and row["problem"] is None:
            found = row["records"] + (0 if row["is_from_start"] else found)
    return found


def checkpoints(lake: LakeToCheck) -> Looked:
    """Check that the checkpoint of each log partition can be read to its end, and that no other checkpoints are left."""
    known = latest(lake.replays)
    for log_partition, row in known.items():
        try:
            live_state_of(lake.root, row)
        except SourceError as error:
            # A replay of nothing new looks at no more than whether it is there.
            name = row["checkpoint"]
            stays = is_of_this_version(name) and checkpoint_path(lake.root, name).exists()
            remedy = f"delete {CHECKPOINTS}/{name} and {REMEDY}" if stays else REMEDY
            yield Defect(partition_text(*log_partition), Severity.WARNING, str(error), remedy)
        else:
            yield None
    named = {row["checkpoint"] for row in known.values()}
    left = [path for path in (lake.root / CHECKPOINTS).glob("*") if path.name not in named]
    if found := unused_defect(lake, CHECKPOINTS, left):
        yield found._replace(remedy=f"{lake.command('replay')} deletes them")


class _Newest(NamedTuple):
    """The newest runs of each cluster on which derived tables rest."""

    replays: Mapping[str, int]
    expiry: Mapping[str, int]

    def why_outdated(self, cluster: str, row: Fields | None) -> str | None:
        """Return why a cluster's rows of a derived table are older than what they rest on, given the row that accounts for them."""
        if row is None:
            return "was not computed, as it was for other clusters"
        basis, replay, expiry = json.loads(row["basis"]), self.replays.get(cluster), self.expiry.get(cluster)
        if replay is not None and basis["replay"] != replay:
            return f"rests on replay {basis['replay']}, and the newest one is {replay}"
        if "expiry" in basis and basis["expiry"] != expiry:
            return f"rests on expiry of run {basis['expiry']}, and the newest one is {expiry}"
        return None


def derivations(lake: LakeToCheck) -> Looked:
    """Check that derived tables have the rows that they should, computed from the newest histories."""
    made: dict[str, dict[str, Fields]] = {}
    for row in sorted(lake.derivations, key=_run):
        made.setdefault(row["derived"], {})[row["cluster"]] = row
    expiry = {cluster: row["run"] for cluster, row in made.get(EXPIRY.name, {}).items()}
    replays = {row["cluster"]: row["run"] for row in sorted(lake.replays, key=_run)}
    for table in DERIVED_TABLES:
        if table.name in made:
            yield from _of_clusters(lake, table, made[table.name], _Newest(replays, expiry))


def _of_clusters(lake: LakeToCheck, table: Table, made: Mapping[str, Fields], newest: _Newest) -> Looked:
    remedy, there = lake.command(table.made_by), lake.count(table, "cluster")
    for cluster in sorted({*made, *newest.replays, *(name for (name,) in there)}):
        where, row = f"{table.name} (cluster {cluster!r})", made.get(cluster)
        says, has = row["rows"] if row else 0, there[cluster,]
        if has != says:
            said = f"has {has} rows, where derivations accounts for {says}"
            held = remedy_for(lake.root, lake.root / table.name) or remedy
            yield Defect(where, Severity.CRITICAL, said, held)
        elif why := newest.why_outdated(cluster, row):
            yield Defect(where, Severity.WARNING, why, remedy)
        else:
            yield None


def _run(row: Fields) -> int:
    run: int = row["run"]
    return run

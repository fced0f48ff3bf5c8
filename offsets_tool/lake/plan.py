"""Plan a replay: which log partitions of the lake, from where and by which rules. Pure functions over rows of the tables.

A partition goes on from its checkpoint if all new records lie behind it and nothing learned since contradicts the earlier replay.
Otherwise, and where there is no checkpoint yet, it is replayed from its first record. Knows no Spark and no files.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from offsets_tool.replay import rules
from offsets_tool.replay.rules import Rules, RulesUsed

LogPartition = tuple[str, int | None]
"""A cluster's name and a log partition's number; None for a log without a number."""
LakeRow = Mapping[str, Any]
"""A row of `replays`."""
Coordinators = Mapping[str, str]
"""By cluster whose rules are asked for: auto, classic or new. AUTO holds for a cluster that is not in it."""
AUTO: Final = "auto"


class New(NamedTuple):
    """The records that ingests have added to a log partition since the last replay."""

    cluster: str
    log_partition: int | None
    records: int
    first_offset: int
    """The lowest log offset of these records."""


class Work(NamedTuple):
    """A log partition to be replayed by one task; without a `checkpoint`, from its first record in any ingest."""

    cluster: str
    log_partition: int | None
    records: int
    """How many records are new."""
    rules: Rules | None
    checkpoint: str | None
    after_run: int
    """Ingests up to this one are in the checkpoint."""
    settled: int
    """Rows of the tables that still hold, or ended, at this log offset or behind it are replaced."""
    proven_from: int = 0
    """Before this log offset records are missing: they may have been taken out since the checkpoint was written."""

    @property
    def key(self) -> LogPartition:
        """The cluster and the log partition that this work is about."""
        return self.cluster, self.log_partition


def latest(replays: Iterable[LakeRow]) -> dict[LogPartition, LakeRow]:
    """Return the newest row of `replays` for each log partition that was ever replayed."""
    return {key: row for key, row in _newest(replays).items() if row["checkpoint"]}


def last_coordinators(replays: Iterable[LakeRow]) -> dict[str, str]:
    """Return by cluster whose rules its newest replay was asked for."""
    return {row["cluster"]: row["coordinator"] for row in sorted(replays, key=lambda row: row["run"])}


def failed(replays: Iterable[LakeRow]) -> dict[LogPartition, str]:
    """Return the log partitions whose last replay failed, and why."""
    return {key: row["problem"] for key, row in _newest(replays).items() if row["problem"] is not None}


def never_replayed(cluster: str, log_partition: int | None) -> LakeRow:
    """Return a row of `replays` for a partition without an earlier replay, but for the fields that the replay itself fills in."""
    return {
        "cluster": cluster,
        "log_partition": log_partition,
        "next_log_offset": 0,
        "settled_log_offset": 0,
        "is_from_start": True,
        "rules": "",
        "proving_log_offset": None,
        "differing_log_offset": None,
        "unnamed_topic_ids": (),
        "proven_from_log_offset": 0,
        "copies": (),
        "absences": 0,
        "abandoned": 0,
        "first_abandoned_log_offset": None,
        "contradictions": 0,
        "first_contradicting_log_offset": None,
        "checkpoint": "",
    }


def _newest(replays: Iterable[LakeRow]) -> dict[LogPartition, LakeRow]:
    return {
        (row["cluster"], row["log_partition"]): row for row in sorted(replays, key=lambda row: row["run"])
    }


def plan(
    asked: Coordinators,
    new: Sequence[New],
    known: Mapping[LogPartition, LakeRow],
    named: Mapping[str, Iterable[str]],
    from_start: Collection[LogPartition] = (),
) -> list[Work]:
    """Return the partitions to replay, those with most records first.

    `known` has the rows of `replays`, `named` by cluster the topic ids whose names were learned
    since the last replay, `from_start` the partitions that cannot go on from a checkpoint: it does not read, other copies came, the
    last replay failed.
    """
    found = {(each.cluster, each.log_partition): each for each in new}
    proved = _proved(known)
    work = []
    for key in {*found, *known, *from_start}:
        cluster, log_partition = key
        row, added = known.get(key), found.get(key)
        records = added.records if added else 0
        of_cluster = asked.get(cluster, AUTO)
        rules = _forced(of_cluster) or (Rules.NEW if cluster in proved else None)
        if row is None or key in from_start or not _goes_on(row, added, of_cluster, named.get(cluster, ())):
            work.append(Work(cluster, log_partition, records, rules, None, 0, 0))
        elif added is not None:
            # A partition replayed by the new rules, or by the classic ones where both agree, may go on by the new rules.
            checkpoint = (
                row["checkpoint"],
                row["ingest_run"],
                row["settled_log_offset"],
                row["proven_from_log_offset"],
            )
            work.append(Work(cluster, log_partition, records, rules, *checkpoint))
    return sorted(work, key=lambda each: (-each.records, each.cluster, each.log_partition or 0))


def _forced(asked: str) -> Rules | None:
    """Return the rules that were asked for, whatever the log proves; None for those that it proves."""
    return None if asked == AUTO else Rules(asked)


def to_replay_again(
    asked: Coordinators, known: Mapping[LogPartition, LakeRow], done: Mapping[LogPartition, LakeRow]
) -> list[LogPartition]:
    """Return the partitions that were replayed by the wrong rules (replay.rules); `done` has rows of `replays` not yet written."""
    clusters: dict[str, dict[LogPartition, RulesUsed]] = {}
    for key, row in {**known, **done}.items():
        used = RulesUsed(Rules(row["rules"]), row["proving_log_offset"], row["differing_log_offset"])
        if asked.get(key[0], AUTO) == AUTO:
            clusters.setdefault(key[0], {})[key] = used
    return [key for partitions in clusters.values() for key in rules.to_replay_again(partitions)]


def to_name(
    asked: Coordinators, now: Mapping[LogPartition, LakeRow], named: Mapping[str, Iterable[str]]
) -> list[Work]:
    """Return the partitions to replay from their first record because names of topic ids that they lacked are known now.

    `named` has these ids by cluster; `now` the rows of `replays`, with those not yet written.
    """
    return [
        Work(*key, 0, _forced(asked.get(key[0], AUTO)) or _proved_rules(row), None, 0, 0)
        for key, row in now.items()
        if set(row["unnamed_topic_ids"]).intersection(named.get(key[0], ()))
    ]


def _proved_rules(row: LakeRow) -> Rules | None:
    return Rules.NEW if row["rules"] == Rules.NEW else None


def _proved(rows: Mapping[LogPartition, LakeRow]) -> set[str]:
    """Return the clusters of the new coordinator: where one partition of a cluster proves its rules, they hold for all."""
    return {cluster for (cluster, _), row in rows.items() if row["rules"] == Rules.NEW}


def _goes_on(row: LakeRow, added: New | None, asked: str, named: Iterable[str]) -> bool:
    if row["coordinator"] != asked or set(row["unnamed_topic_ids"]).intersection(named):
        return False
    return added is None or added.first_offset >= row["next_log_offset"]

"""What a replay has to do: which log partitions of the lake, from where and by which rules. Pure over what the tables say.

A partition goes on from its checkpoint if all that is new lies behind it and nothing that was learnt since speaks against what was
told before: then, and if it is new, it is replayed from its first record. Knows no Spark and no files.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from offsets_tool.replay import rules
from offsets_tool.replay.rules import Rules, RulesUsed

LogPartition = tuple[str, int | None]
"""Cluster and log partition."""
LakeRow = Mapping[str, Any]
"""A row of `replays`."""


class New(NamedTuple):
    """What ingests have brought of a partition since the last replay."""

    cluster: str
    log_partition: int | None
    records: int
    first_offset: int
    """The lowest."""
    has_odd: bool = False
    """Whether there are commits among them that do not read as they should."""


class Work(NamedTuple):
    """One partition to be replayed by one task; `checkpoint` None: from its first record, whatever ingest brought it."""

    cluster: str
    log_partition: int | None
    records: int
    """That are new."""
    rules: Rules | None
    checkpoint: str | None
    after_run: int
    """Ingests up to this one are in the checkpoint."""
    settled: int
    """From this offset on, what the tables hold of it is told anew."""

    @property
    def place(self) -> LogPartition:
        return self.cluster, self.log_partition


def latest(replays: Iterable[LakeRow]) -> dict[LogPartition, LakeRow]:
    """The row that counts of each partition."""
    return {
        (row["cluster"], row["log_partition"]): row for row in sorted(replays, key=lambda row: row["run"])
    }


def plan(
    asked: str,
    new: Sequence[New],
    known: Mapping[LogPartition, LakeRow],
    named: Mapping[str, Iterable[str]],
    lost: Collection[LogPartition] = (),
) -> list[Work]:
    """The partitions to replay, those with most records first. `asked` is auto, classic or new; `named` by cluster the ids whose
    names came to be known since the last replay; `lost` those whose checkpoints do not read."""
    forced = None if asked == "auto" else Rules(asked)
    found = {(each.cluster, each.log_partition): each for each in new}
    proved = _proved(known)
    work = []
    for place in {*found, *known}:
        cluster, log_partition = place
        row, brought = known.get(place), found.get(place)
        records = brought.records if brought else 0
        rules = forced or (Rules.NEW if cluster in proved else None)
        if row is None or place in lost or not _goes_on(row, brought, asked, named.get(cluster, ())):
            work.append(Work(cluster, log_partition, records, rules, None, 0, 0))
        elif brought is not None:
            # What holds by the new rules anyway, or was told by the classic ones where both are the same, may go on by the new.
            checkpoint = (row["checkpoint"], row["ingest_run"], row["settled_log_offset"])
            work.append(Work(cluster, log_partition, records, rules, *checkpoint))
    return sorted(work, key=lambda each: (-each.records, each.cluster, each.log_partition or 0))


def to_replay_again(
    asked: str, known: Mapping[LogPartition, LakeRow], done: Mapping[LogPartition, LakeRow]
) -> list[LogPartition]:
    """Return the partitions replayed by rules that do not hold (replay.rules); `done` are the rows of `replays` to be."""
    if asked != "auto":
        return []
    clusters: dict[str, dict[LogPartition, RulesUsed]] = {}
    for place, row in {**known, **done}.items():
        used = RulesUsed(Rules(row["rules"]), row["proving_log_offset"], row["differing_log_offset"])
        clusters.setdefault(place[0], {})[place] = used
    return [place for partitions in clusters.values() for place in rules.to_replay_again(partitions)]


def to_name(
    asked: str, now: Mapping[LogPartition, LakeRow], named: Mapping[str, Iterable[str]]
) -> list[Work]:
    """Partitions to replay from their first record, as names of ids that they lacked are known now. `named`: ids by cluster."""
    rules_asked = None if asked == "auto" else Rules(asked)
    return [
        Work(*place, 0, rules_asked or (Rules.NEW if row["rules"] == Rules.NEW else None), None, 0, 0)
        for place, row in now.items()
        if set(row["unnamed_topic_ids"]).intersection(named.get(place[0], ()))
    ]


def _proved(rows: Mapping[LogPartition, LakeRow]) -> set[str]:
    """The clusters of the new coordinator: where one partition is by its rules, all are."""
    return {cluster for (cluster, _), row in rows.items() if row["rules"] == Rules.NEW}


def _goes_on(row: LakeRow, brought: New | None, asked: str, named: Iterable[str]) -> bool:
    if row["coordinator"] != asked or set(row["unnamed_topic_ids"]).intersection(named):
        return False
    return brought is None or brought.first_offset >= row["next_log_offset"]

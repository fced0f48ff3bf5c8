"""The facts of whole log partitions that finders ask for, from rows of `sources` and `replays` and log facts, without records.

Which of it is a finding is declared in offsets_tool.findings.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.findings.partition_facts import FileSums, PartitionFacts, UnreadableBytes, of_files
from offsets_tool.lake.plan import LakeRow, LogPartition
from offsets_tool.lake.rows import SourceFields, counts
from offsets_tool.rows import UnreadableKind


def partition_facts(
    cluster: str,
    sources: Iterable[SourceFields],
    replays: Mapping[LogPartition, LakeRow],
    log_facts: Mapping[LogPartition, LogFacts],
) -> Iterator[PartitionFacts]:
    """Yield the facts of each log partition of a cluster, given its rows of `sources` and `replays` and what its records say."""
    upto = max((row["ingest_run"] for row in replays.values()), default=0)
    by_partition: dict[int | None, list[SourceFields]] = defaultdict(list)
    for row in sorted(sources, key=lambda row: (row["source"], row["range_start"], row["run"])):
        if row["run"] <= upto and counts(row["kind"], row["fate"]):
            by_partition[row["log_partition"]].append(row)
    # The rows of an archive say their partition, and its row of `sources` does not.
    replayed = (log_partition for of, log_partition in log_facts if of == cluster)
    for log_partition in dict.fromkeys((*by_partition, *replayed)):
        facts = of_files(log_partition, _files(by_partition.get(log_partition, ())))
        key = cluster, log_partition
        if key in log_facts:
            facts = facts._replace(versions=log_facts[key].seen, unread=log_facts[key].unread)
        yield _with_copies(facts, replays.get(key))


def _files(rows: Iterable[SourceFields]) -> Iterator[FileSums]:
    """Yield the sums of each file, given its rows of `sources`; of a file that has grown, the last tail counts too."""
    last: dict[str, SourceFields] = {}
    for row in rows:
        last[row["source"]] = row
        ranges = [
            UnreadableBytes(UnreadableKind(found["kind"]), found["size"]) for found in row["unreadable"]
        ]
        yield _file(row, ranges)
    for row in last.values():
        if row["tail_kind"] is not None:
            tail = UnreadableBytes(UnreadableKind(row["tail_kind"]), row["tail_bytes"])
            yield FileSums(None, [tail], 0, None)


def _file(row: SourceFields, unreadable: list[UnreadableBytes]) -> FileSums:
    return FileSums(
        row["first_offset"],
        unreadable,
        row["misplaced_records"],
        row["first_misplaced_offset"],
    )


def _with_copies(facts: PartitionFacts, replay: LakeRow | None) -> PartitionFacts:
    if replay is None:
        return facts
    return facts._replace(
        copies=len(replay["copies"]),
        abandoned=replay["abandoned"],
        abandoned_at=replay["first_abandoned_log_offset"],
        contradictions=replay["contradictions"],
        contradiction_at=replay["first_contradicting_log_offset"],
    )

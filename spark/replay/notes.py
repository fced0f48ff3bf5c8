"""Sentences that report on a replay to its user. Knows no tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from offsets_tool.evidence.joined_log import copies_notes
from offsets_tool.lake.copies import LakeCopy
from offsets_tool.lake.plan import LakeRow, LogPartition
from offsets_tool.lake.rows import counts
from offsets_tool.log.names import not_replayed


def partition_text(cluster: str, log_partition: int | None) -> str:
    """Return the words for a log partition of a cluster."""
    return f"partition {log_partition} of cluster {cluster!r}"


def replayed_from_start(cluster: str, log_partition: int | None, why: str) -> str:
    """Return the note that a partition does not go on from its checkpoint."""
    return f"{partition_text(cluster, log_partition)} is replayed from its first record, since its checkpoint cannot be read: {why}"


def set_aside_notes(sources: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the note on files among rows of `sources` that Kafka has set aside, if there are any."""
    aside = {row["source"] for row in sources if not counts(row["kind"], row["fate"])}
    return [not_replayed(len(aside))] if aside else []


def joined_notes(
    replays: Iterable[LakeRow], copies: Mapping[LogPartition, Sequence[LakeCopy]]
) -> Iterator[str]:
    """Yield notes on partitions whose copies were joined, given their rows of `replays`, and on these copies."""
    for row in replays:
        if not row["copies"]:
            continue
        about = partition_text(row["cluster"], row["log_partition"])
        found = [
            (row["absences"], "key(s) were deleted, as copies that were compacted later do not have them"),
            (row["abandoned"], "record(s) are left out, as a later leader epoch left them behind"),
            (
                row["contradictions"],
                "offset(s) have different records of one leader epoch; one history counts, the newest where times tell",
            ),
        ]
        details = "; ".join(f"{number} {what}" for number, what in found if number)
        yield f"{about}: {len(row['copies'])} copies are joined" + (f"; {details}" if details else "")
        of_place = copies.get((row["cluster"], row["log_partition"]), ())
        yield from (f"{about}: {text}" for text in copies_notes([copy.facts for copy in of_place]))

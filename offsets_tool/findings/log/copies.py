"""Do copies of one log partition disagree: was the log forked, or do they contradict each other?"""

from collections.abc import Iterator
from typing import Final

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, found, log_finder
from offsets_tool.findings.partition_facts import PartitionFacts
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import count

ABANDONED: Final = FindingKind(
    "records_abandoned",
    Severity.WARNING,
    "Records in some copies are not on the branch of the log that counts: a broker that lacked them became leader.",
    "Look for an unclean leader election at that time; `offsets-tool copies --records` shows what was lost by it.",
)
CONTRADICTED: Final = FindingKind(
    "copies_contradict",
    Severity.WARNING,
    "Copies have different records at the same offset of one leader epoch, which replication never makes.",
    "If a disk was restored or cloned, name the copy that is in force with --leader; else make sure that all files are of one "
    "cluster and one topic. `offsets-tool copies --records` shows both.",
)


@log_finder(ABANDONED, CONTRADICTED)
def find_disagreements(facts: PartitionFacts, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for records that a later leader abandoned, and one for copies that contradict each other."""
    where = f"the {facts.copies} copies of partition {'?' if facts.log_partition is None else facts.log_partition}"
    if facts.abandoned_at is not None:
        yield found(
            ABANDONED,
            facts,
            Places((facts.abandoned_at,)),
            f"{count(facts.abandoned, 'record')} in {where} of __consumer_offsets, from offset {facts.abandoned_at} on, "
            "were left behind by a later leader and count no more",
        )
    if facts.contradiction_at is not None:
        yield found(
            CONTRADICTED,
            facts,
            Places((facts.contradiction_at,)),
            f"At {count(facts.contradictions, 'offset')}, the first {facts.contradiction_at}, {where} of __consumer_offsets have "
            "different records of one leader epoch",
        )

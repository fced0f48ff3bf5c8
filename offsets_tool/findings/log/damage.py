"""Could some of the log not be read, or not be understood?"""

from collections.abc import Iterator
from typing import Final

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, found, log_finder
from offsets_tool.findings.partition_facts import PartitionFacts
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import count

UNREADABLE: Final = FindingKind(
    "unreadable_records",
    Severity.WARNING,
    "Bytes of the log could not be read, or batches stand where they cannot: what is told of groups lacks their records.",
    "`offsets-tool inspect` names the places; copy the files again, or add another broker's copy of the partition.",
)
FOREIGN: Final = FindingKind(
    "foreign_records",
    Severity.NOTICE,
    "Records of the log were not understood: a newer broker wrote them, or something that is no broker.",
    "`offsets-tool decode` shows them with their bytes; a later release of this tool may know them.",
)


@log_finder(UNREADABLE, FOREIGN)
def find_damage(facts: PartitionFacts, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for what could not be read, and one for what was not understood."""
    where = f"partition {'?' if facts.log_partition is None else facts.log_partition} of __consumer_offsets"
    if facts.unreadable_ranges or facts.misplaced_records:
        at = facts.first_offset if facts.misplaced_at is None else facts.misplaced_at
        said = [
            text
            for number, text in (
                (
                    facts.unreadable_ranges,
                    f"{facts.unreadable_bytes:,} bytes in {count(facts.unreadable_ranges, 'range')}",
                ),
                (facts.misplaced_records, f"{count(facts.misplaced_records, 'misplaced record')}"),
            )
            if number
        ]
        yield found(UNREADABLE, facts, Places((at,)), f"Of {where} not all can be read: {' and '.join(said)}")
    if facts.raw_records:
        reason, _ = max(facts.reasons.items(), key=lambda item: (item[1], item[0]), default=("unknown", 0))
        yield found(
            FOREIGN,
            facts,
            Places((facts.first_offset,)),
            f"{count(facts.raw_records, 'record')} of {where} were not understood, most of them: {reason}",
        )

"""Could some of the log not be read, or not be understood?"""

from collections.abc import Iterator
from typing import Final

from offsets_tool.expiry.log_facts import UnreadKeys
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found, log_finder
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.partition_facts import PartitionFacts
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import count, named
from offsets_tool.replay.changes import UNREAD, is_unread_note

UNREADABLE: Final = FindingKind(
    "unreadable_records",
    Severity.WARNING,
    "Bytes of the log could not be read, or batches stand where they cannot: what is told of groups lacks their records.",
    "`offsets-tool inspect` names the places and says why: copy the files again, add another broker's copy, or name an archive's "
    "columns with --columns.",
)
FOREIGN: Final = FindingKind(
    "foreign_records",
    Severity.WARNING,
    "Records of the log were not understood: a newer broker wrote them, or something that is no broker. What they set is unknown.",
    "`offsets-tool decode` shows their bytes; ask the broker that leads the partition, or a release of this tool that knows them.",
)
_OTHER_TOPIC: Final = (
    "Name the folders __consumer_offsets-N, or an archive of that topic: these records are of another one."
)
_MUCH: Final = 10
"""One record of so many is much: what is known of the rest is no picture of the group."""


@log_finder(UNREADABLE, FOREIGN)
def find_damage(facts: PartitionFacts, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for what could not be read, and one for records whose keys were not understood."""
    number = facts.log_partition
    where = "this log" if number is None else f"partition {number} of __consumer_offsets"
    if facts.unreadable_ranges or facts.misplaced_records:
        at = facts.first_offset if facts.misplaced_at is None else facts.misplaced_at
        said = [
            text
            for number, text in (
                (
                    facts.unreadable_ranges,
                    f"{facts.unreadable_bytes:,} bytes in {count(facts.unreadable_ranges, 'range')}"
                    if facts.unreadable_bytes
                    else count(facts.unreadable_ranges, "row"),
                ),
                (facts.misplaced_records, f"{count(facts.misplaced_records, 'misplaced record')}"),
            )
            if number
        ]
        yield found(UNREADABLE, facts, Places((at,)), f"Of {where} not all can be read: {' and '.join(said)}")
    if facts.unread is not None and facts.unread.records:
        yield (_unread_keys if facts.versions else _of_another_topic)(facts, facts.unread, where)


def _unread_keys(facts: PartitionFacts, unread: UnreadKeys, where: str) -> Finding:
    reason = max(unread.reasons.items(), key=lambda item: (item[1], item[0]))[0]
    return found(
        FOREIGN,
        facts,
        Places(tuple(unread.log_offsets), unread.from_at, unread.to_at),
        f"{_not_understood(unread.records, where)} ({reason}), and may be about any group: what was set before is not "
        "proven any more. Brokers of 3.4.1 and later pass over a type that they do not know",
    )


def _of_another_topic(facts: PartitionFacts, unread: UnreadKeys, where: str) -> Finding:
    reason = "none of their keys is one that Kafka writes there"
    if 2 * unread.texts > unread.records:
        reason = "their keys are text"
    return found(
        FOREIGN,
        facts,
        Places(tuple(unread.log_offsets), unread.from_at, unread.to_at),
        f"None of {count(unread.records, 'record')} of {where} is one of the topic __consumer_offsets: they are of another topic, "
        f"as {reason}",
        severity=Severity.CRITICAL,
        remedy=_OTHER_TOPIC,
    )


@finder(FOREIGN)
def find_unread(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield one finding for all records of a group whose values were not understood."""
    unread = [row for row in rows.anomalies if is_unread_note(row.note)]
    if unread:
        first, last = unread[0], unread[-1]
        is_much = _MUCH * len(unread) >= len(unread) + len(rows.offsets)
        yield found(
            FOREIGN,
            rows,
            Places(tuple(row.log_offset for row in unread), first.timestamp, last.timestamp),
            f"{_not_understood(len(unread), f'group {named(rows.group)}')} ({first.note.removeprefix(UNREAD)}): "
            f"what {'it' if len(unread) == 1 else 'they'} set is unknown. A broker that does not understand one either does not "
            "load the partition, and answers for none of its groups",
            severity=Severity.CRITICAL if is_much else Severity.WARNING,
        )


def _not_understood(records: int, where: str) -> str:
    return f"{count(records, 'record')} of {where} {'was' if records == 1 else 'were'} not understood"

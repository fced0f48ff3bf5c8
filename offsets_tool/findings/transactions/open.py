"""Is a transaction still open at the end, or was one open for long, and what did it hold back?

Whether it hangs (its coordinator has forgotten it) is not in this log: its age against the timeouts of producers is the evidence.
"""

from collections.abc import Iterator
from typing import Final

from offsets_tool.as_of.transactions import TransactionOutcome
from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.sentences import at_time, count, from_time, named, span
from offsets_tool.findings.transactions.ended import TIMEOUT_MS
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.log_clock import age_at

HANGING: Final = FindingKind(
    "hanging_transaction",
    Severity.WARNING,
    "A transaction is open at the end of the log: its commits wait, and neither compaction nor committed reads get past it.",
    "Find its producer with kafka-transactions --find-hanging or --describe-producers, and end it with kafka-transactions --abort "
    "if nobody will.",
)
LONG: Final = FindingKind(
    "long_transaction",
    Severity.NOTICE,
    "A transaction was open for longer than producers are usually given: what came after it waited all that time.",
    "Commit more often, and lower transaction.timeout.ms so that a producer that died holds others back for less.",
)
MAX_TIMEOUT_MS: Final = 900_000
"""Broker's default of transaction.max.timeout.ms: no coordinator lets a transaction be open for longer."""
RUNNING: Final = "running_transaction"
"""The alternative: the producer is alive and will end it."""


@finder(HANGING, LONG)
def find_open_transactions(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each transaction without a marker, whose severity grows with its age, and for each that was long."""
    for row in rows.transactions:
        if row.outcome == TransactionOutcome.OPEN:
            yield _open(rows, row, context.newest_at)
        elif row.marker_timestamp is not None:
            took = age_at(row.marker_timestamp, row.first_timestamp) or 0
            if took > TIMEOUT_MS and row.outcome == TransactionOutcome.COMMITTED:
                yield _long(rows, row, took)


def _open(rows: GroupRows, row: TransactionRow, newest_at: int | None) -> Finding:
    age = age_at(newest_at, row.first_timestamp)
    # Where the copy of this partition ends earlier than others do, the marker may just not be in it.
    is_gone_on = rows.newest_at is None or (age_at(rows.newest_at, row.first_timestamp) or 0) > MAX_TIMEOUT_MS
    severity, confidence = _judged(age or 0, is_gone_on)
    return found(
        HANGING,
        rows,
        Places((row.first_log_offset, row.last_log_offset), row.first_timestamp),
        f"Producer {row.producer_id} has a transaction open for group {named(rows.group)}"
        f"{at_time(row.first_timestamp, 'since')}, "
        f"{span(age)} up to the newest record: {count(row.commits, 'commit')} wait{'s' if row.commits == 1 else ''}"
        f"{_held_back(rows, row)}",
        severity=severity,
        confidence=confidence,
        alternatives=() if confidence is Confidence.CERTAIN else (RUNNING,),
    )


def _held_back(rows: GroupRows, row: TransactionRow) -> str:
    """Return a text on how many offsets lie behind the first record, past which neither compaction nor committed reads get."""
    if rows.end is None or rows.end - row.last_log_offset <= 1:
        return ""
    return f", and {count(rows.end - row.first_log_offset, 'offset')} of the log behind its first record"


def _long(rows: GroupRows, row: TransactionRow, took: int) -> Finding:
    return found(
        LONG,
        rows,
        Places((row.marker_log_offset or 0, row.first_log_offset), row.first_timestamp, row.marker_timestamp),
        f"Producer {row.producer_id} had a transaction open for group {named(rows.group)} for {span(took)}"
        f"{from_time(row.first_timestamp)}, and then committed it",
    )


def _judged(age: int, is_gone_on: bool) -> tuple[Severity, Confidence]:
    if age > MAX_TIMEOUT_MS and is_gone_on:
        return Severity.CRITICAL, Confidence.LIKELY
    return (Severity.WARNING if age > TIMEOUT_MS else Severity.NOTICE), Confidence.AMBIGUOUS

"""One row of the findings: what is wrong or odd, in which group, since when, how sure that is, and which records show it.

Declared once: the fields of the command and the table of the lake come from here.
"""

from enum import StrEnum
from typing import Annotated, NamedTuple

from offsets_tool.table_rows import LogPartition
from offsets_tool.wire.schema import Int32, Int64, String
from offsets_tool.wire.times import UtcTime


class Severity(StrEnum):
    """How much a finding matters, the worst first."""

    CRITICAL = "critical"
    """Records are skipped or read again, or something is blocked: somebody has to act."""
    WARNING = "warning"
    """It will matter, or it did and nobody may have noticed."""
    NOTICE = "notice"
    """Worth knowing; it may well have been meant."""


class Finding(NamedTuple):
    """Something that is wrong or odd in a log, in one sentence, with the records that show it."""

    kind: Annotated[String, "What it is: offsets_expired, reset, rewind, hanging_transaction ..."]
    severity: Annotated[String, "critical, warning or notice."]
    group: Annotated[String | None, "The group; null if it is about no group, or about several."]
    topic: Annotated[String | None, "Topic of the committed offsets; null if it is about none, or several."]
    partition: Annotated[Int32 | None, "Partition of that topic; null if it is about none, or several."]
    from_at: Annotated[UtcTime | None, "When it began; null if the records have no time."]
    to_at: Annotated[UtcTime | None, "When it ended; null if it lasts, or if the records have no time."]
    confidence: Annotated[
        String,
        "certain: the records prove it; likely: all speaks for it; ambiguous: other causes fit as well.",
    ]
    alternatives: Annotated[tuple[String, ...], "What else it can have been."]
    title: Annotated[String, "What happened, in one sentence."]
    remedy: Annotated[String, "What to do, in one sentence."]
    evidence: Annotated[
        tuple[String, ...],
        "Places of the log that show it, partition:offset, the one it is found at first; then lines of brokers' logs, file:line.",
    ]
    log_partition: LogPartition
    log_offset: Annotated[Int64, "Offset in the log of the record that it is found at."]


class FindingKind(NamedTuple):
    """A kind of finding: its name, how much it matters if nothing else is known, what it says, and what to do about it."""

    name: str
    severity: Severity
    means: str
    remedy: str

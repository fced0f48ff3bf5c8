"""One sentence of a story, with its place in the log, its time and its kind. Decides nothing."""

from enum import StrEnum
from typing import NamedTuple

from offsets_tool.findings.finder import log_offset_text, time_or_none
from offsets_tool.findings.rows import Finding
from offsets_tool.time_texts import time_text


class SentenceKind(StrEnum):
    """The kind of event that a sentence is about."""

    GROUP = "group"
    OFFSETS = "offsets"
    TRANSACTION = "transaction"
    ANOMALY = "anomaly"
    BROKER = "broker"
    """Something that only a broker's own log tells."""
    FINDING = "finding"


class Sentence(NamedTuple):
    """One sentence on what happened at one record of the log, or from one record to another."""

    kind: SentenceKind
    text: str
    group: str | None
    log_partition: int | None
    log_offset: int
    last_log_offset: int
    at: int | None
    """When the record at `log_offset` was written, epoch milliseconds; None if it has no time."""
    until: int | None = None
    """When the record at `last_log_offset` was written; None if that is the same record, or if it has no time."""
    topic: str | None = None
    partition: int | None = None
    finding: Finding | None = None
    lines: tuple[str, ...] = ()
    """Lines of brokers' logs that say why, FILE:LINE."""

    @property
    def place(self) -> str:
        """The first record that the sentence is about, as LOG_PARTITION:LOG_OFFSET."""
        return log_offset_text(self.log_partition, self.log_offset)

    @property
    def places(self) -> tuple[str, ...]:
        """The evidence: records as LOG_PARTITION:LOG_OFFSET, the finding's or else the first and last; lines of brokers' logs."""
        if self.finding is not None:
            return self.finding.evidence
        records = dict.fromkeys((self.log_offset, self.last_log_offset))
        return (*(log_offset_text(self.log_partition, each) for each in records), *self.lines)


class Moment(NamedTuple):
    """The log offset of a record and its time, epoch milliseconds."""

    log_offset: int
    at: int


def when(timestamp: int | None) -> str:
    """Return a time as words of a sentence, to the second; "an unknown time" for None."""
    text = time_text(time_or_none(timestamp))
    return "an unknown time" if text is None else f"{text[:19]}Z"

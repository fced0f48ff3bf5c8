"""The rows of a review's tables: groups by rank, sentences in the order of time, offsets that a plan would set.

Declared once: the tables in Arrow, and the fields of the commands' JSON lines that are about the same, come from here.
"""

from typing import Annotated, NamedTuple

from offsets_tool.plans.rows import PlanRow
from offsets_tool.story.sentence import Sentence
from offsets_tool.story.verdict import Ranked
from offsets_tool.table_rows import LogPartition
from offsets_tool.wire.schema import Int32, Int64, String
from offsets_tool.wire.times import UtcTime


class RankedGroupRow(NamedTuple):
    """A group in the ranking of a log: what is found of it, how it stands, how busy it was."""

    group: Annotated[String, "The group."]
    severity: Annotated[String | None, "That of its worst finding; null if it has none."]
    kinds: Annotated[tuple[String, ...], "The kinds of its findings, the worst first."]
    findings: Annotated[Int64, "How many findings it has."]
    state: Annotated[String, "Its state at the end of the log, in a word or two."]
    rebalances: Annotated[Int64, "Generations or epochs after the first."]
    commits: Annotated[Int64, "Commits, also those that never counted."]
    bytes: Annotated[Int64 | None, "Bytes of keys and values of its records; null where they were not read."]
    lag: Annotated[Int64 | None, "Records that it is behind; null where no end is known."]
    log_partition: LogPartition


class TimelineRow(NamedTuple):
    """Something that happened, in one sentence, with its place and time, and the finding that it tells."""

    at: Annotated[UtcTime | None, "When it happened, or began; null if the record has no time."]
    until: Annotated[UtcTime | None, "When it ended; null if it is one record, or has no time."]
    log_partition: LogPartition
    log_offset: Annotated[Int64, "Offset in the log of its first record."]
    last_log_offset: Annotated[Int64, "Offset in the log of its last record."]
    kind: Annotated[String, "group, offsets, transaction, anomaly, broker or finding."]
    group: Annotated[String | None, "The group; null if it is about the log."]
    topic: Annotated[String | None, "Topic of the committed offsets; null if it is about none, or several."]
    partition: Annotated[Int32 | None, "Partition of that topic; null if it is about none, or several."]
    text: Annotated[String, "The sentence."]
    evidence: Annotated[
        tuple[String, ...],
        "Places of the log that show it, partition:offset, and lines of brokers' logs, file:line.",
    ]
    finding: Annotated[String | None, "The kind of the finding that it tells; null if it tells none."]
    severity: Annotated[String | None, "critical, warning or notice; null without a finding."]
    confidence: Annotated[String | None, "certain, likely or ambiguous; null without a finding."]
    remedy: Annotated[String | None, "What to do, in one sentence; null without a finding."]


class ToSetRow(NamedTuple):
    """A committed offset that a plan would set or leaves alone: where it stands, where it stood, what speaks against it."""

    group: Annotated[String, "The group."]
    topic: Annotated[String, "Topic of the committed offset."]
    partition: Annotated[Int32, "Partition of that topic."]
    action: Annotated[String, "reset: it is set to new_offset; leave: it is left alone, a risk says why."]
    current_offset: Annotated[Int64 | None, "What is committed at the end of the log; null if nothing is."]
    new_offset: Annotated[
        Int64 | None,
        "What was committed at the moment; null if nothing was, or if the log does not prove it.",
    ]
    difference: Annotated[Int64 | None, "new_offset less current_offset; null without one of them."]
    risks: Annotated[tuple[String, ...], "What speaks against it, a sentence each, the worst first."]
    commits_since: Annotated[Int64, "Commits that took effect since the moment."]
    committed_by: Annotated[tuple[String, ...], "Who made them, as far as the log tells."]
    expires_at: Annotated[UtcTime | None, "When the offset will expire; null if it will not."]


def ranked_row(ranked: Ranked) -> RankedGroupRow:
    """Return a group of a ranking as a row."""
    return RankedGroupRow(
        ranked.group,
        ranked.severity,
        tuple(dict.fromkeys(each.kind for each in ranked.findings)),
        len(ranked.findings),
        ranked.state,
        ranked.rebalances,
        ranked.commits,
        ranked.bytes,
        None if ranked.lag is None else ranked.lag.records,
        ranked.log_partition,
    )


def timeline_row(sentence: Sentence) -> TimelineRow:
    """Return a sentence of a story as a row."""
    finding = sentence.finding
    return TimelineRow(
        sentence.at,
        sentence.until,
        sentence.log_partition,
        sentence.log_offset,
        sentence.last_log_offset,
        sentence.kind.value,
        sentence.group,
        sentence.topic,
        sentence.partition,
        sentence.text,
        sentence.places,
        *(getattr(finding, name, None) for name in ("kind", "severity", "confidence", "remedy")),
    )


def to_set_row(row: PlanRow) -> ToSetRow:
    """Return an offset of a plan as a row."""
    return ToSetRow(
        row.group,
        row.topic,
        row.partition,
        row.action.value,
        row.current_offset,
        row.new_offset,
        row.difference,
        tuple(risk.text for risk in row.risks),
        row.commits_since,
        row.committed_by,
        row.expires_at,
    )

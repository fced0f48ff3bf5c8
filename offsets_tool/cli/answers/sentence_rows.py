"""A sentence of a story as a row: what JSON lines and tables of explain and timeline have. Decides nothing."""

from offsets_tool.rows import Row
from offsets_tool.story.sentence import Sentence
from offsets_tool.time_texts import time_text


def sentence_row(sentence: Sentence) -> Row:
    """Return the fields of a sentence; those of its finding are null where it tells none."""
    finding = sentence.finding
    return {
        "at": _time(sentence.at),
        "until": _time(sentence.until),
        "log_partition": sentence.log_partition,
        "log_offset": sentence.log_offset,
        "last_log_offset": sentence.last_log_offset,
        "kind": sentence.kind.value,
        "group": sentence.group,
        "topic": sentence.topic,
        "partition": sentence.partition,
        "text": sentence.text,
        "evidence": sentence.places,
        "finding": finding.kind if finding else None,
        "severity": finding.severity if finding else None,
        "confidence": finding.confidence if finding else None,
        "remedy": finding.remedy if finding else None,
    }


def _time(timestamp: int | None) -> str | None:
    return None if timestamp is None else time_text(timestamp)

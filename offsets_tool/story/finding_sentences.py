"""Findings as sentences of a story: the title, how sure the finding is, and what else it can have been.

Titles and remedies are the findings' own; nothing is worded again here.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.finder import record_offsets
from offsets_tool.findings.rows import Finding
from offsets_tool.story.sentence import Sentence, SentenceKind

_SURE: Final[Mapping[str, str]] = {
    Confidence.CERTAIN.value: "Certain",
    Confidence.LIKELY.value: "Likely",
    Confidence.AMBIGUOUS.value: "Not certain",
}


def certainty(finding: Finding) -> str:
    """Return how sure a finding is, and what else it can have been: "Likely; also possible: offsets deleted."."""
    *first, last = [other.replace("_", " ") for other in finding.alternatives] or [""]
    others = f"{', '.join(first)} or {last}" if first else last
    return _SURE[finding.confidence] + (f"; also possible: {others}." if others else ".")


def finding_text(finding: Finding) -> str:
    """Return a finding as sentences: how bad it is, what happened, how sure that is."""
    return f"{finding.severity.upper()}: {finding.title}. {certainty(finding)}"


def finding_sentence(finding: Finding, times: Mapping[int, int]) -> Sentence:
    """Return a finding as the sentence of its first record; `times` has the known times of records by their log offset."""
    at = times.get(finding.log_offset, finding.from_at)
    is_span = at is not None and finding.to_at is not None and finding.to_at > at
    return Sentence(
        SentenceKind.FINDING,
        finding_text(finding),
        finding.group,
        finding.log_partition,
        finding.log_offset,
        finding.log_offset,
        at,
        finding.to_at if is_span else None,
        finding.topic,
        finding.partition,
        finding,
    )


def log_offsets_of(findings: Iterable[Finding], kinds: Iterable[str]) -> set[int]:
    """Return the log offsets that findings of these kinds name."""
    wanted = frozenset(kinds)
    return {
        log_offset for finding in findings if finding.kind in wanted for log_offset in record_offsets(finding)
    }

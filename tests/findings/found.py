"""The findings of corpora, as the command finds them, each corpus once."""

from functools import cache
from pathlib import Path

from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.evidence.findings.finding import findings_of
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.findings.rows import Finding


@cache
def findings_in(corpus: Path) -> tuple[Finding, ...]:
    """Return the findings of a corpus, the worst first."""
    with EvidenceReplay(open_evidence(corpus / "segments")) as replay:
        return tuple(findings_of(replay, PolicyOverrides()))

"""What is found in an incident, held against what it expects: which expectations are not met."""

import json
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, Final

from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.evidence.findings.finding import findings_of
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.findings.rows import Finding
from tests.incidents.stage import Step
from tests.incidents.words import MANIFEST

EXPECTED: Final = "expected.json"


MINUTE_MS: Final = 60_000
DURING: Final = "during"
"""The key of an expectation for the time of a finding: the words that a step of the story begins with."""
SAYS: Final = "says"
"""The key of an expectation for the words of a finding: what its title contains."""


def unmet(folder: Path) -> list[str]:
    """Return the expectations of an incident's folder that its findings do not meet, with what was found instead."""
    expected = json.loads((folder / EXPECTED).read_text())
    manifest = json.loads((folder / MANIFEST).read_text())
    findings, story = _found(folder, manifest["config"]), manifest["story"]
    missing = [f"must: {wanted}" for wanted in expected["must"] if not matching(wanted, findings, story)]
    wrong = [
        f"must not: {unwanted}, but: {each.severity} {each.kind}, {each.confidence}: {each.title}"
        for unwanted in expected["must_not"]
        for each in matching(unwanted, findings, story)
    ]
    return missing + wrong


def _found(folder: Path, config: Mapping[str, str]) -> list[Finding]:
    """Return what is found by somebody who knows the broker's retention, if it is not Kafka's default."""
    retention = config.get("offsets.retention.minutes")
    given = PolicyOverrides(retentions=(int(retention) * MINUTE_MS,) if retention else ())
    with EvidenceReplay(open_evidence(folder / "segments")) as replay:
        return list(findings_of(replay, given))


def matching(
    expected: Mapping[str, Any], findings: Iterable[Finding], story: Sequence[Step]
) -> list[Finding]:
    """Return the findings that an expectation means; `story` says when its steps were."""
    fields = {name: value for name, value in expected.items() if name not in (DURING, SAYS)}
    return [
        each
        for each in findings
        if all(_is_one_of(getattr(each, name), value) for name, value in fields.items())
        and expected.get(SAYS, "") in each.title
        and (DURING not in expected or _is_during(each, expected[DURING], story))
    ]


def _is_one_of(value: object, allowed: object) -> bool:
    return value in allowed if isinstance(allowed, list) else value == allowed


def _is_during(finding: Finding, words: str, story: Sequence[Step]) -> bool:
    """Return whether a finding's time meets that of a step: from when it was done until the next one was."""
    [at, *_] = [number for number, step in enumerate(story) if step["what"].startswith(words)]
    begins, ends = story[at]["at_ms"], story[at + 1]["at_ms"] if at + 1 < len(story) else inf
    until = inf if finding.to_at is None else finding.to_at
    return finding.from_at is not None and finding.from_at <= ends and until >= begins

"""The stories of corpora, each corpus replayed once."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.evidence.findings.finding import GroupFindings, LogFindings
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.story.sentence import Sentence
from offsets_tool.story.story import GroupStory
from tests.corpora import CORPORA


@cache
def found_in(corpus: Path) -> tuple[GroupFindings, ...]:
    """Return the groups of a corpus, each with its rows and its findings."""
    with EvidenceReplay(open_evidence(corpus / "segments")) as replay:
        return tuple(LogFindings(replay, PolicyOverrides()).groups())


def story_of(corpus: str, group: str) -> Sequence[Sentence]:
    """Return the story of a group of a corpus of ours."""
    rows, findings = next(each for each in found_in(CORPORA / corpus) if each.rows.group == group)
    return GroupStory(rows, findings).sentences()

"""The stories of corpora, each corpus replayed once."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.expiring import PolicyGiven
from offsets_tool.evidence.findings.finding import FoundGroups, found_groups
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.story.sentence import Sentence
from offsets_tool.story.story import GroupStory
from tests.corpora import CORPORA


@cache
def found_in(corpus: Path) -> FoundGroups:
    """Return the rows of every group of a corpus, and its findings."""
    with EvidenceReplay(open_evidence(corpus / "segments")) as replay:
        return found_groups(replay, PolicyGiven())


def story_of(corpus: str, group: str) -> Sequence[Sentence]:
    """Return the story of a group of a corpus of ours."""
    found = found_in(CORPORA / corpus)
    rows = next(rows for rows in found.groups if rows.group == group)
    return GroupStory(rows, found.findings).sentences()

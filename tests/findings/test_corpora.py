"""What was done to real brokers is found: every deed of the stories, nothing sharp without a deed, nothing loud without one."""

from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.finders import kinds
from offsets_tool.findings.membership.departures import NOT_BACK
from offsets_tool.findings.membership.storms import REJOINING
from offsets_tool.findings.offsets.handovers import HANDOVER
from offsets_tool.findings.rows import Finding, Severity
from tests.corpora import corpora
from tests.findings.deeds import deeds_of, story_of
from tests.findings.found import findings_in

SHARP: Final = frozenset({"group_deleted", "hanging_transaction", "reset"})
"""Kinds that nothing but a deed can leave."""
UNTOLD: Final = {"4.3.1-classic": {"member_timed_out"}}
"""Deeds that left no trace: there a member that was to vanish was removed within half its session timeout, so it had left."""
_TOLD: Final = [
    path for path in corpora("4.3.1-classic", "2.1.1-mix", "3.3.2-mix") if (path / "manifest.json").is_file()
]
"""Corpora that have their story with them."""
_CORPORA: Final = [path for path in _TOLD if "compaction" not in path.name]
"""Compaction may take the records of a deed."""


@pytest.mark.parametrize("corpus", _CORPORA, ids=lambda path: path.name)
def test_every_deed_is_found_and_nothing_sharp_without_one(corpus: Path) -> None:
    has, asked = defaultdict[str | None, set[str]](set), defaultdict[str | None, set[str]](set)
    for each in findings_in(corpus):
        has[each.group].add(each.kind)
    missed = []
    for deed in deeds_of(story_of(corpus)):
        asked[deed.group] |= deed.kinds
        is_untold = deed.kinds <= UNTOLD.get(corpus.name, set())
        if deed.must and not is_untold and not deed.kinds & has[deed.group]:
            missed.append(deed)
    assert missed == []
    sure = [each for each in findings_in(corpus) if each.confidence != Confidence.AMBIGUOUS]
    assert [each for each in sure if each.kind in SHARP and each.kind not in asked[each.group]] == []


@pytest.mark.parametrize("corpus", corpora(), ids=lambda path: path.name)
def test_a_finding_says_what_it_is_and_where_it_is_seen(corpus: Path) -> None:
    for each in findings_in(corpus):
        kind = kinds()[each.kind]
        # What belongs to a rebalance is not what the kind's own remedy looks for; losses have theirs (test_remedies).
        own = (kind.remedy, HANDOVER, NOT_BACK, REJOINING)
        is_loss = each.kind in ("offsets_expired", "group_deleted")
        assert each.title and each.remedy and (is_loss or each.remedy.startswith(own))
        assert each.evidence[0] == f"{each.log_partition}:{each.log_offset}"
        assert (each.confidence == Confidence.AMBIGUOUS) <= bool(each.alternatives), each
        assert each.from_at is None or each.to_at is None or each.from_at <= each.to_at, each


@pytest.mark.parametrize("corpus", _TOLD, ids=lambda path: path.name)
def test_where_nothing_was_done_nothing_is_loud(corpus: Path) -> None:
    if not any(deed.must for deed in deeds_of(story_of(corpus))):
        loud = [each for each in findings_in(corpus) if each.severity != Severity.NOTICE]
        assert [each for each in loud if not _is_asked(corpus, each)] == []


def _is_asked(corpus: Path, finding: Finding) -> bool:
    """Return whether a deed of the story explains a finding of its group: a deed that need not leave one counts too."""
    deeds = deeds_of(story_of(corpus))
    return any(deed.group == finding.group and finding.kind in deed.kinds for deed in deeds)

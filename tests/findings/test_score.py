"""What is said for certain or likely is so, in every corpus that has its story; `make deep` prints the table of the README."""

import pytest

from tests.corpora import corpora
from tests.findings.score import Scores

pytestmark = pytest.mark.slow

UNTOLD = {("4.3.1-classic", "member_timed_out")}
"""Deeds that left no trace: there a member that was to vanish was removed within half its session timeout, so it had left."""
LEAST = 0.95


def test_what_is_sure_is_right_and_deeds_are_found() -> None:
    scores = Scores()
    for corpus in corpora("4.3.1-classic", "2.1.1-mix", "3.3.2-mix"):
        if (corpus / "manifest.json").is_file() and "compaction" not in corpus.name:
            scores.add(corpus)
    print(scores.table())
    assert scores.wrong == []
    assert [(name, deed) for name, deed in scores.missed if (name, min(deed.kinds)) not in UNTOLD] == []
    assert all(score.found >= LEAST * score.deeds for score in scores.by_kind().values() if score.deeds > 20)

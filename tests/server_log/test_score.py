"""With the broker's own log every deed of a story has its cause, for certain, and that is so; `make deep` prints the table."""

from collections import Counter
from pathlib import Path
from typing import Final

from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.finder import places_and_lines
from tests.corpora import corpora
from tests.findings.deeds import deeds_of, story_of
from tests.findings.score import BY_DEED, expired_in, judged
from tests.server_log.logs import folders
from tests.server_log.score import Scores, found_in

UNTOLD: Final = {
    ("0.9.0.1-mix", "member_left"): 2,
    ("4.3.1-classic", "session_expired"): 1,
}
"""Deeds that were something else to the broker: requests to leave that never came until sessions were over, and a member that was
to vanish and asked to leave first."""


def corpora_with_causes() -> list[Path]:
    """Return the corpora of this run that have a story and the broker's log; what compaction took is told by no record."""
    here = [
        path
        for path in corpora(
            "0.10.2.2-mix", "0.9.0.1-mix", "1.1.1-mix", "2.1.1-mix", "2.4.1-mix", "4.3.1-classic"
        )
        if path in folders()
    ]
    return [path for path in here if (path / "manifest.json").is_file() and "compaction" not in path.name]


def test_every_deed_has_its_cause_for_certain() -> None:
    scores = Scores()
    for corpus in corpora_with_causes():
        scores.add(corpus)
    print(scores.table())
    missed = Counter((name, deed.cause.value) for name, deed in scores.missed)
    assert dict(missed) == UNTOLD
    assert set(scores.certain) == {"member_left", "member_resubscribed", "session_expired", "topics_changed"}


def test_what_a_line_makes_certain_is_so() -> None:
    """But sessions that are over while a broker is restarted: no story tells them, the broker does."""
    right: Counter[str] = Counter()
    for corpus in corpora_with_causes():
        groups, _ = found_in(corpus)
        proven = [each for _, findings in groups for each in findings if places_and_lines(each)[1]]
        assert all(each.confidence == Confidence.CERTAIN and not each.alternatives for each in proven)
        deeds = [*deeds_of(story_of(corpus)), *expired_in(corpus)]
        for finding, is_right in judged(corpus, deeds, proven):
            assert is_right or finding.kind == "member_timed_out", (corpus.name, finding)
            right[finding.kind] += is_right
    assert {"group_deleted", "offsets_deleted", "offsets_expired", "topic_deleted"} <= right.keys()
    assert BY_DEED & right.keys() >= {"member_timed_out", "transaction_fenced", "transaction_timed_out"}

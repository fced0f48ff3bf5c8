"""Stories: their places are in the log and in its order, nothing is told twice or left out, and known stories read as they were."""

from collections import Counter
from pathlib import Path

import pytest

from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.findings.group_rows import LogStretch, gather
from offsets_tool.story.commits import commit_rows
from offsets_tool.story.sentence import SentenceKind
from offsets_tool.story.story import GroupStory
from offsets_tool.story.timeline import in_time
from tests.corpora import corpora
from tests.findings.made import GROUP, HOUR, LOG_PARTITION, group, states
from tests.story.corpora_explained import found_in, story_of

KNOWN = [
    (
        ("2.4.1-mix", "iris_pricing"),
        (
            "The group appears as a classic group, generation 1: app-yarrow joined; 1 member.",
            "3 first commits for topic umber.export in partitions 0 to 2: offsets between 3,714 and 556,552,806.",
            "Rebalance to generation 2: app-cedar joined; app-cedar took over 2 partitions from app-yarrow; 2 members.",
            "NOTICE: 1 offset of group iris_pricing",
            "Rebalance to generation 3: app-yarrow left; app-cedar leads now; app-cedar took over 1 partition from app-yarrow; "
            "1 member.",
            "NOTICE: 1 offset of group iris_pricing",
            "One commit for topic umber.export in partition 0: offset 411,805,111 to 753,567,912.",
        ),
    ),
    (
        ("4.3.1-classic", "search-deleted-cd34"),
        (
            "The group appears as a classic group: no members yet.",
            "Rebalance to generation 1: del-1 joined; 1 member.",
            "3 first commits for topic shipping.geo in partitions 0 to 2: offset 15 each.",
            "Rebalance to generation 2: del-1 left; the group is empty.",
            "CRITICAL: Group search-deleted-cd34 was deleted",
            "The group appears as a simple group, whose clients commit without being members.",
            "First commit for topic shipping.geo in partition 0: offset 1.",
        ),
    ),
    (
        ("3.9.2-txn", "fraud-eos-2"),
        (
            "The group appears as a simple group, whose clients commit without being members.",
            "First commit for topic search.sessions in partition 0: offset 0, in a transaction.",
            "First commit for topic pricing-loyalty.v2 in partition 0: offset 11, in a transaction.",
            "NOTICE: 2 of 8 transactions of group fraud-eos-2 were aborted",
            "3 commits for topic search.sessions in 2 partitions until 2026-11-21T12:22:37Z: 3 ahead in all, in 3 transactions; "
            "first commit in partition 2 at offset 33.",
            "6 commits for topic pricing-loyalty.v2 in partitions 0 to 3 until 2026-11-21T12:22:37Z: 397 ahead "
            "in all, in 5 transactions; first commits in partitions 1 to 3 at offsets between 42 and 203.",
        ),
    ),
]
"""By corpus and group, how each sentence of its story begins."""
KIP848 = (
    "The group appears as a consumer group (KIP-848), epoch 2: search-cons-f689-1 joined; 1 member.",
    "Rebalance to epoch 3: search-cons-f689-2 joined; 2 members, settled after 239ms.",
    "Rebalance to epoch 4: search-cons-f689-3 joined; 6 partitions changed hands; 3 members, settled after 614ms.",
    "Rebalance to epoch 5: search-cons-f689-2 left; 6 partitions changed hands; 2 members, settled after 467ms.",
    "Rebalance to epoch 6: nobody joined or left; 2 members, settled after 174ms.",
)


@pytest.mark.parametrize(("of", "sentences"), KNOWN, ids=lambda value: value[1] if len(value) == 2 else "")
def test_known_stories(of: tuple[str, str], sentences: tuple[str, ...]) -> None:
    told = story_of(*of)
    assert len(told) == len(sentences)
    for sentence, begins in zip(told, sentences, strict=True):
        assert sentence.text.startswith(begins)


def test_a_rebalance_of_kip_848_is_one_sentence_until_all_have_reached_it() -> None:
    told = story_of("4.3.1-kip848", "search-cons-f689")
    assert tuple(each.text for each in told if each.kind is SentenceKind.GROUP) == KIP848


@pytest.mark.parametrize("corpus", corpora(), ids=lambda path: path.name)
def test_places_are_in_the_log_and_in_its_order(corpus: Path) -> None:
    with open_evidence(corpus / "segments") as evidence:
        there = {
            f"{event.record.log_partition}:{event.record.log_offset}": event.record.timestamp
            for event in evidence.events()
        }
    for rows, findings in found_in(corpus):
        told = GroupStory(rows, findings).sentences()
        assert [each.log_offset for each in told] == sorted(each.log_offset for each in told)
        for each in told:
            assert {each.place, *each.places} <= there.keys(), each
            assert each.at is None or each.at == there[each.place], each
            assert each.until is None or each.at is None or each.until > each.at, each
            assert each.text.endswith("."), each


@pytest.mark.parametrize("corpus", corpora(), ids=lambda path: path.name)
def test_every_commit_and_every_finding_is_told_once(corpus: Path) -> None:
    for rows, findings in found_in(corpus):
        story = GroupStory(rows, findings, is_whole=True).sentences()
        told = Counter(id(each.finding) for each in story if each.finding is not None)
        assert told == Counter(map(id, findings))
        commits = Counter(row.from_log_offset for row in commit_rows(rows))
        singly = Counter(
            each.log_offset
            for each in story
            if each.kind is SentenceKind.OFFSETS and " with its group" not in each.text
        )
        by_findings = {place for each in story if each.finding is not None for place in each.places}
        assert singly <= commits
        for place in commits - singly:
            assert any(
                f"{rows.log_partition}:{row.commit_log_offset}" in by_findings
                for row in rows.offsets
                if row.from_log_offset == place
            )


@pytest.mark.parametrize("corpus", corpora(), ids=lambda path: path.name)
def test_a_timeline_is_in_the_order_of_time(corpus: Path) -> None:
    stories = [GroupStory(rows, findings).sentences() for rows, findings in found_in(corpus)]
    times = [each.at for each in in_time(stories) if each.at is not None and each.at >= 0]
    assert len(in_time(stories)) == sum(map(len, stories))
    assert times == sorted(times)


def test_a_new_protocol_is_told_with_the_last_one_before_the_group_was_empty() -> None:
    rows = states(
        group(0, 0, 1, protocol="range"),
        group(1, HOUR, 0, generation=2),
        group(2, HOUR + 1, 0, generation=3),
        group(3, 2 * HOUR, 1, generation=4, protocol="sticky"),
        group(4, 3 * HOUR, 0, generation=5),
        group(5, 4 * HOUR, 1, generation=6, protocol="sticky"),
    )
    of = gather(rows, LogStretch(LOG_PARTITION))[GROUP]
    said = [each.log_offset for each in GroupStory(of, []).sentences() if "protocol" in each.text]
    assert said == [3]
    [text] = [each.text for each in GroupStory(of, []).sentences() if each.log_offset == 3]
    assert "the protocol is sticky now, it was range" in text

"""Why offsets went, corpus by corpus, against what was done to them; and forecasts against what then happened."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from offsets_tool.as_of.as_of import AsOf, timestamp_of
from offsets_tool.expiry.causes import Cause, Confidence, Deletion
from offsets_tool.expiry.forecast import forecast
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.expiry.plausibility import SLACK_MS
from offsets_tool.expiry.policy import ClusterFacts
from offsets_tool.expiry.rules import Rule
from offsets_tool.records.kinds import NEWEST
from offsets_tool.replay.changes import OffsetOf
from tests.expiry.corpus_truth import corpora
from tests.expiry.replayed_corpora import Logs, explained_corpus, moment_of, policy_of, truth_of
from tests.history.state_from_rows import events_of

CORPORA = [corpus for corpus in corpora() if any(events_of(corpus.name).values())]
EXPIRED = (Cause.RETENTION, Cause.EXPIRE_TIMESTAMP, Cause.UNSUBSCRIBED_TOPIC)
BY_MARKER = (Cause.ABORTED, Cause.SUPERSEDED)
by_name = pytest.mark.parametrize("corpus", CORPORA, ids=lambda path: path.name)


def by_tombstone(found: tuple[Deletion, ...]) -> list[Deletion]:
    return [each for each in found if each.cause not in BY_MARKER]


def is_wrong(corpus: Path, found: Deletion) -> bool:
    """Return whether a cause contradicts the story's; an ambiguous one does unless the story's is among the alternatives."""
    truth = truth_of(corpus).cause(found.group, found.topic, found.partition, found.at)
    ambiguous = found.confidence is Confidence.AMBIGUOUS
    return truth != found.cause and not (ambiguous and truth in found.alternatives)


@by_name
def test_every_tombstone_is_explained_as_the_story_tells(corpus: Path) -> None:
    found = by_tombstone(explained_corpus(corpus))
    assert [each for each in found if is_wrong(corpus, each)] == []
    assert {(each.log_partition, each.log_offset) for each in found} == _tombstones(events_of(corpus.name))


def _tombstones(logs: Logs) -> set[tuple[int, int]]:
    """Return the log offsets of tombstones of offsets; as none of these logs was compacted, each removed something."""
    return {
        (log_partition, event.record.log_offset)
        for log_partition, events in logs.items()
        for event in events
        if event.type_id in (0, 1) and event.value_version is None
    }


@by_name
@pytest.mark.parametrize(("retention_known", "release_known"), [(False, True), (True, False), (False, False)])
def test_what_is_only_supposed_makes_no_wrong_cause(
    corpus: Path, retention_known: bool, release_known: bool
) -> None:
    """Under a default retention, whatever the broker's was; and where the release says nothing about what was possible."""
    found = explained_corpus(corpus, retention_known, release_known)
    assert [each for each in by_tombstone(found) if is_wrong(corpus, each)] == []


@by_name
def test_aborted_and_superseded_commits_are_those_of_the_story(corpus: Path) -> None:
    truth, found = truth_of(corpus), explained_corpus(corpus)
    ended = {
        cause: {(each.group, each.topic, each.partition) for each in found if each.cause is cause}
        for cause in BY_MARKER
    }
    assert truth.aborted <= ended[Cause.ABORTED]
    assert truth.superseded <= ended[Cause.SUPERSEDED]


def test_the_fixtures_hold_every_cause_and_few_doubts() -> None:
    found = [each for corpus in CORPORA for each in explained_corpus(corpus)]
    assert {each.cause for each in found} == set(Cause) - {Cause.UNKNOWN}
    counts = Counter(each.confidence for each in by_tombstone(tuple(found)))
    assert counts[Confidence.AMBIGUOUS] < 0.1 * counts.total()
    assert min(counts.values()) > 5


@by_name
def test_expired_offsets_went_when_their_rule_expected_it(corpus: Path) -> None:
    policy = policy_of(truth_of(corpus))
    for each in explained_corpus(corpus):
        if each.cause in EXPIRED and each.at is not None:
            assert each.expected_at is not None
            assert each.commit is not None
            # A client's own time may be over when it commits.
            due = max(each.expected_at, each.commit.commit_timestamp)
            assert 0 <= each.at - due <= policy.check_interval_ms + SLACK_MS


@by_name
def test_evidence_names_the_commit_and_the_tombstone(corpus: Path) -> None:
    for each in explained_corpus(corpus):
        assert each.commit is not None
        places = {f"{each.log_partition}:{offset}" for offset in (each.commit.log_offset, each.log_offset)}
        assert places <= set(each.evidence)


# ---- forecasts


def moments(logs: Logs) -> Iterator[int]:
    """Yield some times from the whole length of the logs."""
    times = sorted(
        at for events in logs.values() for event in events if (at := timestamp_of(event)) is not None
    )
    return (times[len(times) * part // 6] for part in range(1, 6))


def last_time(logs: Logs) -> int:
    return max(at for events in logs.values() for event in events if (at := timestamp_of(event)) is not None)


@pytest.mark.parametrize(
    "corpus", [path for path in CORPORA if path.name.endswith("-expiry")], ids=lambda path: path.name
)
def test_a_forecast_from_a_prefix_is_what_then_happens(corpus: Path) -> None:
    """What neither its group nor its clients touch after the moment goes with the first check after its time, or stays."""
    logs, policy = events_of(corpus.name), policy_of(truth_of(corpus))
    end, within = last_time(logs), policy.check_interval_ms + SLACK_MS
    gone = {
        (each.log_partition, each.commit.log_offset): each for each in explained_corpus(corpus) if each.commit
    }
    went = kept = 0
    for now in moments(logs):
        touched = _touched(logs, now)
        for partition in moment_of(logs, AsOf(now)):
            for offset, commit, expiry in forecast(partition, policy):
                if offset in touched or offset.group in touched:
                    continue
                deletion = gone.get((partition.log_partition, commit.log_offset))
                if expiry.at is None or expiry.at > end - within:
                    kept += 1
                    assert deletion is None or (
                        expiry.at is not None and _went(deletion, expiry.at, within, now)
                    )
                else:
                    went += 1
                    assert deletion is not None and _went(deletion, expiry.at, within, now), (offset, expiry)
    assert went > 5
    assert kept > 0


def _went(deletion: Deletion, at: int, within: int, now: int) -> bool:
    """Return whether an offset was removed when the forecast said so; one overdue at the moment, any time after it."""
    return deletion.at is None or max(at, now) <= deletion.at <= max(at, now) + within


def _touched(logs: Logs, now: int) -> set[OffsetOf | str]:
    """Return offsets committed, and groups with records, after a moment and before their removal."""
    touched: set[OffsetOf | str] = set()
    for events in logs.values():
        for event in events:
            at = timestamp_of(event)
            if at is None or at <= now or event.key is None or event.value is None:
                continue
            if event.type_id in (0, 1):
                key = event.key.data
                touched.add(OffsetOf(key.group, key.topic, key.partition))
            elif event.group is not None:
                touched.add(event.group)
    return touched


# ---- what a log says of its broker


RULES = {
    "0.8.2.2-expiry": (0, 8, 2),
    "0.9.0.1-expiry": (0, 10, 0),
    "2.1.1-expiry": (2, 2),
    "2.8.2-expiry": (3, 9),
    "3.9.2-expiry": (3, 9),
    "4.0.2-newgroups": (4, 0),
    "4.3.1-expiry": NEWEST,
}


@pytest.mark.parametrize(
    "corpus", [path for path in CORPORA if path.name in RULES], ids=lambda path: path.name
)
def test_the_release_is_the_newest_that_writes_so(corpus: Path) -> None:
    basis = _cluster_facts(corpus).basis(None, None, 600_000)
    assert basis.policy.release == RULES[corpus.name]
    assert basis.release_by is not None


def test_up_to_2_0_values_say_the_retention() -> None:
    (corpus,) = (path for path in CORPORA if path.name == "0.9.0.1-expiry")
    facts, truth = _cluster_facts(corpus), truth_of(corpus)
    assert facts.basis(None, None, 1).policy.retention_ms == truth.retention_ms
    given = facts.basis((4, 0), 5, 1)
    assert (given.policy.release, given.policy.retention_ms) == ((4, 0), 5)
    assert (given.release_by, given.retention_by) == (None, None)


def _cluster_facts(corpus: Path) -> ClusterFacts:
    facts = ClusterFacts()
    for events in events_of(corpus.name).values():
        log = LogFacts()
        for event in events:
            log.observe(event)
        facts.add(log)
    return facts


def test_every_rule_is_in_a_forecast_of_the_fixtures() -> None:
    found = {
        expiry.rule
        for corpus in CORPORA
        for now in moments(events_of(corpus.name))
        for partition in moment_of(events_of(corpus.name), AsOf(now))
        for _, _, expiry in forecast(partition, policy_of(truth_of(corpus)))
    }
    assert set(Rule) - found <= {Rule.NO_GROUP, Rule.SHARE_GROUP, Rule.OUT_OF_RANGE}
